//===- EmitRole.cpp - Buffers, sequences and entries ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/program/ProgramEmitter.h"

#include "kernels/cpu/simd/Workers.h"
#include "passes/planning/memory/BufferAlignment.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace mlir;
using namespace hocket;

namespace {

uint64_t byteSize(MemRefType type) {
  return static_cast<uint64_t>(type.getNumElements()) *
         ((type.getElementTypeBitWidth() + 7) / 8);
}

static_assert(static_cast<int>(exec::Accumulation::Overwrite) ==
                  program::OVERWRITE &&
              static_cast<int>(exec::Accumulation::Add) == program::ADD &&
              static_cast<int>(exec::Accumulation::AddUnlessFirst) ==
                  program::ADD_UNLESS_FIRST_MICROBATCH);
program::Accumulate accumulateOf(exec::Accumulation accumulation) {
  return static_cast<program::Accumulate>(accumulation);
}

/// "layers.3.attention": the place of the model that a location names, and
/// the line of the source where it knows one.
void describe(Location loc, std::string &name, std::string &line) {
  if (auto named = dyn_cast<NameLoc>(loc)) {
    if (name.empty())
      name = named.getName().str();
    describe(named.getChildLoc(), name, line);
  } else if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    // Without its folder, as reasons name it: the same file gives the same
    // bytes wherever it lies.
    if (line.empty())
      line = (llvm::sys::path::filename(file.getFilename().getValue()) + ":" +
              Twine(file.getLine()) + ":" + Twine(file.getColumn()))
                 .str();
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      describe(part, name, line);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    describe(call.getCallee(), name, line);
    describe(call.getCaller(), name, line);
  }
}

std::string sourceOf(Location loc) {
  std::string name, line;
  describe(loc, name, line);
  return line.empty() ? name : name.empty() ? line : line + " " + name;
}

/// Writes one role.
class RoleWriter {
public:
  RoleWriter(exec::RoleOp op, const EmittedKernels &kernels, GroupTable &groups,
             TextTable &texts, program::Role &role)
      : op(op), kernels(kernels), groups(groups), texts(texts), role(role) {}

  LogicalResult write() {
    role.set_name(op.getSymName().str());
    for (int64_t rank : op.getRanks())
      role.add_ranks(static_cast<uint32_t>(rank));
    role.set_streams(1);
    for (auto buffer : op.getBody().getOps<exec::BufferOp>())
      addBuffer(buffer);
    writeMemory();
    for (auto sequence : op.getBody().getOps<exec::SequenceOp>())
      if (failed(addSequence(sequence)))
        return failure();
    for (auto entry : op.getBody().getOps<exec::EntryOp>())
      addEntry(entry);
    return success();
  }

private:
  void addBuffer(exec::BufferOp buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    numbers[buffer.getResult()] = role.buffers_size();
    auto *out = role.add_buffers();
    out->set_offset(buffer.getOffset().value_or(0));
    out->set_bytes(byteSize(type));
    out->set_dtype(dtypeOf(type.getElementType()));
    for (int64_t dim : type.getShape())
      out->add_shape(static_cast<uint64_t>(dim));
    out->set_name(buffer.getName().str());
    out->set_kind(exec::memoryKindName(buffer.getKind()));
    out->set_first(buffer.getFirst().value_or(0));
    out->set_last(buffer.getLast().value_or(0));
    out->set_persistent(buffer.getPersistent());
    if (buffer.getSlots() > 1) {
      out->set_slots(static_cast<uint32_t>(buffer.getSlots()));
      out->set_slot_stride(buffer.getSlotStride());
      out->set_by_microbatch(buffer.getByMicrobatch());
    }
    if (buffer.getWithin())
      out->set_within(numbers.lookup(buffer.getWithin()) + 1);
  }

  /// The instruction at which the most bytes live.
  uint64_t peakPosition() const {
    std::map<uint64_t, int64_t> changes;
    for (const auto &buffer : role.buffers())
      if (!buffer.persistent() && !buffer.within()) {
        auto bytes = static_cast<int64_t>(
            buffer.bytes() * std::max<uint64_t>(1, buffer.slots()));
        changes[buffer.first()] += bytes;
        changes[buffer.last() + 1] -= bytes;
      }
    int64_t live = 0, most = 0;
    uint64_t at = 0;
    for (auto [position, change] : changes)
      if ((live += change) > most) {
        most = live;
        at = position;
      }
    return at;
  }

