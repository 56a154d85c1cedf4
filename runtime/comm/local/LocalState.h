//===- LocalState.h - What the ranks of a local world share -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For the sources beside it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_LOCAL_LOCALSTATE_H
#define HOCKET_RUNTIME_COMM_LOCAL_LOCALSTATE_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/comm/interfaces/FailureText.h"
#include "runtime/comm/local/LocalWorld.h"

#include <condition_variable>

namespace hocket::comm {

/// Failure and activity of all ranks. Any thread.
class LocalState {
public:
  LocalState(unsigned ranks, WaitLimits limits);

  RankActivity &activity(unsigned rank) { return *activities[rank]; }

  bool failed() const { return hasFailed.load(std::memory_order_acquire); }
  /// Records a rank's error; the first one counts.
  void fail(std::optional<unsigned> rank, Status status, std::string why);
  LocalWorld::Failure failure() const;
  /// "rank 3 failed: ..."
  std::string reason() const;

  void end(unsigned rank);

  /// Looks for a rank that hangs, at most ten times a second.
  void watch();

private:
  mutable std::mutex mutex;
  std::atomic<bool> hasFailed{false};
  LocalWorld::Failure first;
  std::string why;

  std::mutex watchMutex;
  const WaitLimits limits;
  std::vector<std::unique_ptr<RankActivity>> activities;
  std::vector<StallClock> clocks;
  std::vector<std::atomic<bool>> ended;
  std::vector<std::optional<std::chrono::steady_clock::time_point>> endSeen;
  std::chrono::steady_clock::time_point watched;
};

/// A thread of one rank that waits for others.
struct LocalWaiter {
  LocalState &state;
  unsigned rank = 0; ///< In the world.
  uint32_t lane = 0;
};

/// What a wait is about, asked for only if it lasts.
struct WaitSubject {
  std::string text;            ///< "all_reduce of group 'tp' waits for rank 3"
  std::vector<unsigned> ranks; ///< That have not come.
};

/// Waits on `changed` until `done()`; Unavailable when the world has failed
/// before. `lock` holds the mutex that guards what `done` and `subject` read,
/// and holds it again on return.
template <typename Done, typename Subject>
Status
waitLocally(const LocalWaiter &waiter, std::unique_lock<std::mutex> &lock,
            std::condition_variable &changed, Done &&done, Subject &&subject) {
  constexpr auto slice = std::chrono::milliseconds(100);
  // Most waits end here, and nobody hears of them.
  if (!waiter.state.failed() && changed.wait_for(lock, slice, done))
    return okStatus();
  RankActivity &activity = waiter.state.activity(waiter.rank);
  Status result;
  while (!done()) {
    WaitSubject now = subject();
    if (waiter.state.failed()) {
      result = waitError(waiter.state.reason(), now.text);
      break;
    }
    activity.beginWait(waiter.lane, std::move(now.text), std::move(now.ranks));
    lock.unlock();
    waiter.state.watch();
    lock.lock();
    if (!waiter.state.failed())
      changed.wait_for(lock, slice, done);
  }
  activity.endWait(waiter.lane);
  return result;
}

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_LOCAL_LOCALSTATE_H
