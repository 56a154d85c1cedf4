//===- RankActivity.cpp - What a rank is doing ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/RankActivity.h"

#include <ctime>

using namespace hocket::comm;

RankActivity::RankActivity() : lanes(new Lane[1]) {}

void RankActivity::setLanes(uint32_t count) {
  std::lock_guard lock(mutex);
  if (count <= laneCount)
    return;
  lanes.reset(new Lane[count]);
  laneCount = count;
}

void RankActivity::setDescriber(Describer next) {
  std::lock_guard lock(mutex);
  describer = std::move(next);
}

void RankActivity::beginWait(uint32_t lane, std::string wait,
                             std::vector<unsigned> ranks) {
  std::lock_guard lock(mutex);
  Lane &l = lanes[lane];
  LaneState now = l.state.load(std::memory_order_relaxed);
  if (now != LaneState::Waiting)
    l.before = now;
  l.wait = std::move(wait);
  l.waitsFor = std::move(ranks);
  l.state.store(LaneState::Waiting, std::memory_order_relaxed);
}

void RankActivity::endWait(uint32_t lane) {
  std::lock_guard lock(mutex);
  Lane &l = lanes[lane];
  l.state.store(l.before, std::memory_order_relaxed);
  l.wait.clear();
  l.waitsFor.clear();
  beat(lane);
}

void RankActivity::beginDeviceWait(uint64_t position, std::string wait,
                                   std::vector<unsigned> ranks) {
  std::lock_guard lock(mutex);
  deviceWait = {position, std::move(wait), std::move(ranks)};
}

void RankActivity::endDeviceWait() {
  std::lock_guard lock(mutex);
  deviceWait.reset();
  ++deviceBeats;
}

void RankActivity::noteThread(uint32_t lane) {
  clockid_t clock{};
  if (::pthread_getcpuclockid(::pthread_self(), &clock) == 0)
    lanes[lane].clock.store(clock, std::memory_order_relaxed);
  lanes[lane].thread.store(::pthread_self(), std::memory_order_relaxed);
}

/// 0 for a thread that is over.
static double cpuSecondsOf(clockid_t clock) {
  timespec used{};
  if (::clock_gettime(clock, &used) != 0)
    return 0;
  return double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
}

/// Which of two lanes says more about the rank.
static int weight(LaneState state) {
  switch (state) {
  case LaneState::Running:
    return 3;
  case LaneState::Patient:
    return 2;
  case LaneState::Waiting:
    return 1;
  case LaneState::Idle:
    return 0;
  }
  return 0;
}

RankReport RankActivity::report() const {
  std::lock_guard lock(mutex);
  RankReport report;
  uint64_t position = nowhere;
  for (uint32_t i = 0; i < laneCount; ++i) {
    const Lane &lane = lanes[i];
    report.beats += lane.beats.load(std::memory_order_relaxed);
    LaneState state = lane.state.load(std::memory_order_relaxed);
    if (state == LaneState::Running)
      report.cpuSeconds +=
          cpuSecondsOf(lane.clock.load(std::memory_order_relaxed));
    if (i > 0 && weight(state) <= weight(report.state))
      continue;
    report.state = state;
    position = lane.position.load(std::memory_order_relaxed);
    report.wait = lane.wait;
    report.waitsFor = lane.waitsFor;
  }
  report.beats += deviceBeats;
  if (deviceWait && report.state != LaneState::Patient) {
    report.state = LaneState::Waiting;
    position = deviceWait->position;
    report.wait = deviceWait->wait;
    report.waitsFor = deviceWait->waitsFor;
  }
  if (!phase.empty() && report.state != LaneState::Running)
    report.doing = phase;
  else if (position != nowhere && describer)
    report.doing = describer(position);
  return report;
}

PatientScope::PatientScope(RankActivity &activity, std::string phase)
    : activity(activity) {
  std::lock_guard lock(activity.mutex);
  activity.phase = std::move(phase);
  before = activity.lanes[0].state.exchange(LaneState::Patient,
                                            std::memory_order_relaxed);
}

PatientScope::~PatientScope() {
  std::lock_guard lock(activity.mutex);
  activity.phase.clear();
  activity.lanes[0].state.store(before, std::memory_order_relaxed);
  activity.beat();
}
