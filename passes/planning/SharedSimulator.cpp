//===- SharedSimulator.cpp - Ranks that share processors ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/SharedSimulator.h"

#include "passes/planning/InputTimes.h"
#include "passes/planning/ScheduleVerifier.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

namespace {

class SharedRun {
public:
  SharedRun(const ScheduleProblem &problem, const Schedule &schedule,
            const ProcessorShare &share, const std::vector<double> &tails)
      : problem(problem), schedule(schedule), share(share), tails(tails),
        inputs(problem), places(schedule.ranks.size()),
        ranks(schedule.ranks.size()) {}

  std::vector<SharedRank> run();

private:
  struct Place {
    size_t next = 0; ///< In the list; at its end: the tail.
    bool works = false;
    bool isDone = false;
    double work = 0, left = 0; ///< Of what it does, at its own speed.
    double since = 0;          ///< When that began.
  };

  /// The next thing's input; now, of a tail.
  std::optional<double> readyAt(size_t rank) const;
  void begin(size_t rank);
  void end(size_t rank);
  bool beginWhatCan();
  /// The share of its own speed that a rank works at.
  double speedOf(size_t rank) const;
  double nextEvent() const;
  size_t nodeOf(size_t rank) const { return rank / size_t(share.ranksOfNode); }

  const ScheduleProblem &problem;
  const Schedule &schedule;
  const ProcessorShare &share;
  const std::vector<double> &tails;
  InputTimes inputs;
  std::vector<Place> places;
  std::vector<SharedRank> ranks;
  double now = 0;
};

} // namespace

std::optional<double> SharedRun::readyAt(size_t rank) const {
  const std::vector<Action> &actions = schedule.ranks[rank];
  size_t next = places[rank].next;
  return next < actions.size() ? inputs.readyAt(int64_t(rank), actions[next])
                               : now;
}

void SharedRun::begin(size_t rank) {
  Place &place = places[rank];
  const std::vector<Action> &actions = schedule.ranks[rank];
  place.works = true;
  place.since = now;
  place.work = place.left =
      place.next < actions.size()
          ? durationOf(problem, int64_t(rank), actions[place.next])
          : tails[rank];
}

void SharedRun::end(size_t rank) {
  Place &place = places[rank];
  SharedRank &result = ranks[rank];
  const std::vector<Action> &actions = schedule.ranks[rank];
  place.works = false;
  result.end = now;
  result.lost += std::max(0.0, now - place.since - place.work);
  if (place.next == actions.size()) {
    place.isDone = true;
    return;
  }
  result.times.push_back({place.since, now});
  inputs.ended(int64_t(rank), actions[place.next], now);
  ++place.next;
}

/// Whether any rank did.
bool SharedRun::beginWhatCan() {
  bool any = false;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    if (places[rank].works || places[rank].isDone)
      continue;
    if (std::optional<double> ready = readyAt(rank); ready && *ready <= now) {
      begin(rank);
      any = true;
    }
  }
  return any;
}

double SharedRun::speedOf(size_t rank) const {
  double devices = 0;
  for (size_t other = 0; other < places.size(); ++other)
    if (places[other].works && nodeOf(other) == nodeOf(rank))
      devices += share.load;
  return std::min(1.0, share.atOnce / devices);
}

/// When the first rank ends something, or the first input arrives.
double SharedRun::nextEvent() const {
  double next = INFINITY;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    const Place &place = places[rank];
    if (place.works)
      next = std::min(next, now + place.left / speedOf(rank));
    else if (!place.isDone)
      if (std::optional<double> ready = readyAt(rank); ready && *ready > now)
        next = std::min(next, *ready);
  }
  return next;
}

std::vector<SharedRank> SharedRun::run() {
  for (beginWhatCan();; beginWhatCan()) {
    double next = nextEvent();
    if (next == INFINITY)
      return std::move(ranks);
    std::vector<size_t> ending;
    for (size_t rank = 0; rank < places.size(); ++rank) {
      Place &place = places[rank];
      if (!place.works)
        continue;
      double speed = speedOf(rank);
      // As nextEvent has it, so that what ends first surely ends.
      if (now + place.left / speed <= next)
        ending.push_back(rank);
      place.left = std::max(0.0, place.left - (next - now) * speed);
    }
    now = next;
    for (size_t rank : ending)
      end(rank);
  }
}

StatusOr<std::vector<SharedRank>> hocket::planning::simulateShared(
    const ScheduleProblem &problem, const Schedule &schedule,
    const ProcessorShare &share, const std::vector<double> &tails) {
  ScheduleProblem uncapped = problem;
  uncapped.caps.assign(uncapped.caps.size(), kNoCap);
  uncapped.pair = 0;
  HOCKET_RETURN_IF_ERROR(verifySchedule(uncapped, schedule));
  return SharedRun(uncapped, schedule, share, tails).run();
}