  void writeMemory() {
    auto *memory = role.mutable_memory();
    memory->set_arena_bytes(op.getArenaBytes().value_or(0));
    memory->set_alignment(planning::kBufferAlignment);
    memory->set_lower_bound_bytes(op.getLowerBound().value_or(0));
    memory->set_scratch_bytes_per_worker(kernels::kScratchBytesPerWorker);
    uint64_t peak = peakPosition();
    llvm::MapVector<StringRef, uint64_t> kinds;
    for (const auto &buffer : role.buffers())
      if (!buffer.within() && (buffer.persistent() || (buffer.first() <= peak &&
                                                       peak <= buffer.last())))
        kinds[buffer.kind()] +=
            buffer.bytes() * std::max<uint64_t>(1, buffer.slots());
    for (auto &[name, bytes] : kinds) {
      auto *kind = memory->add_at_peak();
      kind->set_name(name.str());
      kind->set_bytes(bytes);
    }
  }

  LogicalResult addSequence(exec::SequenceOp sequence) {
    sequences[sequence.getSymName()] = role.sequences_size();
    auto *out = role.add_sequences();
    out->set_name(sequence.getSymName().str());
    for (Operation &instruction : sequence.getBody().front()) {
      auto *to = out->add_instructions();
      to->set_source(sourceOf(instruction.getLoc()));
      if (failed(addInstruction(&instruction, *to)))
        return failure();
    }
    return success();
  }

  uint32_t number(Value buffer) const { return numbers.lookup(buffer); }

  LogicalResult addInstruction(Operation *from, program::Instruction &to) {
    if (auto stream = from->getAttrOfType<IntegerAttr>("stream")) {
      to.set_stream(static_cast<uint32_t>(stream.getInt()));
      role.set_streams(std::max(role.streams(), to.stream() + 1));
    }
    return llvm::TypeSwitch<Operation *, LogicalResult>(from)
        .Case<exec::LaunchOp>([&](auto launch) {
          return addLaunch(launch, *to.mutable_launch());
        })
        .Case<exec::GemmOp>([&](auto gemm) {
          addGemm(gemm, *to.mutable_gemm());
          return success();
        })
        .Case<exec::LibraryOp>([&](auto library) {
          addLibrary(library, *to.mutable_library());
          return success();
        })
        .Case<exec::AccumulateOp>([&](auto accumulate) {
          addAccumulate(accumulate, *to.mutable_library());
          return success();
        })
        .Case<exec::CopyOp>([&](auto copy) {
          to.mutable_copy()->set_from(number(copy.getFrom()));
          to.mutable_copy()->set_to(number(copy.getTo()));
          return success();
        })
        .Case<exec::HostOp>([&](auto host) {
          addHost(host, *to.mutable_host());
          return success();
        })
        .Case<exec::CollectiveOp>([&](auto collective) {
          if (collective.getKind() == step::CollectiveKind::Shift)
            addShift(collective, to.stream(), *to.mutable_transfer());
          else
            addCollective(collective, *to.mutable_collective());
          to.set_why(texts.indexOf(collective.getWhy().value_or("")));
          return success();
        })
        .Case<exec::ExchangeOp>([&](auto exchange) {
          addExchange(exchange, *to.mutable_collective());
          to.set_why(texts.indexOf(exchange.getWhy().value_or("")));
          return success();
        })
        .Case<exec::TransferOp>([&](auto transfer) {
          addTransfer(transfer, *to.mutable_transfer());
          return success();
        })
        .Case<exec::RecordOp>([&](auto record) {
          to.mutable_record()->set_event(countEvent(record.getEvent()));
          return success();
        })
        .Case<exec::WaitOp>([&](auto wait) {
          to.mutable_wait()->set_event(countEvent(wait.getEvent()));
          return success();
        })
        .Default([](Operation *other) {
          return other->emitOpError("is no instruction of the executable");
        });
  }

  LogicalResult addLaunch(exec::LaunchOp launch, program::Launch &to) {
    auto kernel = kernels.find(launch.getKernel());
    if (kernel == kernels.end())
      return launch.emitOpError("launches a kernel that was not compiled");
    to.set_kernel(kernel->second.index);
    for (Value buffer : launch.getOperands())
      to.add_buffers(number(buffer));
    // The first four of every kernel; see compiler/targets/cpu.
    addKey(kernel->second.usesRandom, 1, to);
    if (launch.getAccumulate() == exec::Accumulation::AddUnlessFirst)
      to.add_scalars()->set_step(program::Scalar::NOT_FIRST_MICROBATCH);
    else
      to.add_scalars()->set_constant(
          launch.getAccumulate() == exec::Accumulation::Add ? 1 : 0);
    for (Attribute number : launch.getInstances())
      addNumber(number, *to.add_scalars());
    return success();
  }

