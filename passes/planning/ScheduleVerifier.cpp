//===- ScheduleVerifier.cpp - Whether a schedule can run ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleVerifier.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// F, B and W as places in a table: BW stands in B's and in W's.
enum Part { F = 0, B = 1, W = 2 };

bool has(ActionKind kind, Part part) {
  switch (kind) {
  case ActionKind::F:
    return part == F;
  case ActionKind::B:
    return part == B;
  case ActionKind::W:
    return part == W;
  case ActionKind::BW:
    return part == B || part == W;
  }
  return false;
}

std::string describe(const PipelineShape &shape) {
  return std::to_string(shape.ranks) + " ranks, " +
         std::to_string(shape.chunks) + " chunks, " +
         std::to_string(shape.microbatches) + " microbatches, " +
         std::string(spelled(shape.placement));
}

class Verifier {
public:
  Verifier(const ScheduleProblem &problem, const Schedule &schedule)
      : problem(problem), shape(problem.shape), schedule(schedule) {}

  Status verify() {
    HOCKET_RETURN_IF_ERROR(checkShape());
    HOCKET_RETURN_IF_ERROR(checkActions());
    HOCKET_RETURN_IF_ERROR(checkOnce());
    HOCKET_RETURN_IF_ERROR(checkOrderOnRank());
    HOCKET_RETURN_IF_ERROR(checkChannels());
    HOCKET_RETURN_IF_ERROR(checkProgress());
    return checkMemory();
  }

private:
  Status checkShape() const;
  Status checkActions() const;
  Status checkOnce();
  Status checkOrderOnRank() const;
  Status checkChannels() const;
  Status checkProgress() const;
  Status checkMemory() const;

  Status refuse(const char *number, const std::string &reason) const {
    return invalidArgument(std::string(number) + ": " + reason);
  }
  std::string place(int64_t rank, size_t index) const {
    return placeOf(rank, index, schedule.ranks[rank][index]);
  }
  /// Index in its rank's list of the action that does `part` of (stage,
  /// microbatch). Of a schedule that has passed checkOnce.
  size_t indexOf(Part part, int64_t stage, int64_t microbatch) const {
    return indices[part][stage * shape.microbatches + microbatch];
  }
  /// The (part, stage) that an action needs first, of its own microbatch.
  std::vector<std::pair<Part, int64_t>> needs(int64_t rank,
                                              const Action &action) const;
  /// The rank and index of something the action at next[rank] waits for;
  /// false if it waits for nothing.
  bool blocker(const std::vector<size_t> &next, int64_t rank,
               std::pair<int64_t, size_t> &found) const;
  Status explainDeadlock(const std::vector<size_t> &next, int64_t rank) const;

  const ScheduleProblem &problem;
  const PipelineShape &shape;
  const Schedule &schedule;
  std::vector<size_t> indices[3];
};

Status Verifier::checkShape() const {
  if (schedule.shape != shape)
    return refuse("Q20", "expected a schedule of " + describe(shape) +
                             ", found one of " + describe(schedule.shape));
  if (schedule.ranks.size() != static_cast<size_t>(shape.ranks))
    return refuse("Q20", "expected the lists of " +
                             std::to_string(shape.ranks) + " ranks, found " +
                             std::to_string(schedule.ranks.size()));
  return okStatus();
}

Status Verifier::checkActions() const {
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      if (action.chunk < 0 || action.chunk >= shape.chunks)
        return refuse("Q21", place(rank, i) + ": there is no chunk " +
                                 std::to_string(action.chunk));
      if (action.microbatch < 0 || action.microbatch >= shape.microbatches)
        return refuse("Q21", place(rank, i) + ": there is no microbatch " +
                                 std::to_string(action.microbatch));
      bool split = action.kind == ActionKind::B || action.kind == ActionKind::W;
      if (split && !problem.splitWeight)
        return refuse("Q21", place(rank, i) + ": the problem does not split "
                                              "the backward; expected BW");
    }
  return okStatus();
}

Status Verifier::checkOnce() {
  constexpr size_t none = SIZE_MAX;
  for (Part part : {F, B, W})
    indices[part].assign(shape.cells(), none);
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      int64_t stage = shape.stageOf(rank, action.chunk);
      for (Part part : {F, B, W}) {
        size_t &index =
            indices[part][stage * shape.microbatches + action.microbatch];
        if (!has(action.kind, part))
          continue;
        if (index != none)
          return refuse("Q22", place(rank, i) + " does again what " +
                                   place(rank, index) + " has done");
        index = i;
      }
    }
  for (int64_t stage = 0; stage < shape.stages(); ++stage)
    for (int64_t m = 0; m < shape.microbatches; ++m)
      for (Part part : {F, B, W})
        if (indexOf(part, stage, m) == none)
          return refuse("Q22", "rank " + std::to_string(shape.rankOf(stage)) +
                                   " never runs " +
                                   std::string(1, "FBW"[part]) + " of chunk " +
                                   std::to_string(shape.chunkOf(stage)) +
                                   ", microbatch " + std::to_string(m));
  return okStatus();
}

