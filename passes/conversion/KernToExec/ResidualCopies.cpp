//===- ResidualCopies.cpp - Copies of what stages keep --------------------===//
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

#include "passes/conversion/KernToExec/FlatProgram.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

bool hocket::kerntoexec::fitsRing(const std::vector<Stay> &stays,
                                  int64_t ring) {
  for (int64_t copy = 0; copy < ring; ++copy) {
    std::map<int64_t, int64_t> ends; // by begin
    for (size_t m = size_t(copy); m < stays.size(); m += size_t(ring))
      if (stays[m].begin >= 0)
        ends[stays[m].begin] = stays[m].end;
    int64_t last = -1;
    for (auto [begin, end] : ends) {
      if (begin <= last)
        return false;
      last = std::max(last, end);
    }
  }
  return true;
}

/// The smallest ring in which none meet: as many as stay at once, where they
/// leave in the order in which they came.
static int64_t ringOf(const std::vector<Stay> &stays) {
  std::map<int64_t, int64_t> changes;
  for (const Stay &stay : stays)
    if (stay.begin >= 0) {
      ++changes[stay.begin];
      --changes[stay.end + 1];
    }
  int64_t now = 0, most = 1;
  for (auto [place, change] : changes)
    most = std::max(most, now += change);
  while (most < static_cast<int64_t>(stays.size()) && !fitsRing(stays, most))
    ++most;
  return most;
}

StageCopies hocket::kerntoexec::copiesOfStage(ArrayRef<StageAction> actions) {
  std::vector<Stay> toBackward, toWeight, afterBackward;
  StageCopies copies;
  int64_t beforeBackward = 0, beforeWeight = 0; // microbatches there
  for (auto [i, action] : llvm::enumerate(actions)) {
    auto place = static_cast<int64_t>(i);
    auto m = static_cast<size_t>(action.microbatch);
    if (m >= toBackward.size())
      for (auto *stays : {&toBackward, &toWeight, &afterBackward})
        stays->resize(m + 1);
    if (action.fragment == 'F') {
      toBackward[m] = toWeight[m] = {place, place};
      copies.forwardsBetween |= beforeWeight > 0;
      ++beforeBackward;
    }
    if (action.fragment == 'B') {
      toBackward[m].end = toWeight[m].end = place;
      afterBackward[m] = {place, place};
      --beforeBackward;
      ++beforeWeight;
    }
    if (action.fragment == 'W') {
      toWeight[m].end = afterBackward[m].end = place;
      --beforeWeight;
      copies.weightsBetween |= beforeBackward > 0;
    }
  }
  copies.forwardToBackward = ringOf(toBackward);
  copies.forwardToWeight = ringOf(toWeight);
  copies.backwardToWeight = ringOf(afterBackward);
  return copies;
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

namespace {

/// Gives buffers their copies.
class CopyCounter {
public:
  explicit CopyCounter(FlatProgram &program)
      : program(program), uses(program.buffers.size()) {}

  void run();

private:
  /// The fragments of a stage that use a buffer, as places in "FBW".
  struct Use {
    int64_t stage = -1;
    size_t first = 3, last = 0;
  };
  struct Kept {
    int64_t bytes = 0;
    std::vector<int> buffers;
  };

  void note(int buffer, int64_t stage, size_t fragment);
  void noteUses();
  void setRing(int buffer);
  bool mayStandInFrames(int buffer) const;
  int64_t bytesWith(int64_t frame) const;
  void buildFrames(int64_t frame);
  int addFrames(int64_t bytes);

  static int64_t aligned(int64_t bytes) {
    return static_cast<int64_t>(
        llvm::alignTo(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)), 256));
  }

  FlatProgram &program;
  std::vector<Use> uses;
  std::map<int64_t, Kept> kept; ///< by stage, what may stand in frames
};

} // namespace

void CopyCounter::note(int buffer, int64_t stage, size_t fragment) {
  Use &use = uses[static_cast<size_t>(program.find(buffer))];
  use.stage = stage;
  use.first = std::min(use.first, fragment);
  use.last = std::max(use.last, fragment);
}

