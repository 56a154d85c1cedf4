//===- HangWatch.h - Finds the rank that keeps others waiting ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Somebody has waited for long. Is the rank it waits for slow, or will it
/// never come? A rank *stalls* while its count of beats stays as it is and the
/// threads that run its instructions do not compute. The verdict, once `limit`
/// seconds have passed:
///
///   a rank that runs an instruction and stalls            hangs
///   a rank that has given no sign of life                 is gone
///   a rank that ended two seconds ago and is waited for   has ended
///   every rank waits or is idle, and all stall            a deadlock
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_INTERFACES_HANGWATCH_H
#define HOCKET_RUNTIME_COMM_INTERFACES_HANGWATCH_H

#include "runtime/comm/interfaces/RankActivity.h"

#include <chrono>
#include <optional>

namespace hocket::comm {

/// How patient ranks are with each other.
struct WaitLimits {
  /// Seconds without progress after which a rank counts as hanging; 0: never.
  double hangSeconds = 7;
  /// hangSeconds from the environment variable HOCKET_HANG_SECONDS, if that is
  /// a number of at least 0.
  static WaitLimits fromEnvironment();
};

/// What is known of one rank.
struct RankState {
  RankReport report;
  double stalledSeconds = 0;
  double silentSeconds = 0; ///< Without any sign of life (other processes).
  /// Since it has said that it needs no communicator any more.
  std::optional<double> endedSeconds;
};

/// Whose fault it is, and why: "rank 3 hangs: for 7 s it has been in ...".
struct Verdict {
  std::optional<unsigned> rank; ///< None for a deadlock.
  std::string text;
};

/// Nothing if all may still go well.
std::optional<Verdict> judgeRanks(const std::vector<RankState> &ranks,
                                  const WaitLimits &limits);

/// Measures for how long reports have not changed.
class StallClock {
public:
  /// Seconds since `report.beats` changed or, where the rank runs, since its
  /// threads computed for a hundredth of the time between two calls. Call it at
  /// least once a second while it matters.
  double update(const RankReport &report);

private:
  using Clock = std::chrono::steady_clock;
  std::optional<uint64_t> beats;
  double cpuSeconds = 0;
  Clock::time_point changed, asked;
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_INTERFACES_HANGWATCH_H
