//===- CountCopies.cpp - Copies of what stages keep -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// A stage keeps a value from the fragment that makes it to the last one that
// uses it, of several microbatches at once. In *rings*, microbatch m has copy
// m mod n: each buffer needs as many as its own fragments keep, and what
// crosses between stages alone two, one on its way and one in use.
//
// A rank with several stages seldom holds the most of all of them at once:
// interleaved, the first half of its chunks are fullest when the second half
// are not. So residuals of its stages may stand in *frames* as well: one frame
// holds what any one stage keeps of one microbatch, and there are as many as
// the schedule has slots for the rank. The frame's size f is what takes the
// fewest bytes; what of a stage does not fit into f stays in rings:
//
//   slots * f + sum over stages of copies * max(0, bytes of the stage - f)
//
// For example two stages of 5 and 6 bytes, 16 and 8 copies and 18 slots: rings
// take 128 bytes, frames of 5 take 90 + 8, of 6 take 108.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"
#include "passes/exec/Passes.h"
#include "passes/exec/StageCopies.h"

#include "llvm/ADT/MapVector.h"

namespace hocket::exec {
#define GEN_PASS_DEF_EXECCOUNTCOPIES
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

namespace {

/// Gives the buffers of a role their copies.
class CopyCounter {
public:
  explicit CopyCounter(RoleOp role)
      : role(role), stages(stageCopiesOf(role)), slots(slotsOf(role)) {}

  void run();
  int64_t frames() const { return framed; }

private:
  /// The fragments of a stage that use a buffer, as places in "FBW".
  struct Use {
    int64_t stage = -1;
    size_t first = 3, last = 0;
  };
  struct Kept {
    int64_t bytes = 0;
    std::vector<BufferOp> buffers; ///< in their order
  };

  void note(Value buffer, int64_t stage, size_t fragment);
  void noteUses();
  void setRing(BufferOp buffer, const Use &use);
  bool mayStandInFrames(BufferOp buffer, const Use &use);
  int64_t bytesWith(int64_t frame) const;
  BufferOp createFrames(int64_t bytes);
  void buildFrames(int64_t frame);

