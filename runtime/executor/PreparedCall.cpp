//===- PreparedCall.cpp - Instructions, resolved --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/PreparedCall.h"

#include "runtime/program/DataType.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>

using namespace hocket;
using program::Instruction;

BufferPlace BufferPlace::of(const PreparationScope &scope, uint32_t index) {
  const program::Buffer &buffer = scope.role.buffers(int(index));
  return {{buffer.offset(), buffer.bytes()},
          buffer.slots() > 1 ? buffer.slot_stride() : 0,
          buffer.by_microbatch() ? buffer.slots() : 0,
          hal::DType(int(buffer.dtype())),
          checkedProduct(buffer.shape()).value_or(0)};
}

namespace {

template <typename Range>
std::vector<BufferPlace> placesOf(const PreparationScope &scope,
                                  const Range &indices) {
  std::vector<BufferPlace> places;
  for (uint32_t index : indices)
    places.push_back(BufferPlace::of(scope, index));
  return places;
}

/// Fills `ranges` with the places of a run.
void resolve(const std::vector<BufferPlace> &places, const RunContext &context,
             std::vector<hal::Range> &ranges) {
  ranges.clear();
  for (const BufferPlace &place : places)
    ranges.push_back(place.at(context));
}

int64_t stepValue(program::Scalar::Step step, const RunContext &context) {
  switch (step) {
  case program::Scalar::MICROBATCH:
    return context.microbatch;
  case program::Scalar::FIRST_MICROBATCH:
    return context.isFirstRun ? 1 : 0;
  case program::Scalar::NOT_FIRST_MICROBATCH:
    return context.isFirstRun ? 0 : 1;
  case program::Scalar::STEP:
    return int64_t(context.step);
  case program::Scalar::SEED:
    return int64_t(context.seed);
  default:
    return 0;
  }
}

int64_t scalarValue(const program::Scalar &scalar, const RunContext &context) {
  if (scalar.has_constant())
    return scalar.constant();
  // Wraps rather than overflows: seeds and steps are large.
  uint64_t factor =
      scalar.multiplier() == 0 ? 1 : uint64_t(scalar.multiplier());
  return int64_t(uint64_t(stepValue(scalar.step(), context)) * factor +
                 uint64_t(scalar.addend()));
}

using Scalars = std::vector<program::Scalar>;

/// What the rank alone decides becomes a constant.
Scalars
scalarsOf(const google::protobuf::RepeatedPtrField<program::Scalar> &scalars,
          const PreparationScope &scope) {
  Scalars result(scalars.begin(), scalars.end());
  for (program::Scalar &scalar : result)
    if (scalar.has_index_in_group())
      scalar.set_constant(
          scalarOfRank(scope.program, scalar, scope.rank).value_or(0));
  return result;
}

void resolve(const Scalars &scalars, const RunContext &context,
             std::vector<int64_t> &values) {
  values.clear();
  for (const program::Scalar &scalar : scalars)
    values.push_back(scalarValue(scalar, context));
}

/// Whether values differ from step to step.
bool varies(const Scalars &scalars) {
  return std::ranges::any_of(scalars, [](const program::Scalar &scalar) {
    return !scalar.has_constant() && scalar.step() == program::Scalar::STEP;
  });
}

bool accumulates(program::Accumulate accumulate, const RunContext &context) {
  return accumulate == program::ADD ||
         (accumulate == program::ADD_UNLESS_FIRST_MICROBATCH &&
          !context.isFirstRun);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

class PreparedLaunch : public PreparedCall {
public:
  PreparedLaunch(const Instruction &instruction, const PreparationScope &scope)
      : stream(instruction.stream()),
        places(placesOf(scope, instruction.launch().buffers())),
        scalars(scalarsOf(instruction.launch().scalars(), scope)) {
    uint32_t index = instruction.launch().kernel();
    const program::Kernel &kernel = scope.program.kernels(int(index));
    call.kernel = scope.kernels[index];
    call.tasks = int64_t(kernel.tasks());
    call.grain = int64_t(kernel.grain());
    call.threads = kernel.threads();
    call.sharedBytes = kernel.shared_bytes();
    call.varies = varies(scalars);
  }

  Status run(const RunContext &context) override {
    resolve(places, context, ranges);
    resolve(scalars, context, values);
    call.buffers = ranges;
    call.scalars = values;
    if (call.varies && context.capture)
      context.capture->addVarying(*this, context);
    return context.device.launch(stream, call);
  }

private:
  hal::StreamId stream;
  std::vector<BufferPlace> places;
  Scalars scalars;
  hal::LaunchCall call;
  std::vector<hal::Range> ranges;
  std::vector<int64_t> values;
};

class PreparedGemm : public PreparedCall {
public:
  PreparedGemm(const Instruction &instruction, const PreparationScope &scope)
      : stream(instruction.stream()),
        accumulate(instruction.gemm().accumulate()) {
    const program::Gemm &gemm = instruction.gemm();
    call.m = gemm.m(), call.n = gemm.n(), call.k = gemm.k();
    call.transposeA = gemm.transpose_a();
    call.transposeB = gemm.transpose_b();
    call.packedB = gemm.b_packed();
    call.alpha = gemm.alpha() == 0 ? 1 : gemm.alpha();
    (void)kernels::parseEpilogue(gemm.epilogue(), call.epilogue);
    a = BufferPlace::of(scope, gemm.a());
    b = BufferPlace::of(scope, gemm.b());
    d = BufferPlace::of(scope, gemm.d());
    if (gemm.b_packed())
      b.dtype = gemm.b_type() == program::DTYPE_UNSPECIFIED
                    ? a.dtype
                    : hal::DType(int(gemm.b_type()));
    if (gemm.has_bias())
      bias = BufferPlace::of(scope, gemm.bias());
    if (gemm.has_auxiliary())
      auxiliary = BufferPlace::of(scope, gemm.auxiliary());
    if (gemm.has_residual())
      residual = BufferPlace::of(scope, gemm.residual());
    if (gemm.has_preactivation())
      preactivation = BufferPlace::of(scope, gemm.preactivation());
    if (gemm.has_bias_gradient())
      biasGradient = BufferPlace::of(scope, gemm.bias_gradient());
    if (gemm.has_scale_a())
      scaleA = BufferPlace::of(scope, gemm.scale_a());
    if (gemm.has_scale_b())
      scaleB = BufferPlace::of(scope, gemm.scale_b());
  }

  Status run(const RunContext &context) override {
    return context.device.gemm(stream, *gemm(context));
  }

  const hal::GemmCall *gemm(const RunContext &context) override {
    call.accumulate = accumulates(accumulate, context);
    call.a = a.operand(context);
    call.b = b.operand(context);
    call.d = d.operand(context);
    call.bias = bias.operand(context);
    call.auxiliary = auxiliary.operand(context);
    call.residual = residual.operand(context);
    call.preactivation = preactivation.operand(context);
    call.biasGradient = biasGradient.operand(context);
    call.scaleA = scaleA.operand(context);
    call.scaleB = scaleB.operand(context);
    return &call;
  }

private:
  hal::StreamId stream;
  program::Accumulate accumulate;
  BufferPlace a, b, d, bias, auxiliary, residual, preactivation, biasGradient;
  BufferPlace scaleA, scaleB;
  hal::GemmCall call;
};

class PreparedLibrary : public PreparedCall {
public:
  PreparedLibrary(const Instruction &instruction, const PreparationScope &scope)
      : stream(instruction.stream()),
        accumulate(instruction.library().accumulate()),
        places(placesOf(scope, instruction.library().buffers())),
        integers(instruction.library().integers().begin(),
                 instruction.library().integers().end()),
        floats(instruction.library().floats().begin(),
               instruction.library().floats().end()),
        scalars(scalarsOf(instruction.library().scalars(), scope)) {
    call.op = kernels::findLibraryOp(instruction.library().op());
    call.integers = integers;
    call.floats = floats;
    call.varies = varies(scalars);
  }

  Status run(const RunContext &context) override {
    library(context);
    if (call.varies && context.capture)
      context.capture->addVarying(*this, context);
    return context.device.library(stream, call);
  }

  const hal::LibraryCall *library(const RunContext &context) override {
    resolve(places, context, ranges);
    resolve(scalars, context, values);
    call.buffers = ranges;
    call.scalars = values;
    call.accumulate = accumulates(accumulate, context);
    return &call;
  }

private:
  hal::StreamId stream;
  program::Accumulate accumulate;
  std::vector<BufferPlace> places;
  std::vector<int64_t> integers;
  std::vector<double> floats;
  Scalars scalars;
  hal::LibraryCall call;
  std::vector<hal::Range> ranges;
  std::vector<int64_t> values;
};

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

class PreparedCopy : public PreparedCall {
public:
  PreparedCopy(const Instruction &instruction, const PreparationScope &scope)
      : stream(instruction.stream()),
        from(BufferPlace::of(scope, instruction.copy().from())),
        to(BufferPlace::of(scope, instruction.copy().to())) {}

  Status run(const RunContext &context) override {
    return context.device.copy(stream, from.at(context), to.at(context));
  }

private:
  hal::StreamId stream;
  BufferPlace from, to;
};

class PreparedFill : public PreparedCall {
public:
  PreparedFill(const Instruction &instruction, const PreparationScope &scope)
      : stream(instruction.stream()),
        place(BufferPlace::of(scope, instruction.fill().buffer())),
        value(uint8_t(instruction.fill().byte_value())) {}

  Status run(const RunContext &context) override {
    return context.device.fill(stream, place.at(context), value);
  }

private:
  hal::StreamId stream;
  BufferPlace place;
  uint8_t value;
};

class PreparedHost : public PreparedCall {
public:
  PreparedHost(const Instruction &instruction, const PreparationScope &scope)
      : stream(instruction.stream()),
        input(instruction.host().direction() == program::Host::INPUT),
        name(instruction.host().name()),
        place(BufferPlace::of(scope, instruction.host().buffer())) {
    const program::Buffer &buffer =
        scope.role.buffers(int(instruction.host().buffer()));
    // Padding past the last element is unspecified, and does not count.
    type = buffer.dtype();
    bytes = tensorBytes(buffer.shape(), type).value_or(0);
    for (const auto &shard : instruction.host().shards()) {
      shards.emplace_back();
      for (const program::Scalar &start : shard.start())
        shards.back().start.push_back(
            scalarOfRank(scope.program, start, scope.rank).value_or(0));
      shards.back().size.assign(shard.size().begin(), shard.size().end());
    }
  }

  Status run(const RunContext &context) override {
    hal::Range range{place.at(context).offset, bytes};
    if (context.capture)
      return capture(context, range);
    if (input) {
      staging.resize(bytes);
      HOCKET_RETURN_IF_ERROR(
          context.host.provide({name, context.microbatch, shards}, staging));
      return context.device.copyFromHost(stream, staging.data(), range);
    }
    return tell(context, range.offset);
  }

private:
  /// What somebody wants to know.
  Status tell(const RunContext &context, uint64_t offset) {
    std::vector<ByteRange> wanted =
        context.host.wanted({name, context.microbatch, type, bytes, shards});
    uint64_t total = 0;
    for (const ByteRange &part : wanted)
      total += part.bytes;
    if (total == 0)
      return okStatus();
    staging.resize(total);
    std::byte *to = staging.data();
    for (const ByteRange &part : wanted) {
      HOCKET_RETURN_IF_ERROR(context.device.copyToHost(
          stream, {offset + part.offset, part.bytes}, to));
      to += part.bytes;
    }
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    return context.host.receive(name, context.microbatch, staging);
  }

  Status capture(const RunContext &context, hal::Range range) {
    HOCKET_ASSIGN_OR_RETURN(
        void *memory, context.capture->add(input, {name, context.microbatch,
                                                   type, bytes, shards}));
    return input ? context.device.copyFromHost(stream, memory, range)
                 : context.device.copyToHost(stream, range, memory);
  }

  hal::StreamId stream;
  bool input;
  std::string name;
  BufferPlace place;
  program::DType type;
  uint64_t bytes;
  std::vector<HostShard> shards;
  std::vector<std::byte> staging;
};

template <typename Call>
StatusOr<std::unique_ptr<PreparedCall>> make(const Instruction &instruction,
                                             const PreparationScope &scope) {
  return std::unique_ptr<PreparedCall>(
      std::make_unique<Call>(instruction, scope));
}

} // namespace

StatusOr<std::unique_ptr<PreparedCall>>
hocket::prepareCall(const Instruction &instruction,
                    const PreparationScope &scope) {
  switch (instruction.kind_case()) {
  case Instruction::kLaunch:
    return make<PreparedLaunch>(instruction, scope);
  case Instruction::kGemm:
    return make<PreparedGemm>(instruction, scope);
  case Instruction::kLibrary:
    return make<PreparedLibrary>(instruction, scope);
  case Instruction::kCopy:
    return make<PreparedCopy>(instruction, scope);
  case Instruction::kFill:
    return make<PreparedFill>(instruction, scope);
  case Instruction::kHost:
    return make<PreparedHost>(instruction, scope);
  case Instruction::kCollective:
  case Instruction::kTransfer:
    return prepareCommunication(instruction, scope);
  case Instruction::kRecord:
  case Instruction::kWait:
  case Instruction::KIND_NOT_SET:
    break;
  }
  return std::unique_ptr<PreparedCall>();
}
