//===- TransferRuns.cpp - When transfers run, and what waits --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/TransferRuns.h"

#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;

TransferRuns::TransferRuns(const FlatProgram &program) : program(program) {
  for (size_t s = 0; s < program.sequences.size(); ++s) {
    sequences[program.sequences[s].functionName()].push_back(s);
    addParts(s);
  }
}

/// As many microbatches as a stage has in flight.
static int64_t turnsOf(const FlatProgram &program, int64_t stage) {
  auto copies = program.role.copies.find(stage);
  return copies == program.role.copies.end() ? 1
                                             : copies->second.forwardToWeight;
}

/// Activations and gradients, to and from each peer.
int64_t TransferRuns::streamFor(const FlatInstruction &transfer,
                                char fragment) {
  auto key = std::make_tuple(transfer.links.front().rank,
                             transfer.kind == Kind::Send, fragment == 'B');
  auto next = static_cast<int64_t>(program.lanes.size() + streams.size()) + 1;
  return streams.try_emplace(key, next).first->second;
}

void TransferRuns::addParts(size_t s) {
  const FlatSequence &sequence = program.sequences[s];
  std::set<int> reads, writes;
  auto note = [&](ArrayRef<int> buffers, std::set<int> &to) {
    for (int buffer : buffers)
      if (int root = program.find(buffer);
          program.buffers[root].isLink || program.buffers[root].isBucketed)
        to.insert(root);
  };
  for (const FlatInstruction &instruction : sequence.instructions) {
    bool receives = instruction.kind == Kind::Receive;
    if (!receives && instruction.kind != Kind::Send) {
      note(instruction.inputs, reads);
      note(instruction.outputs, writes);
      continue;
    }
    TransferPart &part = partOf(s, instruction.kind);
    part.kind = instruction.kind;
    part.isGradient = sequence.fragment == 'B';
    part.link = instruction.links.front();
    part.turns = turnsOf(program, sequence.stage);
    part.name = receives ? receiveName(sequence) : sendName(sequence);
    part.stream = streamFor(instruction, sequence.fragment);
    std::set<int> sent, received;
    note(instruction.inputs, sent);
    note(instruction.outputs, received);
    part.reads.assign(sent.begin(), sent.end());
    part.writes.assign(received.begin(), received.end());
  }
  TransferPart &computation = partOf(s, Kind::Launch);
  computation.turns = turnsOf(program, sequence.stage);
  computation.name = sequence.name;
  computation.stream = program.streamOf(sequence.lane);
  computation.reads.assign(reads.begin(), reads.end());
  computation.writes.assign(writes.begin(), writes.end());
}

int64_t TransferRuns::streamOf(size_t s, Kind part) const {
  auto found = parts.find({s, part});
  return found == parts.end() ? 0 : found->second.stream;
}

std::vector<TransferStep>
TransferRuns::stepsOf(kern::ScheduleOp schedule) const {
  std::vector<Step> steps;
  llvm::StringMap<size_t> lastRuns;
  for (auto [i, action] :
       llvm::enumerate(schedule.getActions().getAsRange<ArrayAttr>()))
    lastRuns[cast<FlatSymbolRefAttr>(action[0]).getValue()] = i;
  for (auto [i, action] :
       llvm::enumerate(schedule.getActions().getAsRange<ArrayAttr>())) {
    auto name = cast<FlatSymbolRefAttr>(action[0]).getValue();
    auto found = sequences.find(name);
    if (found == sequences.end())
      continue; // K15 keeps it from happening.
    for (size_t s : found->second)
      if (!program.sequences[s].lastOnly || lastRuns.lookup(name) == i)
        addSteps(s, i, action, steps);
  }
  return steps;
}

std::vector<TransferStep>
TransferRuns::orderedSteps(kern::ScheduleOp schedule) {
  std::vector<Step> steps = stepsOf(schedule);
  receiveEarly(steps);
  addDependences(steps);
  numberTurns(steps);
  return steps;
}

void TransferRuns::addSteps(size_t s, size_t number, ArrayAttr action,
                            std::vector<Step> &steps) const {
  int64_t microbatch = cast<IntegerAttr>(action[1]).getInt();
  for (Kind kind : {Kind::Receive, Kind::Launch, Kind::Send}) {
    auto part = parts.find({s, kind});
    if (part != parts.end())
      steps.push_back({&part->second,
                       microbatch,
                       cast<IntegerAttr>(action[2]).getInt(),
                       number,
                       {},
                       microbatch % part->second.turns,
                       program.sequences[s].fragment == 'U'});
  }
}

//===----------------------------------------------------------------------===//
// Receiving early
//===----------------------------------------------------------------------===//

std::pair<int, int64_t> TransferRuns::copyFor(const Step &step,
                                              int buffer) const {
  const FlatBuffer &used = program.buffers[buffer];
  if (used.copies <= 1)
    return {buffer, 0};
  return {buffer,
          used.byMicrobatch ? step.microbatch % used.copies : step.slot};
}

bool TransferRuns::mustFollow(const Step &step, const Step &earlier) const {
  if (earlier.isLast || earlier.part->stream == step.part->stream)
    return true;
  auto meets = [&](ArrayRef<int> own, ArrayRef<int> others) {
    return llvm::any_of(own, [&](int buffer) {
      return llvm::any_of(others, [&](int other) {
        return copyFor(earlier, other) == copyFor(step, buffer);
      });
    });
  };
  return meets(step.part->writes, earlier.part->reads) ||
         meets(step.part->writes, earlier.part->writes) ||
         meets(step.part->reads, earlier.part->writes);
}

