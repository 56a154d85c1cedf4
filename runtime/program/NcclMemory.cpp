//===- NcclMemory.cpp - What NCCL takes of a GPU's memory -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/NcclMemory.h"

#include "runtime/program/InstructionOperands.h"
#include "runtime/program/MessageTags.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

using namespace hocket;

namespace {
constexpr uint64_t bytesToReceive = uint64_t(10) << 20;
constexpr uint64_t bytesToSend = uint64_t(2) << 20;

/// What a rank of a role uses NCCL for.
struct Uses {
  /// By group and stream: whether everybody sends to everybody.
  std::map<std::pair<uint32_t, uint32_t>, bool> collectives;
  /// Group, tag, peer, whether it is relative, whether it sends.
  std::set<std::array<uint32_t, 5>> messages;
};
} // namespace

static Uses usesOf(const program::Program &program, const program::Role &role) {
  auto shared = sharedTags(program);
  Uses uses;
  for (const program::Sequence &sequence : role.sequences())
    for (const program::Instruction &instruction : sequence.instructions()) {
      if (instruction.has_collective()) {
        const program::Collective &call = instruction.collective();
        uses.collectives[{call.group(), instruction.stream()}] |=
            sendsToAll(call);
      }
      for (const auto &part : instruction.transfer().parts())
        uses.messages.insert(
            {instruction.transfer().group(),
             shared[instruction.transfer().group()][part.tag()], part.peer(),
             part.relative(), part.send()});
    }
  return uses;
}

/// The size of the group's list, and the place in it, of a rank.
static std::pair<uint32_t, uint32_t> placeOf(const program::Group &group,
                                             uint32_t rank) {
  for (const auto &members : group.members()) {
    auto found = std::ranges::find(members.ranks(), rank);
    if (found != members.ranks().end())
      return {uint32_t(members.ranks_size()),
              uint32_t(found - members.ranks().begin())};
  }
  return {0, 0};
}

uint64_t hocket::estimateNcclBytes(const program::Program &program,
                                   const program::Role &role,
                                   unsigned channels) {
  if (role.ranks_size() == 0)
    return 0;
  Uses uses = usesOf(program, role);
  uint64_t sends = 0, receives = 0;
  for (const auto &[where, allToAll] : uses.collectives) {
    auto [size, place] =
        placeOf(program.groups(int(where.first)), role.ranks(0));
    uint64_t peers = size < 2 ? 0 : allToAll ? size - 1 : 1;
    sends += peers;
    receives += peers;
  }
  for (const auto &[group, tag, peer, relative, send] : uses.messages) {
    auto [size, place] = placeOf(program.groups(int(group)), role.ranks(0));
    if (size < 2 || (relative ? peer == 0 : peer == place))
      continue; // Copied.
    ++(send ? sends : receives);
  }
  return channels * (sends * bytesToSend + receives * bytesToReceive);
}

uint64_t hocket::estimateNcclBytes(const program::Program &program) {
  uint64_t most = 0;
  for (const program::Role &role : program.roles())
    most = std::max(most, estimateNcclBytes(program, role));
  return most;
}
