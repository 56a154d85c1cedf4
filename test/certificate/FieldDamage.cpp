//===- FieldDamage.cpp - Any field of a program, changed ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/certificate/FieldDamage.h"

#include <map>

using namespace hocket;
using namespace hocket::test;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string FieldSpot::name() const {
  // Without the package.
  std::string type = field->containing_type()->full_name();
  return type.substr(std::string("hocket.program.").size()) + "." +
         field->name();
}

static void collect(Message &message, std::vector<FieldSpot> &spots) {
  const auto *type = message.GetDescriptor();
  const Reflection *reflection = message.GetReflection();
  for (int f = 0; f < type->field_count(); ++f) {
    const FieldDescriptor *field = type->field(f);
    bool isMessage = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_repeated()) {
      for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
        spots.push_back({&message, field, i});
        if (isMessage)
          collect(*reflection->MutableRepeatedMessage(&message, field, i),
                  spots);
      }
    } else if (isMessage) {
      if (reflection->HasField(message, field))
        collect(*reflection->MutableMessage(&message, field), spots);
    } else if (!field->containing_oneof() ||
               reflection->HasField(message, field)) {
      spots.push_back({&message, field, -1});
    }
  }
}

std::vector<FieldSpot> hocket::test::fieldSpots(program::Program &program) {
  std::vector<FieldSpot> spots;
  collect(program, spots);
  return spots;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Another number: near, twice or half as large, or of an edge.
template <typename T> static T otherNumber(T value, Random &random) {
  switch (draw(random, 6)) {
  case 0:
    return T(value + 1);
  case 1:
    return value == 0 ? T(1) : T(value - 1);
  case 2:
    return value == 0 ? T(2) : T(value * 2);
  case 3:
    return value == 0 ? T(3) : T(value / 2);
  case 4:
    return value == 0 ? T(7) : T(0);
  default:
    return T(value + T(1 + draw(random, 1000)));
  }
}

/// Reads and writes a singular field or an element of a repeated one.
#define HOCKET_CHANGE(NAME, CHANGE)                                            \
  {                                                                            \
    auto value = at < 0 ? reflection->Get##NAME(*message, field)               \
                        : reflection->GetRepeated##NAME(*message, field, at);  \
    auto other = CHANGE;                                                       \
    if (at < 0)                                                                \
      reflection->Set##NAME(message, field, other);                            \
    else                                                                       \
      reflection->SetRepeated##NAME(message, field, at, other);                \
    break;                                                                     \
  }

static void changeValue(const FieldSpot &spot, Random &random) {
  Message *message = spot.message;
  const FieldDescriptor *field = spot.field;
  const Reflection *reflection = message->GetReflection();
  int at = spot.index;
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT32:
    HOCKET_CHANGE(Int32, otherNumber(value, random))
  case FieldDescriptor::CPPTYPE_INT64:
    HOCKET_CHANGE(Int64, otherNumber(value, random))
  case FieldDescriptor::CPPTYPE_UINT32:
    HOCKET_CHANGE(UInt32, otherNumber(value, random))
  case FieldDescriptor::CPPTYPE_UINT64:
    HOCKET_CHANGE(UInt64, otherNumber(value, random))
  case FieldDescriptor::CPPTYPE_DOUBLE:
    HOCKET_CHANGE(Double, 2 * value + 1)
  case FieldDescriptor::CPPTYPE_FLOAT:
    HOCKET_CHANGE(Float, 2 * value + 1)
  case FieldDescriptor::CPPTYPE_BOOL:
    HOCKET_CHANGE(Bool, !value)
  case FieldDescriptor::CPPTYPE_ENUM:
    HOCKET_CHANGE(EnumValue, value + (draw(random, 2) || !value ? 1 : -1))
  case FieldDescriptor::CPPTYPE_STRING:
    HOCKET_CHANGE(String, draw(random, 2) && !value.empty()
                              ? value.substr(0, value.size() - 1)
                              : value + "x")
  case FieldDescriptor::CPPTYPE_MESSAGE:
    break; // Its own fields are other places.
  }
}

