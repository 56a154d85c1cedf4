//===- CheckStreams.cpp - Do events order what they must? -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks every entry of a role in the order of issue and keeps, for each
/// segment of the bytes that several streams use and for each stream, who read
/// and who wrote it last. A later use conflicts with those alone: what came
/// before them on their stream has ended if they have.
///
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/program/certificate/Exchange.h"
#include "runtime/program/certificate/SharedBytes.h"
#include "runtime/program/certificate/StreamClocks.h"

#include <set>

using namespace hocket;
using program::Instruction;

namespace {

/// An instruction that the walk looks at.
struct Action {
  uint32_t instruction = 0, stream = 0;
  const Instruction *source = nullptr;
  std::vector<InstructionOperand> operands; ///< In shared bytes.
};

/// An instruction that ran.
struct Ran {
  uint32_t number = 0; ///< On its stream; 0: none did.
  uint32_t sequence = 0, instruction = 0, microbatch = 0;
};

class StreamChecker {
public:
  StreamChecker(const program::Program &program, int role, FaultList &faults)
      : program(program), role(role), r(program.roles(role)), faults(faults),
        streams(std::max(1u, r.streams())), shared(program, r),
        clocks(streams, r.events()) {
    for (const program::Sequence &sequence : r.sequences())
      actions.push_back(actionsOf(sequence));
  }

  void run() {
    for (const program::Entry &entry : r.entries()) {
      entryName = entry.name();
      clocks = StreamClocks(streams, r.events());
      uses.assign(size_t(shared.segments()) * streams, {});
      channels.clear();
      for (const program::Entry::Run &run : entry.runs())
        for (const Action &action : actions[run.sequence()]) {
          if (faults.full())
            return;
          act(run, action);
        }
    }
  }

private:
  std::vector<Action> actionsOf(const program::Sequence &sequence) const {
    std::vector<Action> list;
    for (int i = 0; i < sequence.instructions_size(); ++i) {
      const Instruction &instruction = sequence.instructions(i);
      Action action{uint32_t(i), instruction.stream(), &instruction, {}};
      for (const InstructionOperand &operand : operandsOf(instruction, program))
        if (isShared(operand.buffer))
          action.operands.push_back(operand);
      if (!action.operands.empty() || instruction.has_record() ||
          instruction.has_wait() || instruction.has_transfer())
        list.push_back(std::move(action));
    }
    return list;
  }

  bool isShared(uint32_t buffer) const {
    for (uint32_t c = 0; c < copiesOf(r.buffers(int(buffer))); ++c)
      if (SharedBytes::Range range = shared.of(buffer, c);
          range.first < range.last)
        return true;
    return false;
  }

  void act(const program::Entry::Run &run, const Action &action) {
    const Instruction &instruction = *action.source;
    if (instruction.has_record())
      return clocks.record(action.stream, instruction.record().event());
    if (instruction.has_wait()) {
      if (!clocks.wait(action.stream, instruction.wait().event()))
        addWait(run, action);
      return;
    }
    Ran now{clocks.next(action.stream), run.sequence(), action.instruction,
            run.microbatch()};
    for (const InstructionOperand &operand : action.operands)
      use(run, action, operand, now);
    if (instruction.has_transfer())
      for (const auto &part : instruction.transfer().parts())
        exchange(action, part, now);
  }

  //===--------------------------------------------------------------------===//
  // Bytes
  //===--------------------------------------------------------------------===//

  /// By stream, the last uses of a segment.
  struct Uses {
    Ran read, write;
  };

  void use(const program::Entry::Run &run, const Action &action,
           const InstructionOperand &operand, const Ran &now) {
    bool writes = operand.access != OperandAccess::Read;
    SharedBytes::Range range =
        shared.of(operand.buffer, copyOf(r.buffers(int(operand.buffer)), run));
    for (uint32_t segment = range.first; segment < range.last; ++segment) {
      Uses *all = &uses[size_t(segment) * streams];
      for (uint32_t s = 0; s < streams; ++s) {
        if (!clocks.hasEnded(s, all[s].write.number, action.stream))
          addRace(action, operand, now, s, all[s].write, true);
        else if (writes &&
                 !clocks.hasEnded(s, all[s].read.number, action.stream))
          addRace(action, operand, now, s, all[s].read, false);
      }
      (writes ? all[action.stream].write : all[action.stream].read) = now;
    }
  }