  /// The seed, the step and the first of so many elements a microbatch; zeros
  /// for what draws none, so that its arguments are the same in every step.
  template <typename Call>
  static void addKey(bool draws, int64_t elements, Call &to) {
    if (!draws) {
      for (int i = 0; i < 3; ++i)
        to.add_scalars()->set_constant(0);
      return;
    }
    to.add_scalars()->set_step(program::Scalar::SEED);
    to.add_scalars()->set_step(program::Scalar::STEP);
    auto *base = to.add_scalars();
    base->set_step(program::Scalar::MICROBATCH);
    if (elements != 1)
      base->set_multiplier(elements);
  }

  uint32_t countEvent(uint64_t event) {
    role.set_events(std::max(role.events(), static_cast<uint32_t>(event) + 1));
    return static_cast<uint32_t>(event);
  }

  void addTransfer(exec::TransferOp transfer, program::Transfer &to) {
    to.set_group(groups.indexOf(transfer.getAxes()));
    for (auto [buffer, sends, peer, tag] :
         llvm::zip(transfer.getBuffers(), transfer.getSends(),
                   transfer.getPeers(), transfer.getTags())) {
      auto *part = to.add_parts();
      part->set_send(sends);
      part->set_peer(static_cast<uint32_t>(peer));
      part->set_buffer(number(buffer));
      part->set_tag(static_cast<uint32_t>(tag));
    }
  }

  void addNumber(Attribute number, program::Scalar &to) {
    if (auto place = dyn_cast<exec::PlaceAttr>(number))
      groups.setPlace(place.getAxes(), place.getStep(), to);
    else
      to.set_constant(cast<IntegerAttr>(number).getInt());
  }

  void addCollective(exec::CollectiveOp collective, program::Collective &to) {
    step::CollectiveKind kind = collective.getKind();
    to.set_op(step::stringifyCollectiveKind(kind).str());
    if (kind == step::CollectiveKind::AllReduce ||
        kind == step::CollectiveKind::ReduceScatter)
      to.set_reduction("sum");
    to.set_group(groups.indexOf(collective.getAxes()));
    for (auto [i, from, into] :
         llvm::enumerate(collective.getFrom(), collective.getTo())) {
      if (i == 0) {
        to.set_from(number(from));
        to.set_to(number(into));
        continue;
      }
      auto *part = to.add_others();
      part->set_from(number(from));
      part->set_to(number(into));
    }
  }

  void addExchange(exec::ExchangeOp exchange, program::Collective &to) {
    to.set_op(exchange.getReturns() ? "return_rows" : "exchange_rows");
    to.set_group(groups.indexOf(exchange.getAxes()));
    to.set_from(number(exchange.getFrom()));
    to.set_to(number(exchange.getTo()));
    to.mutable_rows()->set_ranges(number(exchange.getRanges()));
    to.mutable_rows()->set_segments(number(exchange.getSegments()));
    to.mutable_rows()->set_width(exchange.getWidth());
  }

  /// Around the ring: to the next rank, from the one before. On one stream
  /// shifts meet in order; those of several are told apart by their tags.
  void addShift(exec::CollectiveOp shift, uint32_t stream,
                program::Transfer &to) {
    to.set_group(groups.indexOf(shift.getAxes()));
    auto last = static_cast<uint32_t>(groups.sizeOf(shift.getAxes()) - 1);
    for (auto [from, into] : llvm::zip(shift.getFrom(), shift.getTo()))
      for (bool sends : {true, false}) {
        auto *part = to.add_parts();
        part->set_send(sends);
        part->set_peer(sends ? 1 : last);
        part->set_relative(true);
        part->set_tag(stream);
        part->set_buffer(number(sends ? from : into));
      }
  }

  void addHost(exec::HostOp host, program::Host &to) {
    to.set_direction(host.getDirection() == exec::HostDirection::Input
                         ? program::Host::INPUT
                         : program::Host::OUTPUT);
    to.set_name(host.getName().str());
    to.set_buffer(number(host.getBuffer()));
    if (!host.getAxes())
      return;
    ArrayRef<int64_t> shape = host.dims();
    SmallVector<ArrayAttr> dims(host.getAxes()->getAsRange<ArrayAttr>());
    if (int64_t part = host.getPart())
      return addHostParts(dims, shape, part, to);
    auto *shard = to.add_shards();
    for (auto [axes, size] : llvm::zip(dims, shape)) {
      groups.setPlace(axes, size, *shard->add_start());
      shard->add_size(static_cast<uint64_t>(size));
    }
  }

