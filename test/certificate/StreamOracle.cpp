//===- StreamOracle.cpp - Races, found by brute force ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/certificate/StreamOracle.h"

#include "runtime/program/InstructionOperands.h"

#include <map>
#include <vector>

using namespace hocket;
using namespace hocket::test;

namespace {

struct Touch {
  uint64_t begin, end;
  bool writes;
};

/// One instruction of one run.
struct Event {
  uint32_t stream;
  std::vector<Touch> touches;
  std::vector<bool> before; ///< By event, whether it has surely ended.
};

class Closure {
public:
  Closure(const program::Program &program, const program::Role &role)
      : program(program), role(role) {}

  StreamFaults check(const program::Entry &entry) {
    for (const auto &run : entry.runs())
      for (const auto &instruction :
           role.sequences(int(run.sequence())).instructions())
        add(instruction, run);
    for (size_t later = 0; later < events.size(); ++later)
      for (size_t early = 0; early < later; ++early)
        faults.race |= events[early].stream != events[later].stream &&
                       !events[later].before[early] &&
                       meet(events[early], events[later]);
    return faults;
  }

private:
  void add(const program::Instruction &instruction,
           const program::Entry::Run &run) {
    size_t number = events.size();
    Event event{instruction.stream(), {}, std::vector<bool>(number)};
    auto follow = [&](size_t other) {
      for (size_t i = 0; i < other; ++i)
        if (events[other].before[i])
          event.before[i] = true;
      event.before[other] = true;
    };
    if (auto last = lastOf.find(event.stream); last != lastOf.end())
      follow(last->second);
    if (instruction.has_wait()) {
      auto record = records.find(instruction.wait().event());
      if (record == records.end())
        faults.unrecorded = true;
      else
        follow(record->second);
    }
    for (const InstructionOperand &operand : operandsOf(instruction, program)) {
      const program::Buffer &buffer = role.buffers(int(operand.buffer));
      uint64_t begin = buffer.offset();
      if (buffer.slots() > 1)
        begin += (buffer.by_microbatch() ? run.microbatch() % buffer.slots()
                                         : run.slot()) *
                 buffer.slot_stride();
      event.touches.push_back({begin, begin + buffer.bytes(),
                               operand.access != OperandAccess::Read});
    }
    if (instruction.has_record())
      records[instruction.record().event()] = number;
    lastOf[event.stream] = number;
    events.push_back(std::move(event));
  }

  static bool meet(const Event &a, const Event &b) {
    for (const Touch &x : a.touches)
      for (const Touch &y : b.touches)
        if (x.begin < y.end && y.begin < x.end && (x.writes || y.writes))
          return true;
    return false;
  }

  const program::Program &program;
  const program::Role &role;
  StreamFaults faults;
  std::vector<Event> events;
  std::map<uint32_t, size_t> lastOf, records;
};

} // namespace

StreamFaults hocket::test::streamFaults(const program::Program &program,
                                        int role) {
  StreamFaults faults;
  const program::Role &r = program.roles(role);
  for (const program::Entry &entry : r.entries()) {
    StreamFaults found = Closure(program, r).check(entry);
    faults.race |= found.race;
    faults.unrecorded |= found.unrecorded;
  }
  return faults;
}