static void drop(const FieldSpot &spot) {
  const Reflection *reflection = spot.message->GetReflection();
  int size = reflection->FieldSize(*spot.message, spot.field);
  for (int i = spot.index; i + 1 < size; ++i)
    reflection->SwapElements(spot.message, spot.field, i, i + 1);
  reflection->RemoveLast(spot.message, spot.field);
}

std::string hocket::test::damageField(const FieldSpot &spot, Random &random) {
  std::string before = spot.message->SerializeAsString();
  const Reflection *reflection = spot.message->GetReflection();
  bool isMessage = spot.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  std::string done = "changed";
  if (spot.index < 0 || (!isMessage && draw(random, 2))) {
    changeValue(spot, random);
  } else if (draw(random, 2)) {
    drop(spot);
    done = "dropped";
  } else if (spot.index + 1 <
             reflection->FieldSize(*spot.message, spot.field)) {
    reflection->SwapElements(spot.message, spot.field, spot.index,
                             spot.index + 1);
    done = "swapped with the next";
  }
  return spot.message->SerializeAsString() == before ? "" : done;
}

//===----------------------------------------------------------------------===//
// What does no harm
//===----------------------------------------------------------------------===//

const char *hocket::test::harmlessReason(const std::string &field) {
  static const std::map<const char *, std::set<std::string>> reasons = {
      {"for people: nothing runs by it",
       {"Certificate.peaks",
        "Explanation.Dim.axes",
        "Explanation.Tensor.dims",
        "Explanation.Tensor.dtype",
        "Explanation.Tensor.kind",
        "Explanation.Tensor.local_shape",
        "Explanation.Tensor.name",
        "Explanation.Tensor.partial",
        "Explanation.Tensor.shape",
        "Explanation.Tensor.source",
        "Explanation.Tensor.where",
        "Explanation.Tensor.why",
        "Explanation.tensors",
        "Explanation.texts",
        "Buffer.kind",
        "Buffer.name",
        "Instruction.source",
        "Instruction.why",
        "Kernel.bytes",
        "Kernel.description",
        "Kernel.flops",
        "Kernel.name",
        "KernelModule.name",
        "MemoryPlan.at_peak",
        "MemoryPlan.lower_bound_bytes",
        "ModelInfo.flops_per_token",
        "ModelInfo.name",
        "Parameter.frozen",
        "Provenance.compiler_version",
        "Provenance.fingerprint",
        "Provenance.sources",
        "Provenance.spec_text",
        "Role.name",
        "Sequence.name",
        "TrainingInfo.precision"}},
      {"the order of rows that are found by name, or by what refers to them",
       {"Group.members", "Program.groups", "KernelModule.variants",
        "Role.buffers", "Role.sequences", "Group.name", "Mesh.axes",
        "Program.parameters", "Role.entries", "Role.ranks", "Role.roles",
        "Program.roles", "Role.slices"}},
      {"nothing later needs it, or other events order as much",
       {"Entry.Run.sequence", "Entry.runs", "Instruction.stream",
        "RecordEvent.event", "Sequence.instructions", "WaitEvent.event"}},
      {"room or a life beyond what is used",
       {"Buffer.bytes", "Buffer.offset", "Buffer.persistent", "Buffer.first",
        "Buffer.last", "MemoryPlan.alignment",
        "MemoryPlan.scratch_bytes_per_worker", "Role.events", "Role.streams"}},
      {"not used where the field that asks for it is not set, or has one copy",
       {"Collective.reduction",
        "Entry.Run.microbatch",
        "Kernel.Space.task_cols",
        "Kernel.Space.task_rows",
        "ParameterSlice.replicas",
        "Buffer.by_microbatch",
        "Buffer.slot_stride",
        "Buffer.slots",
        "Collective.root",
        "Entry.Run.slot",
        "Gemm.auxiliary",
        "Gemm.b_type",
        "Gemm.bias",
        "Gemm.bias_gradient",
        "Gemm.preactivation",
        "Gemm.residual",
        "Gemm.scale_a",
        "Gemm.scale_b",
        "Scalar.addend",
        "Scalar.multiplier"}},
      {"the same elements, in other dims",
       {"Kernel.Operand.pattern", "Parameter.shape", "Buffer.shape"}},
      {"the training loop refuses a program without it",
       {"Host.direction", "Program.modules", "Entry.name", "Host.name",
        "KernelModule.Variant.isa", "Kernel.symbol"}},
      {"how finely work is cut: the bits are the same", {"Kernel.grain"}},
      {"another run's number",
       {"Initializer.stddev",
        "Initializer.value",
        "LearningRate.decay_samples",
        "LearningRate.decay_steps",
        "LearningRate.minimum",
        "LearningRate.peak",
        "LearningRate.warmup_fraction",
        "LearningRate.warmup_samples",
        "LearningRate.warmup_steps",
        "LearningRate.wsd_decay_samples",
        "LearningRate.wsd_decay_steps",
        "LearningRate.schedule",
        "LossScale.backoff_factor",
        "LossScale.growth_factor",
        "LossScale.growth_interval",
        "LossScale.initial",
        "LossScale.minimum",
        "Parameter.random_key",
        "Parameter.weight_decay",
        "Initializer.kind",
        "TrainingInfo.MaskedLm.cls_token",
        "TrainingInfo.MaskedLm.mask_share",
        "TrainingInfo.MaskedLm.mask_token",
        "TrainingInfo.MaskedLm.pad_token",
        "TrainingInfo.MaskedLm.probability",
        "TrainingInfo.MaskedLm.random_share",
        "TrainingInfo.MaskedLm.sep_token",
        "TrainingInfo.MaskedLm.short_sequence_probability",
        "TrainingInfo.MaskedLm.whole_words",
        "TrainingInfo.PrefixLm.least_share",
        "TrainingInfo.PrefixLm.most_share",
        "TrainingInfo.append_eod_mask",
        "TrainingInfo.clip_norm",
        "TrainingInfo.data_split",
        "TrainingInfo.log_interval",
        "TrainingInfo.save_interval",
        "TrainingInfo.seed",
        "TrainingInfo.steps",
        "TrainingInfo.test_data",
        "TrainingInfo.train_data",
        "TrainingInfo.valid_batches",
        "TrainingInfo.valid_data",
        "TrainingInfo.valid_interval"}},
      {"another order, taken by every rank of the role alike",
       {"Collective.others"}},
      {"another model of the same sizes, computed soundly",
       {"Collective.group",
        "Collective.Part.from",
        "Collective.Rows.ranges",
        "Collective.Rows.segments",
        "Collective.Rows.width",
        "Collective.from",
        "Gemm.accumulate",
        "Buffer.dtype",
        "Copy.from",
        "Copy.to",
        "Launch.kernel",
        "Library.accumulate",
        "ParameterSlice.buffer",
        "Scalar.constant",
        "Scalar.index_in_group",
        "Transfer.Part.buffer",
        "Parameter.slots",
        "Kernel.module",
        "Gemm.a",
        "Gemm.alpha",
        "Gemm.b",
        "Gemm.epilogue",
        "Gemm.transpose_a",
        "Gemm.transpose_b",
        "Launch.buffers",
        "Launch.scalars",
        "Library.buffers",
        "Library.floats",
        "Library.integers",
        "Library.op",
        "Library.scalars",
        "Parameter.name",
        "Mesh.Axis.name"}},
      {"what native code does is believed",
       {"Kernel.Operand.access", "Kernel.Operand.overwritten",
        "Kernel.accumulates", "Kernel.threads", "Kernel.shared_bytes",
        "Kernel.Space.vector", "Program.kernels", "Kernel.operands",
        "KernelModule.Variant.image"}},
  };
  for (const auto &[reason, fields] : reasons)
    if (fields.count(field))
      return reason;
  return nullptr;
}
