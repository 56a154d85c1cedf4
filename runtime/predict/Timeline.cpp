//===- Timeline.cpp - When every instruction would run --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/Timeline.h"

#include "base/Format.h"
#include "runtime/predict/Meetings.h"
#include "runtime/program/Entries.h"
#include "runtime/program/InstructionOperands.h"

#include <algorithm>
#include <deque>

using namespace hocket;
using program::Instruction;

namespace {

/// What all roles share.
struct World {
  const program::Program &program;
  const InstructionCosts &costs;
  const SpanListener &listener;
  Meetings meetings;
};

/// One role on simulated time.
class RoleRun {
public:
  RoleRun(World &world, uint32_t index, const program::Entry &entry)
      : world(world), index(index), role(world.program.roles(int(index))),
        entry(entry), streams(std::max(1u, role.streams())),
        events(role.events()), costs(size_t(role.sequences_size())) {}

  /// Goes on until everything is done or waits. Whether anything was done.
  bool advance() {
    bool any = false;
    for (bool more = true; more;) {
      more = issueSome();
      for (uint32_t s = 0; s < streams.size(); ++s)
        while (!streams[s].queue.empty() && runFirst(s))
          more = true;
      any |= more;
    }
    return any;
  }

  bool done() const {
    return run == entry.runs_size() &&
           std::all_of(streams.begin(), streams.end(),
                       [](const Stream &s) { return s.queue.empty(); });
  }

  double end() const {
    double last = 0;
    for (const Stream &stream : streams)
      last = std::max(last, stream.free);
    return last;
  }

  /// What the first stream that waits waits for.
  std::string whereItWaits() const {
    for (const Stream &stream : streams)
      if (!stream.queue.empty()) {
        const Item &item = stream.queue.front();
        return formatText(
            "role '%s', sequence '%s', instruction %u (%s)",
            role.name().c_str(),
            role.sequences(int(item.sequence)).name().c_str(), item.instruction,
            instructionText(instructionOf(item), world.program).c_str());
      }
    return "role '" + role.name() + "'";
  }

private:
  struct Item {
    uint32_t run = 0, sequence = 0, instruction = 0;
    uint64_t ticket = 0; ///< Of an event.
    double issued = 0;   ///< When stream 0 had come there.
  };
  struct Record {
    double time = -1; ///< When it was over; < 0: not yet.
    Item behind;      ///< What it was recorded behind.
  };
  struct Stream {
    double free = 0; ///< When what it has done is over.
    std::deque<Item> queue;
    Item last; ///< The last that was called.
    /// Since then: seconds that events took, and what the longest stood behind.
    double stall = 0, longest = 0;
    Item behind;
    bool waits = false; ///< Whether its first item has come to its meetings.
    std::vector<Meeting *> meetings;
  };

  const Instruction &instructionOf(const Item &item) const {
    return role.sequences(int(item.sequence))
        .instructions(int(item.instruction));
  }

  /// Hands the next instruction to its stream, unless stream 0 still works.
  bool issueSome() {
    if (!streams[0].queue.empty())
      return false;
    while (run < entry.runs_size() &&
           next == role.sequences(int(entry.runs(run).sequence()))
                       .instructions_size()) {
      ++run;
      next = 0;
    }
    if (run == entry.runs_size())
      return false;
    if (next == 0)
      host = std::max(host, streams[0].free);
    Item item{uint32_t(run), entry.runs(run).sequence(), uint32_t(next++), 0,
              0};
    const Instruction &instruction = instructionOf(item);
    host += world.costs.hostSeconds(instruction);
    item.issued = std::max(streams[0].free, host);
    if (instruction.has_record()) {
      std::vector<Record> &records = events[instruction.record().event()];
      records.emplace_back();
      item.ticket = records.size();
    } else if (instruction.has_wait()) {
      item.ticket = events[instruction.wait().event()].size();
    }
    streams[instruction.stream()].queue.push_back(item);
    return true;
  }

