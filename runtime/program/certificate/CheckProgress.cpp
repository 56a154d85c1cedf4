//===- CheckProgress.cpp - Does every entry end? --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs an entry without data, one rank of each class. Nothing that a rank does
/// takes away what another waits for, so the order does not matter: if all
/// come to their end in one order, they do in every one. Assumed is the least
/// that a communicator may do:
///
///   - nothing is buffered: a send is over when its receive has begun, and the
///     other way round; a collective when all its members have begun it;
///   - stream 0 runs where instructions are issued, so that another stream's
///     begin after whatever stream 0 has before them;
///   - what a rank has issued to one communicator is done one after the other,
///     in the order of issue, also if streams differ: NCCL does it so, and it
///     has a communicator for each tag of a group's messages.
///
/// Any device that buffers more or issues ahead has fewer edges in its
/// wait-for graph, and no cycle if this one has none.
///
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/program/certificate/Exchange.h"

#include <algorithm>

using namespace hocket;
using Kind = EntryStep::Kind;

namespace {

/// A step of one class. Times are instructions of the longest chain before.
struct StepState {
  enum : uint8_t { Ahead, Issued, Begun, Done } stage = Ahead;
  uint64_t begin = 0; ///< Issued: the earliest that it could be.
  uint64_t end = 0;
};

/// A stream of a class that cannot go on.
struct Lane {
  uint32_t rankClass = 0, stream = 0;
  auto operator<=>(const Lane &) const = default;
};

class Walk {
public:
  Walk(const EntryView &view, const Partners &partners, OneByOne oneByOne)
      : view(view), classes(view.classes), partners(partners) {
    for (uint32_t c = 0; c < classes.count(); ++c) {
      const RoleSteps &steps = view.stepsOfClass(c);
      Progress &progress = ranks.emplace_back();
      progress.states.resize(steps.steps.size());
      progress.heads.resize(steps.byStream.size());
      progress.times.resize(steps.byStream.size());
      if (oneByOne == OneByOne::Ranks)
        progress.before = communicationBefore(steps);
    }
  }

  /// Whether all come to their end.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t c = 0; c < classes.count(); ++c)
        while (advance(c))
          moved = true;
    }
    for (uint32_t c = 0; c < classes.count(); ++c)
      for (uint32_t s = 0; s < ranks[c].heads.size(); ++s)
        if (headOf({c, s}) != EntryStep::none)
          return false;
    return true;
  }

  uint64_t chain() const {
    uint64_t longest = 0;
    for (uint32_t c = 0; c < classes.count(); ++c) {
      const auto &times = ranks[c].times;
      longest = std::max(longest, times[0] + view.stepsOfClass(c).workAfter);
      longest =
          std::max(longest, *std::max_element(times.begin(), times.end()));
    }
    return longest;
  }

  /// Lanes that wait for each other in a circle. Wants run() to have failed.
  std::vector<Lane> circle() const {
    std::vector<Lane> path;
    Lane at = firstBlocked();
    while (std::find(path.begin(), path.end(), at) == path.end()) {
      path.push_back(at);
      at = awaitedBy(at);
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), at));
    return path;
  }

  /// The step that a lane stands at, or none.
  uint32_t headOf(Lane lane) const {
    const auto &list = view.stepsOfClass(lane.rankClass).byStream[lane.stream];
    size_t head = ranks[lane.rankClass].heads[lane.stream];
    return head < list.size() ? list[head] : EntryStep::none;
  }

