//===- Meetings.cpp - Ranks that wait for each other ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/Meetings.h"

#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <set>

using namespace hocket;

Meetings::Meetings(const program::Program &program) : program(program) {
  for (int r = 0; r < program.roles_size(); ++r)
    for (uint32_t rank : program.roles(r).ranks())
      roles.emplace(rank, uint32_t(r));
}

Meeting *Meetings::meet(uint32_t group, uint64_t tag, std::vector<uint32_t> who,
                        uint32_t role, bool sends, size_t wanted, double when) {
  uint64_t time = counts[{group, tag, who, role, sends}]++;
  Meeting &meeting = meetings[{group, tag, std::move(who), time}];
  meeting.wanted = wanted;
  meeting.arrive(when);
  return &meeting;
}

std::vector<Meeting *> Meetings::come(uint32_t role,
                                      const program::Instruction &instruction,
                                      double when) {
  bool collective = instruction.has_collective();
  uint32_t group = collective ? instruction.collective().group()
                              : instruction.transfer().group();
  uint32_t own = program.roles(int(role)).ranks(0);
  const auto *members = membersOf(program, group, own);
  std::vector<Meeting *> result;
  if (!members)
    return result;
  if (collective) {
    std::set<uint32_t> who;
    for (uint32_t rank : members->ranks())
      who.insert(roleOf(rank));
    if (who.size() > 1)
      result.push_back(meet(group, 0, {who.begin(), who.end()}, role, true,
                            who.size(), when));
    return result;
  }
  uint32_t place = placeInGroup(program, group, own).value_or(0);
  auto size = uint32_t(members->ranks_size());
  for (const auto &part : instruction.transfer().parts()) {
    uint32_t at = part.relative() ? (place + part.peer()) % size : part.peer();
    uint32_t peer = roleOf(members->ranks(int(at)));
    std::vector<uint32_t> who = {part.send() ? role : peer,
                                 part.send() ? peer : role};
    result.push_back(meet(group, uint64_t(part.tag()) + 1, std::move(who), role,
                          part.send(), 2, when));
  }
  return result;
}
