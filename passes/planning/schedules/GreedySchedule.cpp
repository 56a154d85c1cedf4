//===- GreedySchedule.cpp - One greedy schedule ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/schedules/GreedySchedule.h"

#include "passes/planning/schedules/ScheduleBuilder.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// What would run next on a rank.
struct Choice {
  double start = 0;
  Action action;
};

/// (sender, receiver, whether of gradients)
using Channel = std::tuple<int64_t, int64_t, bool>;

struct RankState {
  double free = 0;
  int64_t used = 0; ///< Bytes reserved.
  /// Of every chunk, the next microbatch to run.
  std::vector<int64_t> forward, backward, weight;
  int64_t forwards = 0; ///< How many have run, of all chunks.
};

class GreedyRun {
public:
  GreedyRun(const ScheduleProblem &problem, const GreedyPolicy &policy);
  std::optional<Schedule> run();

private:
  static constexpr double kNever = -1;

  int64_t cell(int64_t stage, int64_t m) const {
    return stage * shape.microbatches + m;
  }
  int64_t reserve(int64_t rank, int64_t chunk) const {
    const ChunkCost &cost = problem.cost(rank, chunk);
    return std::max(cost.memory, cost.kept);
  }
  /// The chunk whose forward the policy's order has next.
  int64_t chunkInOrder(int64_t forwards) const;
  bool admits(int64_t rank, int64_t chunk) const;
  /// Whether (chunk, microbatch) is next in its channel from `stage`'s rank,
  /// and when it is there.
  std::optional<double> arrival(const std::vector<double> &ends, int64_t stage,
                                int64_t rank, const Action &action) const;
  std::optional<Choice> forwardOf(int64_t rank, int64_t chunk) const;
  std::optional<Choice> backwardOf(int64_t rank, int64_t chunk) const;
  std::optional<Choice> weightOf(int64_t rank) const;
  std::optional<Choice> choose(int64_t rank) const;
  void commit(int64_t rank, const Choice &choice);
  void hand(int64_t rank, int64_t stage, const Action &action, bool gradient);
  void take(int64_t rank, int64_t stage, bool gradient);
  void account(int64_t rank, const Action &action);
  void update(int64_t rank);

  const ScheduleProblem &problem;
  const PipelineShape &shape;
  GreedyPolicy policy;
  Schedule schedule;
  std::vector<RankState> states;
  std::vector<double> forwardEnd, backwardEnd; ///< By cell.
  std::map<Channel, std::deque<std::pair<int32_t, int32_t>>> channels;
  std::vector<std::optional<Choice>> choices; ///< By rank.
  std::set<std::pair<double, int64_t>> queue; ///< (start, rank) of choices.
};

GreedyRun::GreedyRun(const ScheduleProblem &problem, const GreedyPolicy &policy)
    : problem(problem), shape(problem.shape), policy(policy),
      schedule(emptySchedule("list", shape)), states(shape.ranks),
      forwardEnd(shape.cells(), kNever), backwardEnd(shape.cells(), kNever),
      choices(shape.ranks) {
  for (RankState &state : states)
    for (auto *next : {&state.forward, &state.backward, &state.weight})
      next->assign(shape.chunks, 0);
}

int64_t GreedyRun::chunkInOrder(int64_t forwards) const {
  int64_t whole = policy.group * shape.chunks;
  int64_t low = forwards / whole * policy.group;
  int64_t size = std::min(policy.group, shape.microbatches - low);
  return forwards % whole / size;
}

bool GreedyRun::admits(int64_t rank, int64_t chunk) const {
  const RankState &state = states[rank];
  const auto &done = problem.splitWeight ? state.weight : state.backward;
  int64_t oldest = *std::min_element(done.begin(), done.end());
  int64_t microbatch = state.forward[chunk];
  if (policy.ahead > 0 && microbatch >= oldest + policy.ahead)
    return false;
  int64_t room = problem.caps[rank] - state.used - reserve(rank, chunk);
  if (microbatch > oldest)
    for (int64_t other = 0; other < shape.chunks; ++other)
      if (state.forward[other] <= oldest)
        room -= reserve(rank, other);
  return room >= 0;
}