private:
  struct Progress {
    std::vector<StepState> states;
    std::vector<uint32_t> heads; ///< By stream, steps that are done.
    std::vector<uint64_t> times; ///< By stream, the end of the last one.
    uint32_t issued = 0;         ///< Steps.
    /// By step, the communication before it, where all of it is one by one.
    std::vector<uint32_t> before;
  };

  static bool communicates(const EntryStep &step) {
    return step.kind == Kind::Transfer || step.kind == Kind::Collective;
  }

  static std::vector<uint32_t> communicationBefore(const RoleSteps &steps) {
    std::vector<uint32_t> before;
    uint32_t last = EntryStep::none;
    for (uint32_t i = 0; i < steps.steps.size(); ++i) {
      before.push_back(communicates(steps.steps[i]) ? last : EntryStep::none);
      if (communicates(steps.steps[i]))
        last = i;
    }
    return before;
  }

  /// Calls `visit(step)` for what must be over before a step begins, on any
  /// stream of its rank, until it says no.
  template <typename Visit>
  void forEachBefore(uint32_t c, uint32_t index, Visit &&visit) const {
    const RoleSteps &steps = view.stepsOfClass(c);
    const EntryStep &step = steps.steps[index];
    if (!ranks[c].before.empty()) {
      if (uint32_t before = ranks[c].before[index]; before != EntryStep::none)
        visit(before);
      return;
    }
    if (step.kind != Kind::Transfer)
      return; // The collectives of a communicator are on one stream.
    int parts = instructionOf(view.role(classes.roleOf(c)), step)
                    .transfer()
                    .parts_size();
    for (int p = 0; p < parts; ++p) {
      uint32_t before = steps.messageBefore[step.link + uint32_t(p)];
      if (before != EntryStep::none && !visit(before))
        return;
    }
  }

  /// The step before, of those that must be over, that is not; or none.
  uint32_t heldBackBy(uint32_t c, uint32_t index) const {
    uint32_t found = EntryStep::none;
    forEachBefore(c, index, [&](uint32_t before) {
      if (ranks[c].states[before].stage == StepState::Done)
        return true;
      found = before;
      return false;
    });
    return found;
  }

  /// Whether the class has come further.
  bool advance(uint32_t c) {
    bool moved = issue(c);
    for (uint32_t s = 1; s < ranks[c].heads.size(); ++s)
      while (true) {
        uint32_t step = headOf({c, s});
        if (step == EntryStep::none ||
            ranks[c].states[step].stage == StepState::Ahead || !finish(c, step))
          break;
        moved = true;
      }
    return moved;
  }

  /// Issues as much as stream 0 lets it.
  bool issue(uint32_t c) {
    const auto &steps = view.stepsOfClass(c).steps;
    Progress &own = ranks[c];
    bool moved = false;
    for (; own.issued < steps.size(); ++own.issued) {
      const EntryStep &step = steps[own.issued];
      StepState &state = own.states[own.issued];
      if (state.stage == StepState::Ahead) {
        own.times[0] += step.work;
        state = {StepState::Issued, own.times[0], 0};
        moved = true;
      }
      if (step.stream == 0 && !finish(c, own.issued))
        break;
      moved = true;
    }
    return moved;
  }

  /// Begins the step at the head of its stream, and ends it if it can end.
  bool finish(uint32_t c, uint32_t index) {
    const EntryStep &step = view.stepsOfClass(c).steps[index];
    StepState &state = ranks[c].states[index];
    uint64_t &time = ranks[c].times[step.stream];
    if (state.stage == StepState::Issued) {
      if (heldBackBy(c, index) != EntryStep::none)
        return false;
      uint64_t begin = std::max(state.begin, time);
      forEachBefore(c, index, [&](uint32_t before) {
        begin = std::max(begin, ranks[c].states[before].end);
        return true;
      });
      state = {StepState::Begun, begin, 0};
    }
    uint64_t start = state.begin;
    bool waits = step.kind == Kind::Wait, ready = true;
    forEachAwaited(c, index, [&](uint32_t other, uint32_t otherStep) {
      const StepState &awaited = ranks[other].states[otherStep];
      ready = awaited.stage >= (waits ? StepState::Done : StepState::Begun);
      start = std::max(start, waits ? awaited.end : awaited.begin);
      return ready;
    });
    if (!ready)
      return false;
    bool isEvent = waits || step.kind == Kind::Record;
    time = start + (isEvent ? 0 : 1);
    state.stage = StepState::Done;
    state.end = time;
    ++ranks[c].heads[step.stream];
    return true;
  }

  /// Calls `visit(class, step)` for what a step waits for until it says no.
  template <typename Visit>
  void forEachAwaited(uint32_t c, uint32_t index, Visit &&visit) const {
    const EntryStep &step = view.stepsOfClass(c).steps[index];
    if (step.kind == Kind::Wait && step.link != EntryStep::none)
      visit(c, step.link);
    else if (step.kind == Kind::Transfer)
      forEachPeer(c, step, visit);
    else if (step.kind == Kind::Collective)
      forEachMember(c, step, visit);
  }

  template <typename Visit>
  void forEachPeer(uint32_t c, const EntryStep &step, Visit &&visit) const {
    const auto &transfer =
        instructionOf(view.role(classes.roleOf(c)), step).transfer();
    for (int p = 0; p < transfer.parts_size(); ++p) {
      StepPartner partner = partners[c][step.link + uint32_t(p)];
      if (partner.rankClass != StepPartner::none &&
          !visit(partner.rankClass, partner.step))
        return;
    }
  }

  template <typename Visit>
  void forEachMember(uint32_t c, const EntryStep &step, Visit &&visit) const {
    uint32_t group =
        instructionOf(view.role(classes.roleOf(c)), step).collective().group();
    for (uint32_t other : membersOf(group, c)) {
      const auto &calls = view.stepsOfClass(other).collectives;
      auto found = calls.find({group, step.stream});
      if (found != calls.end() && step.link < found->second.size() &&
          !visit(other, found->second[step.link]))
        return;
    }
  }

  /// The classes of the ranks of a list.
  const std::vector<uint32_t> &membersOf(uint32_t group, uint32_t c) const {
    auto [entry, isNew] = members.try_emplace({group, c});
    if (isNew) {
      for (uint32_t rank : classes.listOf(group, classes.rankOf(c)).ranks())
        entry->second.push_back(classes.classOf(rank));
      std::sort(entry->second.begin(), entry->second.end());
      entry->second.erase(
          std::unique(entry->second.begin(), entry->second.end()),
          entry->second.end());
    }
    return entry->second;
  }

  Lane firstBlocked() const {
    for (uint32_t c = 0; c < classes.count(); ++c)
      for (uint32_t s = 0; s < ranks[c].heads.size(); ++s)
        if (headOf({c, s}) != EntryStep::none)
          return {c, s};
    return {};
  }

  /// The lane that would have to go on first.
  Lane awaitedBy(Lane lane) const {
    uint32_t step = headOf(lane);
    if (ranks[lane.rankClass].states[step].stage == StepState::Ahead)
      return {lane.rankClass, 0}; // Has not been issued.
    uint32_t before = heldBackBy(lane.rankClass, step);
    if (before != EntryStep::none)
      return {lane.rankClass,
              view.stepsOfClass(lane.rankClass).steps[before].stream};
    bool waits =
        view.stepsOfClass(lane.rankClass).steps[step].kind == Kind::Wait;
    Lane next = lane;
    forEachAwaited(lane.rankClass, step, [&](uint32_t c, uint32_t other) {
      auto stage = ranks[c].states[other].stage;
      if (stage >= (waits ? StepState::Done : StepState::Begun))
        return true;
      bool issued = stage != StepState::Ahead;
      next = {c, issued ? view.stepsOfClass(c).steps[other].stream : 0};
      return false;
    });
    return next;
  }

  const EntryView &view;
  const RankClasses &classes;
  const Partners &partners;
  std::vector<Progress> ranks; ///< By class.
  mutable std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>>
      members;
};

