//===- TransferRuns.cpp - When transfers run, and what waits --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/TransferRuns.h"

#include "passes/exec/Instructions.h"

#include <set>
#include <utility>

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

TransferRuns::TransferRuns(RoleOp role) {
  numberBuffers(role);
  if (auto names = role.getStreams())
    computing += static_cast<int64_t>(names->size());
  role.walk([&](RecordOp record) {
    eventsWithin =
        std::max(eventsWithin, static_cast<int64_t>(record.getEvent()) + 1);
  });
  std::map<int64_t, StageCopies> stages = stageCopiesOf(role);
  for (auto sequence : role.getOps<SequenceOp>()) {
    // As many microbatches as the stage has in flight.
    int64_t stage = static_cast<int64_t>(sequence.getStage().value_or(0));
    auto copies = stages.find(stage);
    bool isStaged = sequence.getStage() && copies != stages.end();
    addParts(sequence, isStaged ? copies->second.forwardToWeight : 1);
  }
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// What crosses between stages, and what gradients are reduced from and into.
static bool mattersToTransfers(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    auto sequence = dyn_cast<SequenceOp>(user->getParentOp());
    return isa<TransferOp>(user) || (sequence && sequence.getBucket());
  });
}

void TransferRuns::numberBuffers(RoleOp role) {
  for (auto buffer : role.getOps<BufferOp>())
    if (mattersToTransfers(buffer)) {
      numbers[buffer] = static_cast<int>(buffers.size());
      buffers.push_back(buffer);
    }
}

/// Those that have numbers, each once and in their order.
std::vector<int> TransferRuns::numbersOf(ArrayRef<Value> values) const {
  std::set<int> found;
  for (Value value : values)
    if (auto number = numbers.find(value); number != numbers.end())
      found.insert(number->second);
  return {found.begin(), found.end()};
}

/// Activations and gradients, to and from each peer.
int64_t TransferRuns::streamFor(TransferOp transfer, SequenceOp sequence) {
  auto key = std::make_tuple(transfer.getPeers().front(), isSend(transfer),
                             sequence.isFragment(FragmentKind::Backward));
  auto next = computing + static_cast<int64_t>(streams.size());
  return streams.try_emplace(key, next).first->second;
}

void TransferRuns::addTransfer(TransferOp transfer, SequenceOp sequence,
                               int64_t turns) {
  PartKind kind = isSend(transfer) ? PartKind::Send : PartKind::Receive;
  auto instruction = cast<InstructionOpInterface>(transfer.getOperation());
  TransferPart &part = parts[{sequence, kind}];
  part.kind = kind;
  part.tag = transfer.getTags().front();
  part.turns = turns;
  part.name = (sequence.getFunctionName() +
               (kind == PartKind::Send ? ".send" : ".receive"))
                  .str();
  part.stream = streamFor(transfer, sequence);
  part.reads = numbersOf(instruction.getReads());
  part.writes = numbersOf(instruction.getWrites());
}

void TransferRuns::addParts(SequenceOp sequence, int64_t turns) {
  SmallVector<Value> reads, writes;
  int64_t stream = 0;
  for (Operation &op : sequence.getBody().front()) {
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      addTransfer(transfer, sequence, turns);
      continue;
    }
    auto instruction = cast<InstructionOpInterface>(op);
    llvm::append_range(reads, instruction.getReads());
    llvm::append_range(writes, instruction.getWrites());
    // All of a bucket runs there, and what it waits for is the runs' matter.
    if (sequence.getBucket())
      stream = instruction.getStreamNumber();
  }
  TransferPart &computation = parts[{sequence, PartKind::Compute}];
  computation.turns = turns;
  computation.name = sequence.getSymName().str();
  computation.stream = stream;
  computation.reads = numbersOf(reads);
  computation.writes = numbersOf(writes);
}

const TransferPart *TransferRuns::findPart(SequenceOp sequence,
                                           PartKind kind) const {
  auto found = parts.find({sequence, kind});
  return found == parts.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void TransferRuns::addSteps(const EntryRun &run,
                            std::vector<Step> &steps) const {
  SequenceOp sequence = run.sequence;
  for (PartKind kind : {PartKind::Receive, PartKind::Compute, PartKind::Send})
    if (const TransferPart *part = findPart(sequence, kind))
      steps.push_back({part,
                       run.microbatch,
                       run.slot,
                       run.action,
                       {},
                       run.microbatch % part->turns,
                       sequence.isFragment(FragmentKind::Update)});
}

std::vector<TransferStep> TransferRuns::stepsOf(EntryOp entry) const {
  std::vector<Step> steps;
  for (const EntryRun &run : runsOf(entry))
    addSteps(run, steps);
  return steps;
}

std::vector<TransferStep> TransferRuns::orderedSteps(EntryOp entry) {
  std::vector<Step> steps = stepsOf(entry);
  receiveEarly(steps);
  addDependences(steps);
  numberRuns(steps);
  return steps;
}

//===----------------------------------------------------------------------===//
// Receiving early
//===----------------------------------------------------------------------===//

std::pair<int, int64_t> TransferRuns::copyFor(const Step &step,
                                              int buffer) const {
  BufferOp used = buffers[buffer];
  auto copies = static_cast<int64_t>(used.getSlots());
  if (copies <= 1)
    return {buffer, 0};
  return {buffer,
          used.getByMicrobatch() ? step.microbatch % copies : step.slot};
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
    if (steps[i].part->kind != PartKind::Receive)
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
  auto next = eventsWithin + static_cast<int64_t>(events.size());
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
void TransferRuns::numberRuns(std::vector<Step> &steps) {
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

void TransferRuns::addSync(std::vector<NamedRun> &runs,
                           const SyncSequence &sync) {
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

std::vector<NamedRun> TransferRuns::plan(EntryOp entry) {
  std::vector<Step> steps = orderedSteps(entry);
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
  std::vector<NamedRun> runs;
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