std::optional<double> GreedyRun::arrival(const std::vector<double> &ends,
                                         int64_t stage, int64_t rank,
                                         const Action &action) const {
  double end = ends[cell(stage, action.microbatch)];
  int64_t sender = shape.rankOf(stage);
  if (end == kNever || sender == rank)
    return end == kNever ? std::nullopt : std::optional<double>(end);
  auto found = channels.find({sender, rank, action.kind != ActionKind::F});
  if (found == channels.end() || found->second.empty() ||
      found->second.front() != std::pair(action.chunk, action.microbatch))
    return std::nullopt;
  return end + problem.transfer;
}

std::optional<Choice> GreedyRun::forwardOf(int64_t rank, int64_t chunk) const {
  const RankState &state = states[rank];
  int64_t m = state.forward[chunk];
  bool outOfOrder = policy.group > 0 && m < shape.microbatches &&
                    chunkInOrder(state.forwards) != chunk;
  if (m == shape.microbatches || outOfOrder || !admits(rank, chunk))
    return std::nullopt;
  Action action{ActionKind::F, static_cast<int32_t>(chunk),
                static_cast<int32_t>(m)};
  int64_t stage = shape.stageOf(rank, chunk);
  std::optional<double> ready =
      stage == 0 ? 0 : arrival(forwardEnd, stage - 1, rank, action);
  if (!ready)
    return std::nullopt;
  return Choice{std::max(state.free, *ready), action};
}

std::optional<Choice> GreedyRun::backwardOf(int64_t rank, int64_t chunk) const {
  const RankState &state = states[rank];
  int64_t m = state.backward[chunk], stage = shape.stageOf(rank, chunk);
  if (m == state.forward[chunk])
    return std::nullopt;
  Action action{problem.splitWeight ? ActionKind::B : ActionKind::BW,
                static_cast<int32_t>(chunk), static_cast<int32_t>(m)};
  std::optional<double> ready =
      stage + 1 == shape.stages()
          ? arrival(forwardEnd, stage, rank, action)
          : arrival(backwardEnd, stage + 1, rank, action);
  if (!ready)
    return std::nullopt;
  return Choice{std::max(state.free, *ready), action};
}

/// The weight gradient of the oldest microbatch, if any waits.
std::optional<Choice> GreedyRun::weightOf(int64_t rank) const {
  const RankState &state = states[rank];
  std::optional<Choice> best;
  for (int64_t chunk = shape.chunks; problem.splitWeight && chunk-- > 0;) {
    int64_t m = state.weight[chunk];
    if (m < state.backward[chunk] && (!best || m < best->action.microbatch))
      best = Choice{state.free,
                    {ActionKind::W, static_cast<int32_t>(chunk),
                     static_cast<int32_t>(m)}};
  }
  return best;
}

std::optional<Choice> GreedyRun::choose(int64_t rank) const {
  std::optional<Choice> best;
  // From the least preferred to the most; what starts earlier wins.
  for (int64_t i = 0; i < shape.chunks; ++i) {
    int64_t chunk = policy.deepFirst ? i : shape.chunks - 1 - i;
    std::optional<Choice> choice = forwardOf(rank, chunk);
    if (choice && (!best || choice->start <= best->start))
      best = choice;
  }
  for (int64_t chunk = shape.chunks; chunk-- > 0;) {
    std::optional<Choice> choice = backwardOf(rank, chunk);
    if (!choice)
      continue;
    bool older = !best || best->action.kind == ActionKind::F ||
                 choice->action.microbatch <= best->action.microbatch;
    if (!best || choice->start < best->start ||
        (choice->start == best->start && older))
      best = choice;
  }
  std::optional<Choice> weight = weightOf(rank);
  if (!weight)
    return best;
  double enough = weight->start +
                  policy.patience * durationOf(problem, rank, weight->action);
  bool fits = !best || (best->start > weight->start && best->start >= enough);
  return fits ? weight : best;
}