  RoleOp role;
  std::map<int64_t, StageCopies> stages;
  int64_t slots; ///< of the schedules
  llvm::DenseMap<Value, Use> uses;
  std::map<int64_t, Kept> kept; ///< by stage, what may stand in frames
  int64_t framed = 0;
};

} // namespace

void CopyCounter::note(Value buffer, int64_t stage, size_t fragment) {
  Use &use = uses[buffer];
  use.stage = stage;
  use.first = std::min(use.first, fragment);
  use.last = std::max(use.last, fragment);
}

void CopyCounter::noteUses() {
  constexpr FragmentKind order[] = {
      FragmentKind::Forward, FragmentKind::Backward, FragmentKind::Weight};
  for (auto sequence : role.getOps<SequenceOp>()) {
    const auto *found = llvm::find_if(
        order, [&](FragmentKind kind) { return sequence.isFragment(kind); });
    if (!sequence.getStage() || found == std::end(order))
      continue;
    auto stage = static_cast<int64_t>(*sequence.getStage());
    auto fragment = static_cast<size_t>(found - std::begin(order));
    for (Operation &op : sequence.getBody().front()) {
      auto instruction = cast<InstructionOpInterface>(op);
      for (Value buffer : instruction.getWrites())
        note(buffer, stage, fragment);
      // What the rank sends itself is another stage's.
      if (!isReceive(&op))
        for (Value buffer : instruction.getReads())
          note(buffer, stage, fragment);
    }
  }
}

void CopyCounter::setRing(BufferOp buffer, const Use &use) {
  const StageCopies &stage = stages[use.stage];
  int64_t copies;
  if (use.first == use.last)
    copies = isLink(buffer) ? std::min<int64_t>(2, stage.forwardToWeight) : 1;
  else if (use.first == 1)
    copies = stage.backwardToWeight;
  else
    copies = use.last == 1 ? stage.forwardToBackward : stage.forwardToWeight;
  buffer.setSlots(copies);
  buffer.setByMicrobatch(copies > 1);
}

/// What all live as long as the slots do: to the last fragment.
bool CopyCounter::mayStandInFrames(BufferOp buffer, const Use &use) {
  bool splits = llvm::any_of(role.getOps<SequenceOp>(), [](SequenceOp s) {
    return s.isFragment(FragmentKind::Weight);
  });
  return buffer.getSlots() > 1 && buffer.getResidual() && !isLink(buffer) &&
         use.first == 0 && use.last == (splits ? 2 : 1);
}

int64_t CopyCounter::bytesWith(int64_t frame) const {
  int64_t bytes = slots * frame;
  for (const auto &[stage, own] : kept)
    bytes += stages.at(stage).forwardToWeight *
             std::max<int64_t>(0, own.bytes - frame);
  return bytes;
}

/// A buffer in which others stand, behind all others.
BufferOp CopyCounter::createFrames(int64_t bytes) {
  OpBuilder builder(role.getContext());
  for (auto buffer : role.getOps<BufferOp>())
    builder.setInsertionPointAfter(buffer);
  auto frames = builder.create<BufferOp>(
      role.getLoc(), MemRefType::get({bytes}, builder.getI8Type()), "frames",
      MemoryKind::Activations);
  frames.setResidual(true);
  frames.setSlots(slots);
  return frames;
}

void CopyCounter::buildFrames(int64_t frame) {
  BufferOp frames = createFrames(frame);
  llvm::DenseMap<Value, int64_t> offsets;
  for (auto &[stage, own] : kept) {
    // The largest first, so that little is left of a frame.
    llvm::sort(own.buffers, [](BufferOp a, BufferOp b) {
      int64_t left = bytesOf(a), right = bytesOf(b);
      return left != right ? left > right : a->isBeforeInBlock(b);
    });
    int64_t used = 0;
    for (BufferOp buffer : own.buffers) {
      int64_t bytes = alignedBytesOf(buffer);
      if (used + bytes > frame)
        continue;
      offsets[buffer] = used;
      used += bytes;
    }
  }
  // What stands in them comes behind them.
  Operation *last = frames;
  for (auto buffer : llvm::make_early_inc_range(role.getOps<BufferOp>())) {
    auto offset = offsets.find(buffer);
    if (offset == offsets.end())
      continue;
    buffer.setOffset(offset->second);
    buffer.setSlots(slots);
    buffer.setByMicrobatch(false);
    buffer.getWithinMutable().assign(frames);
    buffer->moveAfter(last);
    last = buffer;
    offsets.erase(offset);
    ++framed;
  }
}

void CopyCounter::run() {
  noteUses();
  for (auto buffer : role.getOps<BufferOp>()) {
    Use use = uses.lookup(buffer);
    if (buffer.getPersistent() || use.stage < 0 ||
        !(buffer.getResidual() || isLink(buffer)))
      continue;
    setRing(buffer, use);
    if (!mayStandInFrames(buffer, use))
      continue;
    Kept &own = kept[use.stage];
    own.bytes += alignedBytesOf(buffer);
    own.buffers.push_back(buffer);
  }
  int64_t best = 0;
  for (const auto &[stage, own] : kept)
    if (bytesWith(own.bytes) < bytesWith(best))
      best = own.bytes;
  if (best > 0)
    buildFrames(best);
}

/// The only stage has a copy for each slot of its schedules.
static void countSlots(RoleOp role) {
  int64_t slots = slotsOf(role);
  for (auto buffer : role.getOps<BufferOp>())
    if (buffer.getResidual() && !buffer.getPersistent())
      buffer.setSlots(slots);
}

namespace {

struct CountCopies : exec::impl::ExecCountCopiesBase<CountCopies> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<RoleOp>()) {
      if (role.getPipelineRank()) {
        CopyCounter counter(role);
        counter.run();
        framed += counter.frames();
      } else {
        countSlots(role);
      }
    }
  }
};

} // namespace