  /// Does the first item of a stream; false if it has to wait.
  bool runFirst(uint32_t s) {
    Stream &stream = streams[s];
    const Item item = stream.queue.front();
    const Instruction &instruction = instructionOf(item);
    if (instruction.has_record())
      events[instruction.record().event()][item.ticket - 1] = {stream.free,
                                                               stream.last};
    else if (instruction.has_wait() && !awaitEvent(stream, item, instruction))
      return false;
    else if (!instruction.has_wait() && !call(s, item, instruction))
      return false;
    stream.queue.pop_front();
    return true;
  }

  bool awaitEvent(Stream &stream, const Item &item,
                  const Instruction &instruction) {
    if (item.ticket == 0)
      return true; // Nothing was recorded before.
    const Record &record = events[instruction.wait().event()][item.ticket - 1];
    if (record.time < 0)
      return false;
    double stall = record.time - stream.free;
    if (stall <= 0)
      return true;
    if (stall > stream.longest) {
      stream.longest = stall;
      stream.behind = record.behind;
    }
    stream.stall += stall;
    stream.free = record.time;
    return true;
  }

  bool call(uint32_t s, const Item &item, const Instruction &instruction) {
    Stream &stream = streams[s];
    double begin = std::max(stream.free, item.issued), start = begin;
    if (instruction.has_collective() || instruction.has_transfer()) {
      if (!stream.waits)
        stream.meetings = world.meetings.come(index, instruction, begin);
      stream.waits = true;
      for (const Meeting *meeting : stream.meetings) {
        if (!meeting->complete())
          return false;
        start = std::max(start, meeting->last);
      }
      stream.waits = false;
    }
    double free = start + costOf(item, instruction);
    if (world.listener)
      world.listener({index, item.run, item.sequence, item.instruction, s,
                      entry.runs(int(item.run)).microbatch(), begin, free,
                      start - begin, begin - stream.free, stream.stall,
                      stream.behind.sequence, stream.behind.instruction});
    stream.free = free;
    stream.last = item;
    stream.stall = stream.longest = 0;
    return true;
  }

  /// Asked for once an instruction.
  double costOf(const Item &item, const Instruction &instruction) {
    std::vector<double> &known = costs[item.sequence];
    if (known.empty())
      known.assign(
          size_t(role.sequences(int(item.sequence)).instructions_size()), -1);
    double &cost = known[item.instruction];
    if (cost < 0)
      cost = world.costs.seconds(instruction, role, world.program);
    return cost;
  }

  World &world;
  uint32_t index;
  const program::Role &role;
  const program::Entry &entry;
  std::vector<Stream> streams;
  std::vector<std::vector<Record>> events;
  std::vector<std::vector<double>> costs; ///< By sequence; < 0: unknown.
  int run = 0, next = 0;                  ///< What is issued next.
  double host = 0; ///< When the host has issued what came before.
};

} // namespace

StatusOr<double> hocket::predictTimeline(const program::Program &program,
                                         const std::string &entry,
                                         const InstructionCosts &costs,
                                         const SpanListener &listener) {
  World world{program, costs, listener, Meetings(program)};
  std::vector<RoleRun> roles;
  for (int r = 0; r < program.roles_size(); ++r)
    for (const program::Entry &known : program.roles(r).entries())
      if (known.name() == entry)
        roles.emplace_back(world, uint32_t(r), known);
  if (roles.empty())
    return notFound(missingEntryText(program, entry));
  for (bool more = true; more;) {
    more = false;
    for (RoleRun &role : roles)
      more |= role.advance();
  }
  double end = 0;
  for (const RoleRun &role : roles) {
    if (!role.done())
      return failedPrecondition(
          "the ranks wait for each other: " + role.whereItWaits() +
          " waits for what never comes");
    end = std::max(end, role.end());
  }
  return end + costs.outsideSeconds();
}