/// Puts what `action` makes into the channel to the rank of `stage`.
void GreedyRun::hand(int64_t rank, int64_t stage, const Action &action,
                     bool gradient) {
  if (stage < 0 || stage >= shape.stages())
    return;
  int64_t receiver = shape.rankOf(stage);
  if (receiver != rank)
    channels[{rank, receiver, gradient}].push_back(
        {static_cast<int32_t>(shape.chunkOf(stage)), action.microbatch});
}

/// Takes the next message of the channel from the rank of `stage`.
void GreedyRun::take(int64_t rank, int64_t stage, bool gradient) {
  if (stage < 0 || stage >= shape.stages())
    return;
  int64_t sender = shape.rankOf(stage);
  if (sender != rank)
    channels[{sender, rank, gradient}].pop_front();
}

/// Moves the rank's counters and memory past `action`.
void GreedyRun::account(int64_t rank, const Action &action) {
  RankState &state = states[rank];
  int64_t held = reserve(rank, action.chunk);
  switch (action.kind) {
  case ActionKind::F:
    ++state.forward[action.chunk];
    ++state.forwards;
    state.used += held;
    break;
  case ActionKind::B:
    ++state.backward[action.chunk];
    state.used += problem.cost(rank, action.chunk).kept - held;
    break;
  case ActionKind::W:
    ++state.weight[action.chunk];
    state.used -= problem.cost(rank, action.chunk).kept;
    break;
  case ActionKind::BW:
    ++state.backward[action.chunk];
    state.used -= held;
    break;
  }
}

void GreedyRun::commit(int64_t rank, const Choice &choice) {
  const Action &action = choice.action;
  int64_t stage = shape.stageOf(rank, action.chunk);
  schedule.ranks[rank].push_back(action);
  account(rank, action);
  double end = choice.start + durationOf(problem, rank, action);
  states[rank].free = end;
  if (action.kind != ActionKind::W) {
    bool gradient = action.kind != ActionKind::F;
    int64_t from = gradient ? stage + 1 : stage - 1;
    int64_t to = gradient ? stage - 1 : stage + 1;
    (gradient ? backwardEnd : forwardEnd)[cell(stage, action.microbatch)] = end;
    take(rank, from, gradient);
    hand(rank, to, action, gradient);
    if (to >= 0 && to < shape.stages() && shape.rankOf(to) != rank)
      update(shape.rankOf(to));
  }
  update(rank);
}

void GreedyRun::update(int64_t rank) {
  if (choices[rank])
    queue.erase({choices[rank]->start, rank});
  choices[rank] = choose(rank);
  if (choices[rank])
    queue.insert({choices[rank]->start, rank});
}

std::optional<Schedule> GreedyRun::run() {
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    update(rank);
  int64_t left = shape.cells() * (problem.splitWeight ? 3 : 2);
  for (; left > 0 && !queue.empty(); --left) {
    int64_t rank = queue.begin()->second;
    commit(rank, Choice(*choices[rank]));
  }
  if (left > 0)
    return std::nullopt;
  return std::move(schedule);
}

} // namespace

int64_t hocket::planning::leastMemory(const ScheduleProblem &problem,
                                      int64_t rank) {
  int64_t least = 0;
  for (int64_t chunk = 0; chunk < problem.shape.chunks; ++chunk) {
    const ChunkCost &cost = problem.cost(rank, chunk);
    least += std::max(cost.memory, cost.kept);
  }
  return least;
}

std::optional<Schedule>
hocket::planning::runGreedy(const ScheduleProblem &problem,
                            const GreedyPolicy &policy) {
  return GreedyRun(problem, policy).run();
}