void TransferRuns::receiveEarly(std::vector<Step> &steps) const {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].part->kind != Kind::Receive)
      continue;
    size_t to = i;
    while (to > 0 && steps[to - 1].action + 1 >= steps[i].action &&
           !mustFollow(steps[i], steps[to - 1]))
      --to;
    std::rotate(steps.begin() + to, steps.begin() + i, steps.begin() + i + 1);
  }
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

/// Earlier steps that must be done before `step` starts; notes its own uses.
std::vector<int> TransferRuns::dependencesOf(std::vector<Step> &steps,
                                             int step) {
  const TransferPart &part = *steps[step].part;
  auto useOf = [&](int buffer) -> Use & {
    return uses[copyFor(steps[step], buffer)];
  };
  std::vector<int> result;
  for (int buffer : part.reads)
    result.push_back(useOf(buffer).writer);
  for (int buffer : part.writes) {
    result.push_back(useOf(buffer).writer);
    llvm::append_range(result, useOf(buffer).readers);
  }
  for (int buffer : part.reads)
    useOf(buffer).readers.push_back(step);
  for (int buffer : part.writes)
    useOf(buffer) = {step, {}};
  llvm::erase_if(result, [&](int other) {
    return other < 0 || steps[other].part->stream == part.stream;
  });
  return result;
}

int64_t TransferRuns::eventNamed(const std::string &name, int64_t number) {
  // Behind those within sequences.
  auto next = program.events + static_cast<int64_t>(events.size());
  return events.try_emplace({name, number}, next).first->second;
}

void TransferRuns::addDependences(std::vector<Step> &steps) {
  uses.clear();
  std::map<int64_t, Clock> clocks; // by stream
  std::vector<Clock> known(steps.size());
  for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
    int64_t stream = steps[step].part->stream;
    Clock &clock = clocks[stream];
    std::vector<int> dependences = dependencesOf(steps, step);
    if (steps[step].isLast)
      continue; // Behind everything.
    // The latest first: it may say as much as the others.
    llvm::sort(dependences, std::greater<>());
    for (int other : dependences) {
      int64_t from = steps[other].part->stream;
      auto at = clock.find(from);
      if (at != clock.end() && at->second >= other)
        continue;
      steps[step].after.push_back(other);
      for (auto [past, done] : known[other]) {
        auto [entry, isNew] = clock.try_emplace(past, done);
        entry->second = std::max(entry->second, done);
      }
    }
    clock[stream] = step;
    known[step] = clock;
  }
}

/// A wait is for the last record of its event before it, so a step whose event
/// another one of the part still waits for takes a number of its own.
void TransferRuns::numberTurns(std::vector<Step> &steps) {
  std::vector<int> lastWait(steps.size(), -1);
  for (int step = 0; step < static_cast<int>(steps.size()); ++step)
    for (int other : steps[step].after)
      lastWait[other] = step;
  std::map<std::pair<const TransferPart *, int64_t>, int> until;
  for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
    if (lastWait[step] < 0)
      continue;
    auto isTaken = [&](int64_t turn) {
      auto found = until.find({steps[step].part, turn});
      return found != until.end() && found->second > step;
    };
    if (int64_t &turn = steps[step].turn; isTaken(turn))
      for (turn = 0; isTaken(turn);)
        ++turn;
    until[{steps[step].part, steps[step].turn}] = lastWait[step];
  }
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void TransferRuns::addSync(std::vector<Run> &runs, const SyncSequence &sync) {
  if (sync.empty())
    return;
  std::string name = "sync";
  for (const SyncInstruction &instruction : sync)
    name += (instruction.isRecord ? ".r" : ".w") +
            std::to_string(instruction.event) + "s" +
            std::to_string(instruction.stream);
  named[name] = sync;
  runs.push_back({name, 0, 0});
}

std::vector<Run> TransferRuns::plan(kern::ScheduleOp schedule) {
  std::vector<Step> steps = orderedSteps(schedule);
  // Numbered in the order in which they are first waited for.
  std::vector<std::vector<int64_t>> waits(steps.size());
  std::vector<int64_t> records(steps.size(), -1);
  for (auto [step, events] : llvm::zip(steps, waits))
    for (int other : step.after)
      events.push_back(records[other] = eventAfter(steps[other]));
  std::set<int64_t> used;
  for (const Step &step : steps)
    if (step.part->stream > 0)
      used.insert(step.part->stream);
  std::vector<Run> runs;
  SyncSequence pending;
  // All streams start behind what stream 0 did before.
  if (!used.empty())
    pending.push_back({true, eventNamed("begin", 0), 0});
  for (int64_t stream : used)
    pending.push_back({false, eventNamed("begin", 0), stream});
  auto join = [&]() {
    for (int64_t stream : used) {
      pending.push_back({true, eventNamed("end", stream), stream});
      pending.push_back({false, eventNamed("end", stream), 0});
    }
  };
  bool joined = false;
  for (auto [step, events, record] : llvm::zip(steps, waits, records)) {
    // The update's values share bytes with what was on its way.
    if (step.isLast && !joined)
      join();
    joined |= step.isLast;
    for (int64_t event : events)
      pending.push_back({false, event, step.part->stream});
    addSync(runs, pending);
    pending.clear();
    runs.push_back({step.part->name, step.microbatch, step.slot});
    if (record >= 0)
      pending.push_back({true, record, step.part->stream});
  }
  if (!joined)
    join();
  addSync(runs, pending);
  return runs;
}
