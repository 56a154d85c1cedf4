//===- SettleTransfers.cpp - Whether all transfers come to an end ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// A schedule says which rank runs what in which order. It can run if messages
// wait somewhere for their receivers; here they wait in the copies of links
// alone: nothing is buffered on the way, and a transfer is over once both its
// ends have begun. With two copies of each link this is enough for most
// schedules. It is not where a stage makes more than two results before another
// rank takes the first of them:
//
//   rank 0   F0 F1 F2 F3 F0@1 ...     interleaved, in groups of four
//   rank 1      F0 F1 F2 F3 F0@1 ...
//
// Rank 1 sends the results of F0 and F1 to the second chunk of rank 0, which
// takes none before it has run F3. So rank 1 cannot begin F2, and rank 0, whose
// results of F2 and F3 nobody takes, not F3.
//
// The entry is run here without data, all ranks together. Where they come to a
// standstill there is a circle of steps that wait for each other. A step that
// overwrites a copy waits for the transfer out of (or into) that copy; with one
// copy more of the smallest such buffer of the circle it need not. Once there
// is a copy for each microbatch nothing waits for a copy, and what is left are
// the schedule's own waits, which have no circle.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"
#include "passes/exec/Passes.h"
#include "passes/exec/TransferRuns.h"

#include <set>
#include <utility>

namespace hocket::exec {
#define GEN_PASS_DEF_EXECSETTLETRANSFERS
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

namespace {

/// A step of a rank.
struct Place {
  size_t rank = 0;
  int step = 0;

  bool operator==(const Place &) const = default;
};

/// One rank's part of an entry.
struct RankSteps {
  TransferRuns *runs = nullptr;
  EntryOp entry;
  int64_t number = 0;       ///< along the pipeline
  int64_t microbatches = 1; ///< of a step
  std::vector<TransferStep> steps;
  /// Of the role's other entries, which keep theirs in the same rings.
  std::vector<std::vector<TransferStep>> others;
  // How far it has come.
  std::vector<bool> begun, done;
  int issued = 0;
  std::map<int64_t, std::vector<int>> streams; ///< what was issued
  std::map<int64_t, size_t> heads;
};

/// An entry of all pipeline ranks.
class EntryProgress {
public:
  void add(RoleOp role, TransferRuns &runs, EntryOp entry);
  /// Adds copies until all ranks come to their ends.
  LogicalResult settle();
  int64_t copies() const { return added; }

private:
  void plan(RankSteps &rank);
  void fitOwnSends(RankSteps &rank);
  void pair();
  /// Whether all ranks come to their ends.
  bool run();
  bool advance(size_t rank);
  bool isReady(const RankSteps &rank, int step) const;
  bool finish(Place place);
  Place partnerOf(Place place) const;
  /// What a step that does not begin, or does not end, waits for first.
  Place awaitedBy(Place place) const;
  /// The buffers of which `step` overwrites the copy that `other` transfers.
  std::vector<int> buffersBetween(const RankSteps &rank, int step,
                                  int other) const;
  LogicalResult addCopy();
  static std::vector<Stay> staysOf(const RankSteps &rank, int buffer,
                                   ArrayRef<TransferStep> steps);
  static bool fits(const RankSteps &rank, int buffer,
                   ArrayRef<TransferStep> steps, int64_t ring);
  bool grow(RankSteps &rank, int buffer, ArrayRef<TransferStep> steps);

