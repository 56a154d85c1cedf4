//===- PlaceEvents.cpp - Events within a sequence -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// A sequence begins and ends with everything on stream 0. In between, two
// instructions on different streams are ordered if they use the same bytes of
// the arena and one of them changes them, be it as the same buffer or as
// another that was given its bytes. Each stream keeps a vector clock: how far,
// to its knowledge, the others have come. A wait that a clock makes needless is
// left out, so what is left has no event that follows from others.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"
#include "passes/exec/Passes.h"

#include <map>
#include <utility>

namespace hocket::exec {
#define GEN_PASS_DEF_EXECPLACEEVENTS
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

namespace {

/// Bytes of the arena that an instruction uses.
struct ByteRange {
  int64_t begin = 0, end = 0;
  bool writes = false;

  bool clashes(const ByteRange &other) const {
    return (writes || other.writes) && begin < other.end && other.begin < end;
  }
};

/// Places the events of one sequence, between its transfers.
class SequenceEvents {
public:
  SequenceEvents(SequenceOp sequence, size_t streams)
      : sequence(sequence), onStream(streams),
        clocks(streams, Clock(streams, -1)) {
    for (Operation &op : sequence.getBody().front())
      if (!isa<TransferOp>(op))
        list.push_back(&op);
    after.assign(list.size() + 1, Clock(streams, -1));
    waits.resize(list.size() + 1);
  }

  void run();
  size_t events() const { return recorded.size(); }

private:
  /// By stream, the last instruction that is known to be over, counted from 1;
  /// 0 is the sequence's beginning, -1 nothing.
  using Clock = std::vector<int64_t>;
  struct Wait {
    int64_t stream, step;
  };

  int64_t streamOf(size_t i) const {
    return cast<InstructionOpInterface>(list[i]).getStreamNumber();
  }
  static int64_t stepOf(size_t i) { return static_cast<int64_t>(i) + 1; }

  /// The last instruction of `stream` that `i` must follow and does not; what
  /// is not on stream 0 at least follows the beginning.
  int64_t lastClash(size_t i, int64_t stream) const;
  void order(size_t i);
  void joinAll();
  void insert();

