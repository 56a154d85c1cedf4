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

namespace {
/// How instructions use a group.
struct GroupUse {
  std::set<uint32_t> streams, collectiveStreams, tags;
};
} // namespace

static std::vector<GroupUse> usesOfGroups(const program::Program &program) {
  std::vector<GroupUse> uses(size_t(program.groups_size()));
  for (const program::Role &role : program.roles())
    for (const program::Sequence &sequence : role.sequences())
      for (const program::Instruction &instruction : sequence.instructions()) {
        if (instruction.has_collective()) {
          GroupUse &use = uses[instruction.collective().group()];
          use.streams.insert(instruction.stream());
          use.collectiveStreams.insert(instruction.stream());
        }
        if (instruction.has_transfer()) {
          GroupUse &use = uses[instruction.transfer().group()];
          use.streams.insert(instruction.stream());
          for (const auto &part : instruction.transfer().parts())
            use.tags.insert(part.tag());
        }
      }
  return uses;
}

comm::GroupTable hocket::groupTableOf(const program::Program &program) {
  comm::GroupTable table;
  table.ranks = rankCount(program);
  std::vector<GroupUse> uses = usesOfGroups(program);
  for (int g = 0; g < program.groups_size(); ++g) {
    comm::RankGroup group;
    group.name = program.groups(g).name();
    for (const auto &members : program.groups(g).members())
      group.lists.emplace_back(members.ranks().begin(), members.ranks().end());
    const GroupUse &use = uses[size_t(g)];
    group.streams.assign(use.streams.begin(), use.streams.end());
    group.collectiveStreams.assign(use.collectiveStreams.begin(),
                                   use.collectiveStreams.end());
    group.tags.assign(use.tags.begin(), use.tags.end());
    table.groups.push_back(std::move(group));
  }
  return table;
}