Status Verifier::checkOrderOnRank() const {
  for (int64_t stage = 0; stage < shape.stages(); ++stage)
    for (int64_t m = 0; m < shape.microbatches; ++m) {
      int64_t rank = shape.rankOf(stage);
      size_t f = indexOf(F, stage, m), b = indexOf(B, stage, m),
             w = indexOf(W, stage, m);
      if (b < f)
        return refuse("Q23",
                      place(rank, b) + " comes before " + place(rank, f));
      if (w < b)
        return refuse("Q23",
                      place(rank, w) + " comes before " + place(rank, b));
    }
  return okStatus();
}

/// A message between two ranks, by what makes it and what takes it.
struct Message {
  size_t sent = 0, taken = 0; ///< Indices in the lists of the two ranks.
  int64_t rank = 0, receiver = 0;
};

Status Verifier::checkChannels() const {
  std::map<std::tuple<int64_t, int64_t, Part>, std::vector<Message>> channels;
  for (int64_t stage = 0; stage + 1 < shape.stages(); ++stage)
    for (int64_t m = 0; m < shape.microbatches; ++m) {
      int64_t low = shape.rankOf(stage), high = shape.rankOf(stage + 1);
      if (low == high)
        continue;
      channels[{low, high, F}].push_back(
          {indexOf(F, stage, m), indexOf(F, stage + 1, m), low, high});
      channels[{high, low, B}].push_back(
          {indexOf(B, stage + 1, m), indexOf(B, stage, m), high, low});
    }
  for (auto &[key, messages] : channels) {
    std::sort(
        messages.begin(), messages.end(),
        [](const Message &a, const Message &b) { return a.sent < b.sent; });
    for (size_t i = 1; i < messages.size(); ++i) {
      const Message &before = messages[i - 1], &after = messages[i];
      if (before.taken > after.taken)
        return refuse(
            "Q24", place(before.receiver, after.taken) + " comes before " +
                       place(before.receiver, before.taken) +
                       ", but what they need is sent the other way round, by " +
                       place(before.rank, after.sent) + " after " +
                       place(before.rank, before.sent));
    }
  }
  return okStatus();
}

std::vector<std::pair<Part, int64_t>>
Verifier::needs(int64_t rank, const Action &action) const {
  int64_t stage = shape.stageOf(rank, action.chunk);
  std::vector<std::pair<Part, int64_t>> found;
  if (action.kind == ActionKind::F && stage > 0)
    found.push_back({F, stage - 1});
  if (action.kind == ActionKind::B || action.kind == ActionKind::BW) {
    found.push_back({F, stage});
    if (stage + 1 < shape.stages())
      found.push_back({B, stage + 1});
  }
  if (action.kind == ActionKind::W)
    found.push_back({B, stage});
  return found;
}

bool Verifier::blocker(const std::vector<size_t> &next, int64_t rank,
                       std::pair<int64_t, size_t> &found) const {
  const Action &action = schedule.ranks[rank][next[rank]];
  for (auto [part, stage] : needs(rank, action)) {
    int64_t owner = shape.rankOf(stage);
    size_t index = indexOf(part, stage, action.microbatch);
    if (index >= next[owner]) {
      found = {owner, index};
      return true;
    }
  }
  return false;
}

/// Runs what can run until nothing can.
Status Verifier::checkProgress() const {
  std::vector<size_t> next(shape.ranks, 0);
  std::pair<int64_t, size_t> found;
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t rank = 0; rank < shape.ranks; ++rank)
      while (next[rank] < schedule.ranks[rank].size() &&
             !blocker(next, rank, found)) {
        ++next[rank];
        progress = true;
      }
  }
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    if (next[rank] < schedule.ranks[rank].size())
      return explainDeadlock(next, rank);
  return okStatus();
}

/// Follows who waits for whom until a rank comes up again, and tells that
/// circle.
Status Verifier::explainDeadlock(const std::vector<size_t> &next,
                                 int64_t rank) const {
  std::pair<int64_t, size_t> found;
  std::vector<bool> seen(shape.ranks, false);
  while (!seen[rank]) {
    seen[rank] = true;
    blocker(next, rank, found);
    rank = found.first;
  }
  std::string text = "the ranks wait for each other for ever: ";
  int64_t first = rank;
  do {
    blocker(next, rank, found);
    text += place(rank, next[rank]) + " waits for " +
            place(found.first, found.second);
    rank = found.first;
    text += rank == first ? "" : ", which has to wait: ";
  } while (rank != first);
  return refuse("Q25", text);
}

Status Verifier::checkMemory() const {
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    int64_t live = 0;
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      const ChunkCost &cost = problem.cost(rank, action.chunk);
      if (action.kind == ActionKind::F)
        live += cost.memory;
      if (action.kind == ActionKind::B)
        live += cost.kept - cost.memory;
      if (action.kind == ActionKind::W)
        live -= cost.kept;
      if (action.kind == ActionKind::BW)
        live -= cost.memory;
      if (live > problem.caps[rank])
        return refuse("Q26", place(rank, i) + ": live chunks take " +
                                 std::to_string(live) + ", and the cap is " +
                                 std::to_string(problem.caps[rank]));
    }
  }
  return okStatus();
}

} // namespace

Status hocket::planning::verifySchedule(const ScheduleProblem &problem,
                                        const Schedule &schedule) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  return Verifier(problem, schedule).verify();
}
