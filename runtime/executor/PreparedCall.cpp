//===- PreparedCall.cpp - Instructions, resolved --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/PreparedCall.h"

#include "runtime/program/DataType.h"

using namespace hocket;
using program::Instruction;

namespace {

/// A buffer's place in the arena, for any slot.
struct BufferPlace {
  hal::Range first;
  uint64_t stride = 0; ///< 0: one copy.
  hal::DType dtype = hal::DType::F32;

  hal::Range at(uint32_t slot) const {
    return {first.offset + slot * stride, first.bytes};
  }
  hal::Operand operand(uint32_t slot) const { return {at(slot), dtype}; }
  uint64_t elements() const {
    int64_t size = kernels::bytesOf(dtype);
    return size ? first.bytes / uint64_t(size) : 0;
  }
};

BufferPlace placeOf(const PreparationScope &scope, uint32_t index) {
  const program::Buffer &buffer = scope.role.buffers(int(index));
  return {{buffer.offset(), buffer.bytes()},
          buffer.slots() > 1 ? buffer.slot_stride() : 0,
          hal::DType(int(buffer.dtype()))};
}

template <typename Range>
std::vector<BufferPlace> placesOf(const PreparationScope &scope,
                                  const Range &indices) {
  std::vector<BufferPlace> places;
  for (uint32_t index : indices)
    places.push_back(placeOf(scope, index));
  return places;
}

/// Fills `ranges` with the places under `slot`.
void resolve(const std::vector<BufferPlace> &places, uint32_t slot,
             std::vector<hal::Range> &ranges) {
  ranges.clear();
  for (const BufferPlace &place : places)
    ranges.push_back(place.at(slot));
}

int64_t scalarValue(const program::Scalar &scalar, const RunContext &context) {
  if (scalar.has_constant())
    return scalar.constant();
  int64_t factor = scalar.multiplier() == 0 ? 1 : scalar.multiplier();
  switch (scalar.step()) {
  case program::Scalar::MICROBATCH:
    return context.microbatch * factor;
  case program::Scalar::FIRST_MICROBATCH:
    return context.microbatch == 0 ? factor : 0;
  case program::Scalar::NOT_FIRST_MICROBATCH:
    return context.microbatch == 0 ? 0 : factor;
  case program::Scalar::STEP:
    return int64_t(context.step) * factor;
  case program::Scalar::SEED:
    return int64_t(context.seed) * factor;
  default:
    return 0;
  }
}

using Scalars = std::vector<program::Scalar>;

void resolve(const Scalars &scalars, const RunContext &context,
             std::vector<int64_t> &values) {
  values.clear();
  for (const program::Scalar &scalar : scalars)
    values.push_back(scalarValue(scalar, context));
}

bool accumulates(program::Accumulate accumulate, const RunContext &context) {
  return accumulate == program::ADD ||
         (accumulate == program::ADD_UNLESS_FIRST_MICROBATCH &&
          context.microbatch != 0);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

class PreparedLaunch : public PreparedCall {
public:
  PreparedLaunch(const Instruction &instruction, const PreparationScope &scope)
      : stream(instruction.stream()),
        places(placesOf(scope, instruction.launch().buffers())),
        scalars(instruction.launch().scalars().begin(),
                instruction.launch().scalars().end()) {
    uint32_t index = instruction.launch().kernel();
    const program::Kernel &kernel = scope.program.kernels(int(index));
    call.kernel = scope.kernels[index];
    call.tasks = int64_t(kernel.tasks());
    call.grain = int64_t(kernel.grain());
  }

  Status run(const RunContext &context) override {
    resolve(places, context.slot, ranges);
    resolve(scalars, context, values);
    call.buffers = ranges;
    call.scalars = values;
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
    a = placeOf(scope, gemm.a());
    b = placeOf(scope, gemm.b());
    d = placeOf(scope, gemm.d());
    if (gemm.b_packed())
      b.dtype = gemm.b_type() == program::DTYPE_UNSPECIFIED
                    ? a.dtype
                    : hal::DType(int(gemm.b_type()));
    if (gemm.has_bias())
      bias = placeOf(scope, gemm.bias());
    if (gemm.has_auxiliary())
      auxiliary = placeOf(scope, gemm.auxiliary());
    if (gemm.has_residual())
      residual = placeOf(scope, gemm.residual());
  }

  Status run(const RunContext &context) override {
    call.accumulate = accumulates(accumulate, context);
    call.a = a.operand(context.slot);
    call.b = b.operand(context.slot);
    call.d = d.operand(context.slot);
    call.bias = bias.operand(context.slot);
    call.auxiliary = auxiliary.operand(context.slot);
    call.residual = residual.operand(context.slot);
    return context.device.gemm(stream, call);
  }

private:
  hal::StreamId stream;
  program::Accumulate accumulate;
  BufferPlace a, b, d, bias, auxiliary, residual;
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
        scalars(instruction.library().scalars().begin(),
                instruction.library().scalars().end()) {
    call.op = kernels::findLibraryOp(instruction.library().op());
    call.integers = integers;
    call.floats = floats;
  }

  Status run(const RunContext &context) override {
    resolve(places, context.slot, ranges);
    resolve(scalars, context, values);
    call.buffers = ranges;
    call.scalars = values;
    call.accumulate = accumulates(accumulate, context);
    return context.device.library(stream, call);
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
        from(placeOf(scope, instruction.copy().from())),
        to(placeOf(scope, instruction.copy().to())) {}

  Status run(const RunContext &context) override {
    return context.device.copy(stream, from.at(context.slot),
                               to.at(context.slot));
  }

private:
  hal::StreamId stream;
  BufferPlace from, to;
};

class PreparedFill : public PreparedCall {
public:
  PreparedFill(const Instruction &instruction, const PreparationScope &scope)
      : stream(instruction.stream()),
        place(placeOf(scope, instruction.fill().buffer())),
        value(uint8_t(instruction.fill().byte_value())) {}

  Status run(const RunContext &context) override {
    return context.device.fill(stream, place.at(context.slot), value);
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
        place(placeOf(scope, instruction.host().buffer())) {
    const program::Buffer &buffer =
        scope.role.buffers(int(instruction.host().buffer()));
    // The padding behind the last element is nobody's business.
    bytes = tensorBytes(buffer.shape(), buffer.dtype()).value_or(0);
  }

  Status run(const RunContext &context) override {
    staging.resize(bytes);
    hal::Range range{place.at(context.slot).offset, bytes};
    if (input) {
      HOCKET_RETURN_IF_ERROR(
          context.host.provide(name, context.microbatch, staging));
      return context.device.copyFromHost(stream, staging.data(), range);
    }
    HOCKET_RETURN_IF_ERROR(
        context.device.copyToHost(stream, range, staging.data()));
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    return context.host.receive(name, context.microbatch, staging);
  }

private:
  hal::StreamId stream;
  bool input;
  std::string name;
  BufferPlace place;
  uint64_t bytes;
  std::vector<std::byte> staging;
};

//===----------------------------------------------------------------------===//
// Communication and order
//===----------------------------------------------------------------------===//

class PreparedCollective : public PreparedCall {
public:
  PreparedCollective(const Instruction &instruction,
                     const PreparationScope &scope)
      : stream(instruction.stream()), op(instruction.collective().op()),
        reduction(instruction.collective().reduction() == "max"
                      ? comm::Reduction::Max
                      : comm::Reduction::Sum),
        from(placeOf(scope, instruction.collective().from())),
        to(placeOf(scope, instruction.collective().to())) {}

  Status run(const RunContext &context) override {
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    auto *arena = static_cast<char *>(context.device.arenaAddress());
    if (!arena)
      return okStatus();
    void *target = arena + to.at(context.slot).offset;
    const void *source = arena + from.at(context.slot).offset;
    comm::Communicator &group = context.communicator;
    hal::DType type = from.dtype;
    if (op == "all_reduce")
      return group.allReduce(source, target, to.elements(), type, reduction);
    if (op == "all_gather")
      return group.allGather(source, target, from.elements(), type);
    if (op == "reduce_scatter")
      return group.reduceScatter(source, target, to.elements(), type,
                                 reduction);
    if (op == "all_to_all")
      return group.allToAll(source, target, from.elements() / group.size(),
                            type);
    HOCKET_RETURN_IF_ERROR(context.device.copy(stream, from.at(context.slot),
                                               to.at(context.slot)));
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    return group.broadcast(target, to.elements(), type, 0);
  }

private:
  hal::StreamId stream;
  std::string op;
  comm::Reduction reduction;
  BufferPlace from, to;
};

class PreparedTransfer : public PreparedCall {
public:
  PreparedTransfer(const Instruction &instruction,
                   const PreparationScope &scope)
      : stream(instruction.stream()) {
    for (const auto &part : instruction.transfer().parts()) {
      places.push_back(placeOf(scope, part.buffer()));
      transfers.push_back({part.send(), part.peer(), nullptr,
                           places.back().elements(), places.back().dtype,
                           part.tag()});
    }
  }

  Status run(const RunContext &context) override {
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    auto *arena = static_cast<char *>(context.device.arenaAddress());
    if (!arena)
      return okStatus();
    for (size_t i = 0; i < places.size(); ++i)
      transfers[i].data = arena + places[i].at(context.slot).offset;
    return context.communicator.exchange(transfers);
  }

private:
  hal::StreamId stream;
  std::vector<BufferPlace> places;
  std::vector<comm::Transfer> transfers;
};

class PreparedRecord : public PreparedCall {
public:
  explicit PreparedRecord(const Instruction &instruction)
      : stream(instruction.stream()), event(instruction.record().event()) {}

  Status run(const RunContext &context) override {
    return context.device.record(stream, event);
  }

private:
  hal::StreamId stream;
  hal::EventId event;
};

class PreparedWait : public PreparedCall {
public:
  explicit PreparedWait(const Instruction &instruction)
      : stream(instruction.stream()), event(instruction.wait().event()) {}

  Status run(const RunContext &context) override {
    return context.device.wait(stream, event);
  }

private:
  hal::StreamId stream;
  hal::EventId event;
};

} // namespace

std::unique_ptr<PreparedCall>
hocket::prepareCall(const Instruction &instruction,
                    const PreparationScope &scope) {
  switch (instruction.kind_case()) {
  case Instruction::kLaunch:
    return std::make_unique<PreparedLaunch>(instruction, scope);
  case Instruction::kGemm:
    return std::make_unique<PreparedGemm>(instruction, scope);
  case Instruction::kLibrary:
    return std::make_unique<PreparedLibrary>(instruction, scope);
  case Instruction::kCopy:
    return std::make_unique<PreparedCopy>(instruction, scope);
  case Instruction::kFill:
    return std::make_unique<PreparedFill>(instruction, scope);
  case Instruction::kHost:
    return std::make_unique<PreparedHost>(instruction, scope);
  case Instruction::kCollective:
    return std::make_unique<PreparedCollective>(instruction, scope);
  case Instruction::kTransfer:
    return std::make_unique<PreparedTransfer>(instruction, scope);
  case Instruction::kRecord:
    return std::make_unique<PreparedRecord>(instruction);
  case Instruction::kWait:
    return std::make_unique<PreparedWait>(instruction);
  case Instruction::KIND_NOT_SET:
    break;
  }
  return nullptr;
}