  std::vector<RankSteps> ranks;
  int64_t added = 0; ///< copies
  /// By rank and step of a transfer, its other end.
  std::vector<std::vector<Place>> partners;
};

} // namespace

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void EntryProgress::add(RoleOp role, TransferRuns &runs, EntryOp entry) {
  RankSteps rank;
  rank.runs = &runs;
  rank.entry = entry;
  rank.number = static_cast<int64_t>(role.getPipelineRank().value_or(0));
  rank.microbatches = microbatchesOf(role);
  for (auto other : role.getOps<EntryOp>())
    if (other != entry)
      rank.others.push_back(runs.stepsOf(other));
  fitOwnSends(rank);
  plan(rank);
  ranks.push_back(std::move(rank));
}

void EntryProgress::plan(RankSteps &rank) {
  rank.steps = rank.runs->orderedSteps(rank.entry);
}

std::vector<Stay> EntryProgress::staysOf(const RankSteps &rank, int buffer,
                                         ArrayRef<TransferStep> steps) {
  std::vector<Stay> stays(static_cast<size_t>(rank.microbatches));
  for (auto [i, step] : llvm::enumerate(steps)) {
    if (!llvm::is_contained(step.part->reads, buffer) &&
        !llvm::is_contained(step.part->writes, buffer))
      continue;
    Stay &stay = stays[static_cast<size_t>(step.microbatch)];
    stay.begin = stay.begin < 0 ? static_cast<int64_t>(i) : stay.begin;
    stay.end = static_cast<int64_t>(i);
  }
  return stays;
}

/// Whether a ring holds what `steps`, and the other entries, keep in a buffer.
bool EntryProgress::fits(const RankSteps &rank, int buffer,
                         ArrayRef<TransferStep> steps, int64_t ring) {
  std::vector<std::vector<Stay>> entries{staysOf(rank, buffer, steps)};
  for (const std::vector<TransferStep> &other : rank.others)
    entries.push_back(staysOf(rank, buffer, other));
  return fitsRing(entries, ring);
}

/// The next larger ring of a buffer that holds what `steps` keep in it. False
/// if there is a copy for each microbatch.
bool EntryProgress::grow(RankSteps &rank, int index,
                         ArrayRef<TransferStep> steps) {
  BufferOp buffer = rank.runs->bufferAt(index);
  auto copies = static_cast<int64_t>(buffer.getSlots());
  if (copies >= rank.microbatches)
    return false;
  do
    ++copies;
  while (copies < rank.microbatches && !fits(rank, index, steps, copies));
  added += copies - static_cast<int64_t>(buffer.getSlots());
  buffer.setSlots(copies);
  buffer.setByMicrobatch(true);
  return true;
}

/// What a rank sends itself later than it is computed has to be kept until
/// then.
void EntryProgress::fitOwnSends(RankSteps &rank) {
  std::vector<TransferStep> steps = rank.runs->stepsOf(rank.entry);
  std::set<int> sent;
  for (const TransferStep &step : steps)
    if (step.part->kind == PartKind::Receive)
      sent.insert(step.part->reads.begin(), step.part->reads.end());
  for (int index : sent) {
    BufferOp buffer = rank.runs->bufferAt(index);
    auto copies = static_cast<int64_t>(buffer.getSlots());
    // The slot of a transfer is that of the stage that takes it.
    buffer.setByMicrobatch(copies > 1);
    if (!fits(rank, index, steps, copies))
      grow(rank, index, steps);
  }
}

/// The k-th send of a link meets its k-th receive; what a rank sends itself is
/// both.
void EntryProgress::pair() {
  std::map<std::pair<int64_t, bool>, std::vector<Place>> ends;
  partners.clear();
  for (auto [r, rank] : llvm::enumerate(ranks)) {
    partners.emplace_back(rank.steps.size());
    for (auto [i, step] : llvm::enumerate(rank.steps))
      if (step.part->isTransfer())
        ends[{step.part->tag, step.part->kind == PartKind::Send}].push_back(
            {r, static_cast<int>(i)});
  }
  for (const auto &[link, places] : ends) {
    auto others = ends.find({link.first, !link.second});
    for (auto [k, place] : llvm::enumerate(places)) {
      // An end without another one: the certificate finds it.
      bool found = others != ends.end() && k < others->second.size();
      partners[place.rank][place.step] = found ? others->second[k] : place;
    }
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Place EntryProgress::partnerOf(Place place) const {
  return partners[place.rank][place.step];
}

bool EntryProgress::isReady(const RankSteps &rank, int step) const {
  return llvm::all_of(rank.steps[step].after,
                      [&](int other) { return rank.done[other]; });
}

/// Begins the step at the head of its stream, and ends it if it can end.
bool EntryProgress::finish(Place place) {
  RankSteps &rank = ranks[place.rank];
  if (!isReady(rank, place.step))
    return false;
  rank.begun[place.step] = true;
  Place other = place;
  if (rank.steps[place.step].part->isTransfer())
    other = partnerOf(place);
  if (!ranks[other.rank].begun[other.step])
    return false;
  rank.done[place.step] = true;
  return true;
}

/// Issues as much as stream 0 lets the rank, and runs what was issued.
bool EntryProgress::advance(size_t index) {
  RankSteps &rank = ranks[index];
  bool moved = false;
  for (; rank.issued < static_cast<int>(rank.steps.size()); ++rank.issued) {
    int64_t stream = rank.steps[rank.issued].part->stream;
    if (stream == 0 && !finish({index, rank.issued}))
      break;
    if (stream > 0)
      rank.streams[stream].push_back(rank.issued);
    moved = true;
  }
  for (auto &[stream, list] : rank.streams)
    for (size_t &head = rank.heads[stream];
         head < list.size() && finish({index, list[head]}); ++head)
      moved = true;
  return moved;
}

bool EntryProgress::run() {
  for (RankSteps &rank : ranks) {
    rank.begun.assign(rank.steps.size(), false);
    rank.done.assign(rank.steps.size(), false);
    rank.issued = 0;
    rank.streams.clear();
    rank.heads.clear();
  }
  pair();
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      moved |= advance(rank);
  }
  return llvm::all_of(ranks, [](const RankSteps &rank) {
    return llvm::all_of(rank.done, [](bool done) { return done; });
  });
}

//===----------------------------------------------------------------------===//
// Standstill
//===----------------------------------------------------------------------===//

Place EntryProgress::awaitedBy(Place place) const {
  const RankSteps &rank = ranks[place.rank];
  int64_t stream = rank.steps[place.step].part->stream;
  if (rank.issued < place.step)
    return {place.rank, rank.issued};
  if (stream > 0) {
    int head = rank.streams.at(stream)[rank.heads.at(stream)];
    if (head != place.step)
      return {place.rank, head};
  }
  for (int other : rank.steps[place.step].after)
    if (!rank.done[other])
      return {place.rank, other};
  return partnerOf(place);
}

std::vector<int> EntryProgress::buffersBetween(const RankSteps &rank, int step,
                                               int other) const {
  const TransferStep &later = rank.steps[step], &earlier = rank.steps[other];
  std::vector<int> buffers;
  if (!earlier.part->isTransfer() || later.microbatch == earlier.microbatch)
    return buffers;
  for (int buffer : later.part->writes)
    if ((llvm::is_contained(earlier.part->reads, buffer) ||
         llvm::is_contained(earlier.part->writes, buffer)) &&
        rank.runs->copyFor(later, buffer) ==
            rank.runs->copyFor(earlier, buffer))
      buffers.push_back(buffer);
  return buffers;
}

LogicalResult EntryProgress::addCopy() {
  // 1. Some step that is not over, and from there into a circle.
  Place at;
  for (auto [r, rank] : llvm::enumerate(ranks))
    for (auto [i, done] : llvm::enumerate(rank.done))
      if (!done)
        at = {r, static_cast<int>(i)};
  std::vector<Place> path;
  for (; !llvm::is_contained(path, at); at = awaitedBy(at))
    path.push_back(at);
  path.erase(path.begin(), llvm::find(path, at));
  path.push_back(at);
  // 2. The smallest buffer that a step of the circle waits for.
  RankSteps *owner = nullptr;
  int smallest = -1;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    RankSteps &rank = ranks[path[i].rank];
    if (path[i].rank != path[i + 1].rank ||
        !llvm::is_contained(rank.steps[path[i].step].after, path[i + 1].step))
      continue;
    for (int buffer : buffersBetween(rank, path[i].step, path[i + 1].step)) {
      BufferOp one = rank.runs->bufferAt(buffer);
      if (static_cast<int64_t>(one.getSlots()) < rank.microbatches &&
          (!owner || bytesOf(one) < bytesOf(owner->runs->bufferAt(smallest)))) {
        owner = &rank;
        smallest = buffer;
      }
    }
  }
  if (owner) {
    grow(*owner, smallest, owner->steps);
    plan(*owner);
    return success();
  }
  // 3. None: the schedule's own waits have a circle.
  std::string text;
  for (Place place : path) {
    const TransferStep &step = ranks[place.rank].steps[place.step];
    text += (text.empty() ? "" : ", which waits for ") +
            ("rank " + std::to_string(ranks[place.rank].number) + ", '" +
             step.part->name + "' of microbatch " +
             std::to_string(step.microbatch));
  }
  return ranks.front().entry.emitOpError(
             "has ranks wait for each other for ever: ")
         << text;
}

LogicalResult EntryProgress::settle() {
  // Another entry may have added copies meanwhile.
  for (RankSteps &rank : ranks)
    plan(rank);
  while (!run())
    if (failed(addCopy()))
      return failure();
  return success();
}

namespace {

struct SettleTransfers : exec::impl::ExecSettleTransfersBase<SettleTransfers> {
  void runOnOperation() override {
    std::vector<std::pair<RoleOp, TransferRuns>> roles;
    for (auto role : getOperation().getOps<RoleOp>())
      if (role.getPipelineRank())
        roles.emplace_back(role, TransferRuns(role));
    std::map<std::string, EntryProgress> entries;
    for (auto &[role, runs] : roles)
      for (auto entry : role.getOps<EntryOp>())
        entries[entry.getName().str()].add(role, runs, entry);
    // A copy that one entry needs moves what the others keep in the ring.
    int64_t added = -1, before;
    do {
      before = added;
      added = 0;
      for (auto &[name, entry] : entries) {
        if (failed(entry.settle()))
          return signalPassFailure();
        added += entry.copies();
      }
    } while (added != before);
    copies += added;
  }
};

} // namespace
