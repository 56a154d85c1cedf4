//===- StageCopies.cpp - What a schedule keeps at once --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/StageCopies.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

std::vector<EntryRun> exec::runsOf(EntryOp entry) {
  auto role = cast<RoleOp>(entry->getParentOp());
  llvm::StringMap<SequenceOp> sequences, firsts; // by name, by function
  for (auto sequence : role.getOps<SequenceOp>()) {
    sequences[sequence.getSymName()] = sequence;
    firsts.try_emplace(sequence.getFunctionName(), sequence);
  }
  std::vector<EntryRun> runs;
  size_t actions = 0;
  for (auto [name, microbatch, slot] :
       llvm::zip(entry.getSequences().getAsRange<FlatSymbolRefAttr>(),
                 entry.getMicrobatches(), entry.getSlots())) {
    SequenceOp sequence = sequences.lookup(name.getValue());
    bool begins = firsts.lookup(sequence.getFunctionName()) == sequence;
    actions += begins && !runs.empty() ? 1 : 0;
    runs.push_back({sequence, microbatch, slot, actions, begins});
  }
  return runs;
}

int64_t exec::microbatchesOf(RoleOp role) {
  int64_t microbatches = 1;
  for (auto entry : role.getOps<EntryOp>())
    for (int64_t microbatch : entry.getMicrobatches())
      microbatches = std::max(microbatches, microbatch + 1);
  return microbatches;
}

int64_t exec::slotsOf(RoleOp role) {
  int64_t slots = 1;
  for (auto entry : role.getOps<EntryOp>())
    for (int64_t slot : entry.getSlots())
      slots = std::max(slots, slot + 1);
  return slots;
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

bool exec::fitsRing(const std::vector<Stay> &stays, int64_t ring) {
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

bool exec::fitsRing(const std::vector<std::vector<Stay>> &entries,
                    int64_t ring) {
  return llvm::all_of(entries, [&](const std::vector<Stay> &stays) {
    return fitsRing(stays, ring);
  });
}

/// How many stay at once.
static int64_t mostAtOnce(const std::vector<Stay> &stays) {
  std::map<int64_t, int64_t> changes;
  for (const Stay &stay : stays)
    if (stay.begin >= 0) {
      ++changes[stay.begin];
      --changes[stay.end + 1];
    }
  int64_t now = 0, most = 1;
  for (auto [place, change] : changes)
    most = std::max(most, now += change);
  return most;
}

/// The smallest ring in which none meet, in any entry: as many as stay at once,
/// where they leave in the order in which they came.
static int64_t ringOf(const std::vector<std::vector<Stay>> &entries) {
  int64_t ring = 1, microbatches = 1;
  for (const std::vector<Stay> &stays : entries) {
    ring = std::max(ring, mostAtOnce(stays));
    microbatches = std::max(microbatches, static_cast<int64_t>(stays.size()));
  }
  while (ring < microbatches && !fitsRing(entries, ring))
    ++ring;
  return ring;
}

namespace {
/// Follows the runs of one stage's fragments in one entry.
class StageWalk {
public:
  void run(FragmentKind fragment, int64_t microbatch);

  std::vector<Stay> toBackward, toWeight, afterBackward;
  StageCopies between;

private:
  int64_t place = 0;
  int64_t beforeBackward = 0, beforeWeight = 0; ///< microbatches there
};
} // namespace

void StageWalk::run(FragmentKind fragment, int64_t microbatch) {
  auto m = static_cast<size_t>(microbatch);
  if (m >= toBackward.size())
    for (auto *stays : {&toBackward, &toWeight, &afterBackward})
      stays->resize(m + 1);
  if (fragment == FragmentKind::Forward) {
    toBackward[m] = toWeight[m] = {place, place};
    between.forwardsBetween |= beforeWeight > 0;
    ++beforeBackward;
  }
  if (fragment == FragmentKind::Backward) {
    toBackward[m].end = toWeight[m].end = place;
    afterBackward[m] = {place, place};
    --beforeBackward;
    ++beforeWeight;
  }
  if (fragment == FragmentKind::Weight) {
    toWeight[m].end = afterBackward[m].end = place;
    --beforeWeight;
    between.weightsBetween |= beforeBackward > 0;
  }
  ++place;
}

/// What all entries together ask of a stage: its bytes are the same in each.
static StageCopies copiesOf(ArrayRef<StageWalk> walks) {
  StageCopies copies;
  std::vector<std::vector<Stay>> toBackward, toWeight, afterBackward;
  for (const StageWalk &walk : walks) {
    copies.weightsBetween |= walk.between.weightsBetween;
    copies.forwardsBetween |= walk.between.forwardsBetween;
    toBackward.push_back(walk.toBackward);
    toWeight.push_back(walk.toWeight);
    afterBackward.push_back(walk.afterBackward);
  }
  copies.forwardToBackward = ringOf(toBackward);
  copies.forwardToWeight = ringOf(toWeight);
  copies.backwardToWeight = ringOf(afterBackward);
  return copies;
}

std::map<int64_t, StageCopies> exec::stageCopiesOf(RoleOp role) {
  std::map<int64_t, std::vector<StageWalk>> stages;
  for (auto entry : role.getOps<EntryOp>()) {
    std::map<int64_t, StageWalk> walks;
    for (const EntryRun &run : runsOf(entry))
      if (SequenceOp sequence = run.sequence;
          run.beginsAction && sequence.getStage() && sequence.getFragment())
        walks[static_cast<int64_t>(*sequence.getStage())].run(
            *sequence.getFragment(), run.microbatch);
    for (auto &[stage, walk] : walks)
      stages[stage].push_back(std::move(walk));
  }
  std::map<int64_t, StageCopies> copies;
  for (const auto &[stage, walks] : stages)
    copies[stage] = copiesOf(walks);
  return copies;
}
