//===- LocalState.cpp - What the ranks of a local world share -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalState.h"

#include "base/Format.h"

using namespace hocket;
using namespace hocket::comm;

LocalState::LocalState(unsigned ranks, WaitLimits limits)
    : limits(limits), clocks(ranks), ended(ranks), endSeen(ranks) {
  for (unsigned rank = 0; rank < ranks; ++rank)
    activities.push_back(std::make_unique<RankActivity>());
}

void LocalState::fail(std::optional<unsigned> rank, Status status,
                      std::string reason) {
  std::lock_guard lock(mutex);
  if (hasFailed.load(std::memory_order_relaxed))
    return;
  first = {rank, std::move(status)};
  why = std::move(reason);
  // Who sleeps looks at this within a tenth of a second.
  hasFailed.store(true, std::memory_order_release);
}

LocalWorld::Failure LocalState::failure() const {
  std::lock_guard lock(mutex);
  return first;
}

std::string LocalState::reason() const {
  std::lock_guard lock(mutex);
  return why;
}

void LocalState::end(unsigned rank) {
  ended[rank].store(true, std::memory_order_release);
}

void LocalState::watch() {
  std::lock_guard lock(watchMutex);
  auto now = std::chrono::steady_clock::now();
  if (failed() || now - watched < std::chrono::milliseconds(90))
    return;
  watched = now;
  std::vector<RankState> ranks(activities.size());
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    RankState &state = ranks[rank];
    if (ended[rank].load(std::memory_order_acquire)) {
      if (!endSeen[rank])
        endSeen[rank] = now;
      state.endedSeconds =
          std::chrono::duration<double>(now - *endSeen[rank]).count();
    }
    state.report = activities[rank]->report();
    state.stalledSeconds = clocks[rank].update(state.report);
  }
  if (auto verdict = judgeRanks(ranks, limits))
    fail(verdict->rank, unavailable(verdict->text), verdict->text);
}
