//===- HangWatch.cpp - Finds the rank that keeps others waiting -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/HangWatch.h"

#include "base/Format.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace hocket;
using namespace hocket::comm;

WaitLimits WaitLimits::fromEnvironment() {
  WaitLimits limits;
  const char *text = std::getenv("HOCKET_HANG_SECONDS");
  char *end = nullptr;
  double seconds = text ? std::strtod(text, &end) : 0;
  if (text && end != text && *end == '\0' && std::isfinite(seconds) &&
      seconds >= 0)
    limits.hangSeconds = seconds;
  return limits;
}

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

static std::string doingText(const RankReport &report) {
  return report.doing.empty() ? "outside of the program" : "in " + report.doing;
}

static bool isAwaited(const std::vector<RankState> &ranks, unsigned rank) {
  for (const RankState &other : ranks)
    if (other.report.state == LaneState::Waiting &&
        std::count(other.report.waitsFor.begin(), other.report.waitsFor.end(),
                   rank))
      return true;
  return false;
}

static std::string deadlockText(const std::vector<RankState> &ranks) {
  std::string text = "no rank can go on:";
  size_t named = 0;
  for (unsigned rank = 0; rank < ranks.size() && named < 8; ++rank)
    if (ranks[rank].report.state == LaneState::Waiting)
      text += formatText("%s rank %u is %s, %s", named++ ? ";" : "", rank,
                         doingText(ranks[rank].report).c_str(),
                         ranks[rank].report.wait.c_str());
  return text;
}

std::optional<Verdict> comm::judgeRanks(const std::vector<RankState> &ranks,
                                        const WaitLimits &limits) {
  if (limits.hangSeconds <= 0)
    return std::nullopt;
  bool waiting = false, allStall = true;
  for (const RankState &rank : ranks)
    waiting |= rank.report.state == LaneState::Waiting;
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    const RankState &state = ranks[rank];
    if (state.endedSeconds) {
      // Who waited when it ended has had time to see that it came.
      if (*state.endedSeconds >= 2 && isAwaited(ranks, rank))
        return Verdict{rank, formatText("rank %u has ended", rank)};
      continue;
    }
    if (state.silentSeconds >= limits.hangSeconds)
      return Verdict{rank, formatText("rank %u has given no sign of life for "
                                      "%.0f s; last it was ",
                                      rank, state.silentSeconds) +
                               doingText(state.report)};
    bool runs = state.report.state == LaneState::Running;
    bool stalls = state.stalledSeconds >= limits.hangSeconds;
    if (waiting && runs && stalls)
      return Verdict{rank, formatText("rank %u hangs: for %.0f s it has been ",
                                      rank, state.stalledSeconds) +
                               doingText(state.report)};
    allStall &= stalls && !runs && state.report.state != LaneState::Patient;
  }
  if (waiting && allStall)
    return Verdict{std::nullopt, deadlockText(ranks)};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

static double secondsBetween(std::chrono::steady_clock::time_point from,
                             std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double StallClock::update(const RankReport &report) {
  Clock::time_point now = Clock::now();
  double spent = report.cpuSeconds - cpuSeconds;
  bool computes = report.state == LaneState::Running &&
                  spent > 0.01 * secondsBetween(asked, now);
  if (beats != report.beats || computes)
    changed = now;
  beats = report.beats;
  cpuSeconds = report.cpuSeconds;
  asked = now;
  return secondsBetween(changed, now);
}