  SequenceOp sequence;
  std::vector<Operation *> list;
  std::vector<std::vector<ByteRange>> bytes;
  std::vector<std::vector<size_t>> onStream;
  std::vector<Clock> clocks;            ///< by stream
  std::vector<Clock> after;             ///< by step
  std::vector<std::vector<Wait>> waits; ///< by instruction; the end's last
  std::map<std::pair<int64_t, int64_t>, int64_t> recorded; ///< -> event
};

} // namespace

static std::vector<ByteRange> rangesOf(InstructionOpInterface instruction) {
  std::vector<ByteRange> ranges;
  for (OpOperand &operand : instruction->getOpOperands()) {
    BufferOp buffer = bufferOf(operand.get());
    auto offset = static_cast<int64_t>(buffer.getOffset().value_or(0));
    // All that stands in copies of one buffer is of one microbatch here.
    int64_t size = alignedBytesOf(buffer);
    if (!buffer.getWithin())
      size *= static_cast<int64_t>(buffer.getSlots());
    ranges.push_back({offset, offset + size,
                      instruction.writesOperand(operand.getOperandNumber())});
  }
  return ranges;
}

int64_t SequenceEvents::lastClash(size_t i, int64_t stream) const {
  int64_t own = streamOf(i), known = clocks[own][stream];
  for (size_t other : llvm::reverse(onStream[stream])) {
    if (stepOf(other) <= known)
      return -1;
    for (const ByteRange &mine : bytes[i])
      for (const ByteRange &theirs : bytes[other])
        if (mine.clashes(theirs))
          return stepOf(other);
  }
  return stream == 0 && known < 0 ? 0 : -1;
}

void SequenceEvents::order(size_t i) {
  int64_t own = streamOf(i);
  std::vector<Wait> wanted;
  for (size_t stream = 0; stream < onStream.size(); ++stream)
    if (auto s = static_cast<int64_t>(stream); s != own)
      if (int64_t step = lastClash(i, s); step >= 0)
        wanted.push_back({s, step});
  // The latest first: it may imply the others.
  llvm::sort(wanted, [](Wait a, Wait b) { return a.step > b.step; });
  for (Wait wait : wanted) {
    if (clocks[own][wait.stream] >= wait.step)
      continue;
    waits[i].push_back(wait);
    for (auto [mine, theirs] : llvm::zip(clocks[own], after[wait.step]))
      mine = std::max(mine, theirs);
    clocks[own][wait.stream] = std::max(clocks[own][wait.stream], wait.step);
  }
  clocks[own][own] = stepOf(i);
  after[stepOf(i)] = clocks[own];
  onStream[own].push_back(i);
}

void SequenceEvents::joinAll() {
  for (size_t stream = 1; stream < onStream.size(); ++stream)
    if (!onStream[stream].empty())
      if (int64_t step = stepOf(onStream[stream].back());
          clocks[0][stream] < step)
        waits.back().push_back({static_cast<int64_t>(stream), step});
}

void SequenceEvents::insert() {
  for (const std::vector<Wait> &each : waits)
    for (Wait wait : each)
      recorded.try_emplace({wait.step, wait.stream},
                           static_cast<int64_t>(recorded.size()));
  Location loc = cast<RoleOp>(sequence->getParentOp()).getLoc();
  OpBuilder builder(list.front());
  auto addWaits = [&](size_t i, int64_t stream) {
    for (Wait wait : waits[i])
      builder.create<WaitOp>(loc, recorded.at({wait.step, wait.stream}),
                             stream);
  };
  auto addRecord = [&](int64_t step, int64_t stream) {
    if (auto event = recorded.find({step, stream}); event != recorded.end())
      builder.create<RecordOp>(loc, event->second, stream);
  };
  addRecord(0, 0);
  for (auto [i, instruction] : llvm::enumerate(list)) {
    builder.setInsertionPoint(instruction);
    addWaits(i, streamOf(i));
    builder.setInsertionPointAfter(instruction);
    addRecord(stepOf(i), streamOf(i));
  }
  addWaits(list.size(), 0);
}

void SequenceEvents::run() {
  if (llvm::all_of(llvm::seq(list.size()),
                   [&](size_t i) { return streamOf(i) == 0; }))
    return;
  for (Operation *instruction : list)
    bytes.push_back(rangesOf(cast<InstructionOpInterface>(instruction)));
  for (size_t i = 0; i < list.size(); ++i)
    order(i);
  joinAll();
  insert();
}

namespace {

/// The instructions of a role, and with what they live.
class Positions {
public:
  explicit Positions(RoleOp role) : role(role) {
    for (auto sequence : role.getOps<SequenceOp>())
      for (Operation &op : sequence.getBody().front())
        before.push_back(&op);
  }

  /// Moves lifetimes to where instructions are now. What lives to the end of a
  /// sequence lives through the waits that stand there.
  void update() {
    llvm::DenseMap<Operation *, int64_t> now, end;
    for (auto sequence : role.getOps<SequenceOp>()) {
      Operation *last = nullptr;
      for (Operation &op : sequence.getBody().front()) {
        auto position = static_cast<int64_t>(now.size());
        now[&op] = end[&op] = position;
        if (!isa<RecordOp, WaitOp>(op))
          last = &op;
      }
      if (last)
        end[last] = end[&sequence.getBody().front().back()];
    }
    for (auto buffer : role.getOps<BufferOp>())
      if (buffer.getFirst()) {
        buffer.setFirst(now[before[*buffer.getFirst()]]);
        buffer.setLast(end[before[*buffer.getLast()]]);
      }
  }

private:
  RoleOp role;
  std::vector<Operation *> before;
};

struct PlaceEvents : exec::impl::ExecPlaceEventsBase<PlaceEvents> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<RoleOp>())
      place(role);
  }

private:
  void place(RoleOp role) {
    Positions positions(role);
    size_t streams = role.getStreams() ? role.getStreams()->size() + 1 : 1;
    for (auto sequence : role.getOps<SequenceOp>()) {
      // What a bucket waits for is the matter of the runs around it.
      if (sequence.getBucket())
        continue;
      SequenceEvents places(sequence, streams);
      places.run();
      events += places.events();
    }
    positions.update();
  }
};

} // namespace