  /// Two parts of the positions, dim 1, of each round: as far from its
  /// beginning as from its end.
  void addHostParts(ArrayRef<ArrayAttr> dims, ArrayRef<int64_t> shape,
                    int64_t part, program::Host &to) {
    int64_t width = 2 * static_cast<int64_t>(groups.sizeOf(dims[1]));
    for (int64_t own = 0; own < shape[1] / part; ++own) {
      bool mirrored = own % 2 != 0;
      int64_t first = own / 2 * width + (mirrored ? width - 1 : 0);
      auto *shard = to.add_shards();
      for (auto [d, axes] : llvm::enumerate(dims)) {
        auto *start = shard->add_start();
        int64_t size = d == 1 ? part : shape[d];
        groups.setPlace(axes, d == 1 && mirrored ? -part : size, *start);
        if (d == 1)
          start->set_addend(first * part);
        shard->add_size(static_cast<uint64_t>(size));
      }
    }
  }

  void addGemm(exec::GemmOp gemm, program::Gemm &to) {
    to.set_m(gemm.getM());
    to.set_n(gemm.getN());
    to.set_k(gemm.getK());
    to.set_transpose_a(gemm.getTransposeA());
    to.set_transpose_b(gemm.getTransposeB());
    to.set_a(number(gemm.getA()));
    to.set_b(number(gemm.getB()));
    to.set_d(number(gemm.getD()));
    to.set_accumulate(accumulateOf(gemm.getAccumulate()));
    if (gemm.getBias()) {
      to.set_has_bias(true);
      to.set_bias(number(gemm.getBias()));
    }
    if (gemm.getResidual()) {
      to.set_has_residual(true);
      to.set_residual(number(gemm.getResidual()));
    }
    if (gemm.getAuxiliary()) {
      to.set_has_auxiliary(true);
      to.set_auxiliary(number(gemm.getAuxiliary()));
    }
    if (gemm.getPreactivation()) {
      to.set_has_preactivation(true);
      to.set_preactivation(number(gemm.getPreactivation()));
    }
    if (gemm.getBiasGradient()) {
      to.set_has_bias_gradient(true);
      to.set_bias_gradient(number(gemm.getBiasGradient()));
    }
    if (gemm.getScaleA()) {
      to.set_has_scale_a(true);
      to.set_scale_a(number(gemm.getScaleA()));
    }
    if (gemm.getScaleB()) {
      to.set_has_scale_b(true);
      to.set_scale_b(number(gemm.getScaleB()));
    }
    if (gemm.getEpilogue() != step::Epilogue::None)
      to.set_epilogue(step::stringifyEpilogue(gemm.getEpilogue()).str());
    to.set_b_packed(gemm.getBPacked());
    to.set_alpha(gemm.getAlpha().convertToFloat());
  }

  void addLibrary(exec::LibraryOp library, program::Library &to) {
    to.set_op(library.getOp().str());
    for (Value buffer : library.getBuffers())
      to.add_buffers(number(buffer));
    for (int64_t integer : library.getIntegers())
      to.add_integers(integer);
    for (double value : library.getFloats())
      to.add_floats(value);
    if (library.getRandom())
      addKey(library.getElements() > 0, library.getElements(), to);
    for (Attribute number : library.getScalars())
      addNumber(number, *to.add_scalars());
    to.set_accumulate(accumulateOf(library.getAccumulate()));
  }

  /// The op of kernels/library/Library.h.
  void addAccumulate(exec::AccumulateOp accumulate, program::Library &to) {
    auto type = cast<MemRefType>(accumulate.getFrom().getType());
    to.set_op("accumulate");
    to.add_buffers(number(accumulate.getFrom()));
    to.add_buffers(number(accumulate.getTo()));
    to.add_integers(type.getElementType().isF32()    ? 1
                    : type.getElementType().isBF16() ? 2
                                                     : 3);
    to.add_integers(type.getNumElements());
    to.set_accumulate(accumulateOf(accumulate.getAccumulate()));
  }

  void addEntry(exec::EntryOp entry) {
    auto *out = role.add_entries();
    out->set_name(entry.getName().str());
    for (auto [sequence, microbatch, slot] :
         llvm::zip(entry.getSequences().getAsRange<FlatSymbolRefAttr>(),
                   entry.getMicrobatches(), entry.getSlots())) {
      auto *run = out->add_runs();
      run->set_sequence(sequences.lookup(sequence.getValue()));
      run->set_microbatch(static_cast<uint32_t>(microbatch));
      run->set_slot(static_cast<uint32_t>(slot));
    }
  }

  exec::RoleOp op;
  const EmittedKernels &kernels;
  GroupTable &groups;
  TextTable &texts;
  program::Role &role;
  llvm::DenseMap<Value, uint32_t> numbers;
  llvm::StringMap<uint32_t> sequences;
};

} // namespace

LogicalResult hocket::emitRole(exec::RoleOp role, const EmittedKernels &kernels,
                               GroupTable &groups, TextTable &texts,
                               program::Program &program) {
  return RoleWriter(role, kernels, groups, texts, *program.add_roles()).write();
}
