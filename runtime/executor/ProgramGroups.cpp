//===- ProgramGroups.cpp - Communicators that a program needs -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/ProgramGroups.h"

#include "runtime/program/InstructionOperands.h"
#include "runtime/program/MessageTags.h"
#include "runtime/program/RankPlace.h"
#include "runtime/program/certificate/IssueOrder.h"

#include <algorithm>
#include <array>
#include <set>

using namespace hocket;

namespace {
/// How instructions use a group.
struct GroupUse {
  std::set<uint32_t> streams, collectiveStreams, allToAllStreams, tags;
  std::map<uint32_t, std::set<std::pair<unsigned, unsigned>>> links;
};
} // namespace

/// Adds what the ranks of a role send and receive by one part of a transfer.
static void addLinks(const program::Role &role, const program::Group &group,
                     const program::Transfer::Part &part, GroupUse &use) {
  for (const auto &members : group.members())
    for (int place = 0; place < members.ranks_size(); ++place) {
      uint32_t rank = members.ranks(place);
      if (std::ranges::find(role.ranks(), rank) == role.ranks().end())
        continue;
      auto peer =
          (part.relative() ? uint32_t(place) + part.peer() : part.peer()) %
          uint32_t(members.ranks_size());
      uint32_t other = members.ranks(int(peer));
      use.links[part.tag()].insert(part.send() ? std::pair(rank, other)
                                               : std::pair(other, rank));
    }
}

static std::vector<GroupUse> usesOfGroups(const program::Program &program) {
  std::vector<GroupUse> uses(size_t(program.groups_size()));
  for (const program::Role &role : program.roles()) {
    // Most transfers of a role are like others.
    std::set<std::array<uint32_t, 5>> known;
    for (const program::Sequence &sequence : role.sequences())
      for (const program::Instruction &instruction : sequence.instructions()) {
        if (instruction.has_collective()) {
          GroupUse &use = uses[instruction.collective().group()];
          use.streams.insert(instruction.stream());
          use.collectiveStreams.insert(instruction.stream());
          if (sendsToAll(instruction.collective()))
            use.allToAllStreams.insert(instruction.stream());
        }
        if (instruction.has_transfer()) {
          GroupUse &use = uses[instruction.transfer().group()];
          use.streams.insert(instruction.stream());
          for (const auto &part : instruction.transfer().parts()) {
            use.tags.insert(part.tag());
            if (known
                    .insert({instruction.transfer().group(), part.tag(),
                             part.peer(), part.send(), part.relative()})
                    .second)
              addLinks(role,
                       program.groups(int(instruction.transfer().group())),
                       part, use);
          }
        }
      }
  }
  return uses;
}

comm::GroupTable hocket::groupTableOf(const program::Program &program) {
  comm::GroupTable table;
  table.ranks = countRanks(program);
  table.atOnce = std::max(1U, streamsThatCommunicate(program));
  std::vector<GroupUse> uses = usesOfGroups(program);
  auto shared = sharedTags(program);
  for (int g = 0; g < program.groups_size(); ++g) {
    comm::RankGroup group;
    group.name = program.groups(g).name();
    for (const auto &members : program.groups(g).members())
      group.lists.emplace_back(members.ranks().begin(), members.ranks().end());
    const GroupUse &use = uses[size_t(g)];
    group.streams.assign(use.streams.begin(), use.streams.end());
    group.collectiveStreams.assign(use.collectiveStreams.begin(),
                                   use.collectiveStreams.end());
    group.allToAllStreams.assign(use.allToAllStreams.begin(),
                                 use.allToAllStreams.end());
    group.tags.assign(use.tags.begin(), use.tags.end());
    group.links = use.links;
    group.sharedTags = shared[uint32_t(g)];
    table.groups.push_back(std::move(group));
  }
  return table;
}