/// "rank 0, ...: instruction" of the lane's next step.
std::string laneText(const EntryView &view, const Walk &walk, Lane lane) {
  uint32_t rank = view.classes.rankOf(lane.rankClass);
  uint32_t step = walk.headOf(lane);
  const program::Instruction &instruction =
      instructionOf(view.role(view.classes.roleOf(lane.rankClass)),
                    view.stepsOfClass(lane.rankClass).steps[step]);
  return view.place(rank, step) + formatText(", on stream %u: ", lane.stream) +
         instructionText(instruction, view.program);
}

} // namespace

uint64_t hocket::checkProgress(const EntryView &view, const Partners &partners,
                               FaultList &faults, OneByOne oneByOne) {
  Walk walk(view, partners, oneByOne);
  if (walk.run())
    return walk.chain();
  std::vector<Lane> circle = walk.circle();
  uint32_t rank = view.classes.rankOf(circle.front().rankClass);
  uint32_t step = walk.headOf(circle.front());
  constexpr size_t shown = 6;
  std::string what = "waits for ever, in " + view.when(rank, step);
  for (size_t i = 1; i <= circle.size(); ++i)
    if (i <= shown || i == circle.size())
      what += (i == 1 ? ", for " : ", which waits for ") +
              laneText(view, walk, circle[i % circle.size()]);
    else if (i == shown + 1)
      what += formatText(", which waits for %zu more", circle.size() - i);
  faults.add(ProgramRule::Progress, view.place(rank, step), what);
  return 0;
}
