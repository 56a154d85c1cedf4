//===- DeviceTimer.cpp - How long operations of a device take -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/calibrate/DeviceTimer.h"

#include <algorithm>
#include <chrono>
#include <vector>

using namespace hocket;
using namespace hocket::planning;

static constexpr double mostRounds = 5, mostCalls = 10000;

StatusOr<double> DeviceTimer::mean(double value) {
  auto sum = float(value);
  HOCKET_RETURN_IF_ERROR(world.allReduce(&sum, &sum, 1, kernels::DType::F32,
                                         comm::Reduction::Sum));
  return double(sum) / world.size();
}

StatusOr<DeviceTimer::Round> DeviceTimer::round(const Work &work,
                                                int64_t calls) {
  using Clock = std::chrono::steady_clock;
  auto since = [&](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count() /
           double(calls);
  };
  HOCKET_RETURN_IF_ERROR(world.barrier());
  Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < calls; ++i)
    HOCKET_RETURN_IF_ERROR(work());
  Round round;
  round.returned = since(start);
  HOCKET_RETURN_IF_ERROR(device.synchronize());
  round.done = since(start);
  return round;
}

StatusOr<DeviceTimer::Round> DeviceTimer::measure(const Work &work) {
  HOCKET_RETURN_IF_ERROR(round(work, 1).status());
  HOCKET_ASSIGN_OR_RETURN(Round once, round(work, 1));
  // All ranks make as many calls: they may be collectives.
  HOCKET_ASSIGN_OR_RETURN(double taken, mean(once.done));
  double fit = seconds / std::max(taken, 1e-9);
  auto rounds = size_t(std::clamp(fit, 1.0, mostRounds));
  auto calls = int64_t(std::clamp(fit / double(rounds), 1.0, mostCalls));
  Round least = once;
  for (size_t i = 0; i < rounds; ++i) {
    HOCKET_ASSIGN_OR_RETURN(Round next, round(work, calls));
    least.returned = std::min(least.returned, next.returned);
    least.done = std::min(least.done, next.done);
  }
  return least;
}

StatusOr<double> DeviceTimer::untilDone(const Work &work) {
  HOCKET_ASSIGN_OR_RETURN(Round round, measure(work));
  return mean(round.done);
}

StatusOr<double> DeviceTimer::untilReturned(const Work &work) {
  HOCKET_ASSIGN_OR_RETURN(Round round, measure(work));
  return mean(round.returned);
}