void CopyCounter::noteUses() {
  for (const FlatSequence &sequence : program.sequences) {
    size_t fragment = StringRef("FBW").find(sequence.fragment);
    if (sequence.stage < 0 || fragment == StringRef::npos)
      continue;
    for (const FlatInstruction &instruction : sequence.instructions) {
      if (instruction.kind == FlatInstruction::Kind::Receive) {
        // What the rank sends itself is another stage's.
        for (int buffer : instruction.outputs)
          note(buffer, sequence.stage, fragment);
        continue;
      }
      for (ArrayRef<int> list : {ArrayRef<int>(instruction.inputs),
                                 ArrayRef<int>(instruction.outputs)})
        for (int buffer : list)
          note(buffer, sequence.stage, fragment);
    }
  }
}

void CopyCounter::setRing(int index) {
  FlatBuffer &buffer = program.buffers[index];
  const Use &use = uses[index];
  const StageCopies &stage = program.role.copies[use.stage];
  if (use.first == use.last)
    buffer.copies =
        buffer.isLink ? std::min<int64_t>(2, stage.forwardToWeight) : 1;
  else if (use.first == 1)
    buffer.copies = stage.backwardToWeight;
  else
    buffer.copies =
        use.last == 1 ? stage.forwardToBackward : stage.forwardToWeight;
  buffer.byMicrobatch = buffer.copies > 1;
}

/// What all live as long as the slots do: to the last fragment.
bool CopyCounter::mayStandInFrames(int index) const {
  const FlatBuffer &buffer = program.buffers[index];
  const Use &use = uses[index];
  bool splits = llvm::any_of(program.sequences, [](const FlatSequence &s) {
    return s.fragment == 'W';
  });
  return buffer.copies > 1 && buffer.isResidual && !buffer.isLink &&
         use.first == 0 && use.last == (splits ? 2 : 1);
}

int64_t CopyCounter::bytesWith(int64_t frame) const {
  int64_t bytes = program.role.slots * frame;
  for (const auto &[stage, own] : kept)
    bytes += program.role.copies[stage].forwardToWeight *
             std::max<int64_t>(0, own.bytes - frame);
  return bytes;
}

/// A buffer in which others stand.
int CopyCounter::addFrames(int64_t bytes) {
  MLIRContext *context = program.module.getContext();
  FlatBuffer frames;
  frames.type = RankedTensorType::get({bytes}, IntegerType::get(context, 8));
  frames.name = "frames";
  frames.kind = "activations";
  frames.bytes = bytes;
  frames.isResidual = true;
  frames.copies = program.role.slots;
  program.buffers.push_back(frames);
  return static_cast<int>(program.buffers.size()) - 1;
}

void CopyCounter::buildFrames(int64_t frame) {
  int host = addFrames(frame);
  for (auto &[stage, own] : kept) {
    // The largest first, so that little is left of a frame.
    llvm::sort(own.buffers, [&](int a, int b) {
      return std::pair(-program.buffers[a].bytes, a) <
             std::pair(-program.buffers[b].bytes, b);
    });
    int64_t used = 0;
    for (int index : own.buffers) {
      FlatBuffer &buffer = program.buffers[index];
      int64_t bytes = aligned(buffer.bytes);
      if (used + bytes > frame)
        continue;
      buffer.within = host;
      buffer.offset = used;
      buffer.copies = program.role.slots;
      buffer.byMicrobatch = false;
      used += bytes;
      FlatBuffer &frames = program.buffers[host];
      frames.first = frames.first < 0 ? buffer.first
                                      : std::min(frames.first, buffer.first);
      frames.last = std::max(frames.last, buffer.last);
    }
  }
}

void CopyCounter::run() {
  noteUses();
  for (size_t b = 0; b < uses.size(); ++b) {
    FlatBuffer &buffer = program.buffers[b];
    if (buffer.mergedInto >= 0 || buffer.persistent() || buffer.first < 0 ||
        uses[b].stage < 0 || !(buffer.isResidual || buffer.isLink))
      continue;
    setRing(static_cast<int>(b));
    if (!mayStandInFrames(static_cast<int>(b)))
      continue;
    Kept &own = kept[uses[b].stage];
    own.bytes += aligned(buffer.bytes);
    own.buffers.push_back(static_cast<int>(b));
  }
  int64_t best = 0;
  for (const auto &[stage, own] : kept)
    if (bytesWith(own.bytes) < bytesWith(best))
      best = own.bytes;
  if (best > 0)
    buildFrames(best);
}

void hocket::kerntoexec::countCopies(FlatProgram &program) {
  if (program.role.isCut)
    CopyCounter(program).run();
}
