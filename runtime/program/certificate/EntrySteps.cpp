//===- EntrySteps.cpp - What orders a rank's instructions -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/EntrySteps.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace hocket;
using Kind = EntryStep::Kind;

namespace {

class StepCollector {
public:
  explicit StepCollector(const program::Role &role)
      : role(role), records(role.events(), EntryStep::none) {
    result.byStream.resize(std::max(1u, role.streams()));
    for (const program::Sequence &sequence : role.sequences())
      notable.push_back(notableOf(sequence));
  }

  RoleSteps collect(const program::Entry &entry) {
    for (int run = 0; run < entry.runs_size(); ++run)
      addRun(uint32_t(run), entry.runs(run));
    result.workAfter = work;
    return std::move(result);
  }

private:
  static bool isNotable(const program::Instruction &instruction) {
    return instruction.stream() > 0 || instruction.has_collective() ||
           instruction.has_transfer() || instruction.has_record() ||
           instruction.has_wait();
  }

  static std::vector<uint32_t> notableOf(const program::Sequence &sequence) {
    std::vector<uint32_t> list;
    for (int i = 0; i < sequence.instructions_size(); ++i)
      if (isNotable(sequence.instructions(i)))
        list.push_back(uint32_t(i));
    return list;
  }

  void addRun(uint32_t number, const program::Entry::Run &run) {
    uint32_t sequence = run.sequence(), before = 0;
    for (uint32_t at : notable[sequence]) {
      work += at - before;
      before = at + 1;
      EntryStep step;
      step.sequence = sequence;
      step.instruction = at;
      step.run = number;
      step.microbatch = run.microbatch();
      addStep(step);
    }
    auto size = uint32_t(role.sequences(int(sequence)).instructions_size());
    work += size - before;
    result.instructions += size;
  }

  void addStep(EntryStep step) {
    const program::Instruction &instruction = instructionOf(role, step);
    auto index = uint32_t(result.steps.size());
    step.stream = instruction.stream();
    step.work = work;
    work = 0;
    if (instruction.has_collective()) {
      step.kind = Kind::Collective;
      auto &list =
          result.collectives[{instruction.collective().group(), step.stream}];
      step.link = uint32_t(list.size());
      list.push_back(index);
    } else if (instruction.has_transfer()) {
      step.kind = Kind::Transfer;
      addParts(instruction.transfer(), index, step);
    } else if (instruction.has_record()) {
      step.kind = Kind::Record;
      records[instruction.record().event()] = index;
    } else if (instruction.has_wait()) {
      step.kind = Kind::Wait;
      step.link = records[instruction.wait().event()];
    }
    result.byStream[step.stream].push_back(index);
    result.steps.push_back(step);
  }

  void addParts(const program::Transfer &transfer, uint32_t index,
                EntryStep &step) {
    step.link = result.parts;
    for (int p = 0; p < transfer.parts_size(); ++p) {
      const auto &part = transfer.parts(p);
      result
          .channels[{transfer.group(), part.send(), part.relative(),
                     part.peer(), part.tag()}]
          .push_back({index, uint32_t(p)});
      auto last = lastMessage.find({transfer.group(), part.tag()});
      result.messageBefore.push_back(last == lastMessage.end() ? EntryStep::none
                                                               : last->second);
    }
    for (const auto &part : transfer.parts())
      lastMessage[{transfer.group(), part.tag()}] = index;
    result.parts += uint32_t(transfer.parts_size());
  }

  const program::Role &role;
  std::vector<std::vector<uint32_t>> notable; ///< By sequence, instructions.
  std::vector<uint32_t> records;              ///< By event, its last record.
  /// By group and tag, the last transfer.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> lastMessage;
  uint32_t work = 0;
  RoleSteps result;
};

} // namespace

static RoleSteps stepsOf(const program::Role &role, const std::string &name) {
  for (const program::Entry &entry : role.entries())
    if (entry.name() == name)
      return StepCollector(role).collect(entry);
  RoleSteps nothing;
  nothing.byStream.resize(std::max(1u, role.streams()));
  return nothing;
}

std::vector<ProgramEntry>
hocket::programEntriesOf(const program::Program &program) {
  std::set<std::string> names;
  for (const program::Role &role : program.roles())
    for (const program::Entry &entry : role.entries())
      names.insert(entry.name());
  std::vector<ProgramEntry> entries;
  for (const std::string &name : names) {
    entries.push_back({name, {}});
    for (const program::Role &role : program.roles())
      entries.back().roles.push_back(stepsOf(role, name));
  }
  return entries;
}