  ProgramPlace placeOf(const Ran &ran) const {
    return {program, role, int(ran.sequence), int(ran.instruction)};
  }

  const Instruction &instructionAt(const Ran &ran) const {
    return r.sequences(int(ran.sequence)).instructions(int(ran.instruction));
  }

  /// Each pair of instructions once.
  void addRace(const Action &action, const InstructionOperand &operand,
               const Ran &now, uint32_t stream, const Ran &before, bool wrote) {
    if (!said.insert({{before.sequence, before.instruction},
                      {now.sequence, now.instruction}})
             .second)
      return;
    const program::Sequence &other = r.sequences(int(before.sequence));
    faults.add(
        ProgramRule::Race, placeOf(now).text(),
        formatText("%s buffer %u '%s' on stream %u, whose bytes sequence %u "
                   "'%s', instruction %u (%s) %s on stream %u; no event says "
                   "that it has ended (entry '%s', microbatches %u and %u)",
                   operand.access == OperandAccess::Read ? "reads" : "writes",
                   operand.buffer,
                   r.buffers(int(operand.buffer)).name().c_str(), action.stream,
                   before.sequence, other.name().c_str(), before.instruction,
                   instructionText(instructionAt(before), program).c_str(),
                   wrote ? "writes" : "reads", stream, entryName.c_str(),
                   now.microbatch, before.microbatch));
  }

  //===--------------------------------------------------------------------===//
  // Messages and events
  //===--------------------------------------------------------------------===//

  void exchange(const Action &action, const program::Transfer::Part &part,
                const Ran &now) {
    ChannelEnd end{action.source->transfer().group(), part.send(),
                   part.relative(), part.peer(), part.tag()};
    auto [known, isNew] = channels.try_emplace(end, action.stream, now);
    auto [stream, before] = known->second;
    known->second = {action.stream, now};
    if (isNew || clocks.hasEnded(stream, before.number, action.stream) ||
        !said.insert({{before.sequence, before.instruction},
                      {now.sequence, now.instruction}})
             .second)
      return;
    faults.add(
        ProgramRule::MatchedOrder, placeOf(now).text(),
        formatText("%s place %s%u tag %u on stream %u, and sequence %u '%s', "
                   "instruction %u does on stream %u; which comes first is "
                   "chance (entry '%s')",
                   part.send() ? "sends to" : "receives from",
                   part.relative() ? "+" : "", part.peer(), part.tag(),
                   action.stream, before.sequence,
                   r.sequences(int(before.sequence)).name().c_str(),
                   before.instruction, stream, entryName.c_str()));
  }

  void addWait(const program::Entry::Run &run, const Action &action) {
    if (!said.insert({{run.sequence(), action.instruction},
                      {run.sequence(), action.instruction}})
             .second)
      return;
    ProgramPlace place{program, role, int(run.sequence()),
                       int(action.instruction)};
    faults.add(ProgramRule::EventRecorded, place.text(),
               formatText("waits on stream %u for event %u, which nothing has "
                          "recorded before in entry '%s'",
                          action.stream, action.source->wait().event(),
                          entryName.c_str()));
  }

  using Instructions = std::pair<uint32_t, uint32_t>;

  const program::Program &program;
  int role;
  const program::Role &r;
  FaultList &faults;
  uint32_t streams;
  SharedBytes shared;
  StreamClocks clocks;
  std::vector<std::vector<Action>> actions; ///< By sequence.
  std::vector<Uses> uses;                   ///< By segment and stream.
  std::map<ChannelEnd, std::pair<uint32_t, Ran>> channels;
  std::set<std::pair<Instructions, Instructions>> said;
  std::string entryName;
};

} // namespace

void hocket::checkStreams(const program::Program &program, int role,
                          FaultList &faults) {
  StreamChecker(program, role, faults).run();
}
