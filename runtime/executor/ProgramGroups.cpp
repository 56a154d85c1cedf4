//===- ProgramGroups.cpp - Communicators that a program needs -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/ProgramGroups.h"

#include <set>

using namespace hocket;

unsigned hocket::rankCount(const program::Program &program) {
  int ranks = 0;
  for (const program::Role &role : program.roles())
    ranks += role.ranks_size();
  return unsigned(ranks);
}

/// By group, the streams of its collectives and transfers.
static std::vector<std::set<uint32_t>>
streamsOfGroups(const program::Program &program) {
  std::vector<std::set<uint32_t>> streams(size_t(program.groups_size()));
  for (const program::Role &role : program.roles())
    for (const program::Sequence &sequence : role.sequences())
      for (const program::Instruction &instruction : sequence.instructions()) {
        if (instruction.has_collective())
          streams[instruction.collective().group()].insert(
              instruction.stream());
        if (instruction.has_transfer())
          streams[instruction.transfer().group()].insert(instruction.stream());
      }
  return streams;
}

comm::GroupTable hocket::groupTableOf(const program::Program &program) {
  comm::GroupTable table;
  table.ranks = rankCount(program);
  auto streams = streamsOfGroups(program);
  for (int g = 0; g < program.groups_size(); ++g) {
    comm::RankGroup group;
    group.name = program.groups(g).name();
    for (const auto &members : program.groups(g).members())
      group.lists.emplace_back(members.ranks().begin(), members.ranks().end());
    group.streams.assign(streams[size_t(g)].begin(), streams[size_t(g)].end());
    table.groups.push_back(std::move(group));
  }
  return table;
}
