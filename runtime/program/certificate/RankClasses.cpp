//===- RankClasses.cpp - Ranks that nothing tells apart -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/RankClasses.h"

#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <map>

using namespace hocket;

RankClasses::RankClasses(const program::Program &program) : program(program) {
  roles.resize(countRanks(program));
  for (int role = 0; role < program.roles_size(); ++role)
    for (uint32_t rank : program.roles(role).ranks())
      roles[rank] = uint32_t(role);
  findPlaces();
  findReach();
  colors = roles;
  while (refine())
    ;
}

void RankClasses::findPlaces() {
  for (const program::Group &group : program.groups()) {
    places.emplace_back(roles.size());
    for (int l = 0; l < group.members_size(); ++l)
      for (int p = 0; p < group.members(l).ranks_size(); ++p)
        places.back()[group.members(l).ranks(p)] = {uint32_t(l), uint32_t(p)};
  }
}

void RankClasses::findReach() {
  for (const program::Role &role : program.roles()) {
    Reach &found = reach.emplace_back();
    for (const program::Sequence &sequence : role.sequences())
      for (const program::Instruction &instruction : sequence.instructions()) {
        if (instruction.has_collective())
          found.collectives.insert(instruction.collective().group());
        if (!instruction.has_transfer())
          continue;
        const program::Transfer &transfer = instruction.transfer();
        for (const auto &part : transfer.parts()) {
          found.peers.insert({transfer.group(), part.relative(), part.peer()});
          if (!part.relative())
            absolute.insert(transfer.group());
        }
      }
  }
}

uint32_t RankClasses::peerOf(uint32_t group, uint32_t rank, bool relative,
                             uint32_t peer) const {
  uint32_t size = groupSize(group);
  uint64_t place = relative ? uint64_t(placeOf(group, rank)) + peer : peer;
  return rankAt(group, rank, uint32_t(place % size));
}

/// By list of the group, a number for the colours of its members.
std::vector<uint32_t> RankClasses::listColors(uint32_t group) const {
  std::map<std::vector<uint32_t>, uint32_t> known;
  std::vector<uint32_t> result;
  for (const auto &members : program.groups(int(group)).members()) {
    std::vector<uint32_t> list;
    for (uint32_t rank : members.ranks())
      list.push_back(colors[rank]);
    std::sort(list.begin(), list.end());
    result.push_back(known.try_emplace(std::move(list), uint32_t(known.size()))
                         .first->second);
  }
  return result;
}

/// Gives ranks of one colour several where what they reach differs; whether it
/// has.
bool RankClasses::refine() {
  std::vector<std::vector<uint32_t>> ofLists;
  for (int g = 0; g < program.groups_size(); ++g)
    ofLists.push_back(listColors(uint32_t(g)));
  size_t before = first.size();
  std::map<std::vector<uint32_t>, uint32_t> known;
  std::vector<uint32_t> next(colors.size());
  first.clear();
  sizes.clear();
  for (uint32_t rank = 0; rank < colors.size(); ++rank) {
    const Reach &own = reach[roles[rank]];
    std::vector<uint32_t> key = {colors[rank]};
    for (uint32_t group : own.collectives)
      key.push_back(ofLists[group][places[group][rank].list]);
    for (const Peer &peer : own.peers) {
      key.push_back(colors[peerOf(peer.group, rank, peer.relative, peer.peer)]);
      if (absolute.count(peer.group))
        key.push_back(placeOf(peer.group, rank));
    }
    auto [entry, isNew] = known.try_emplace(std::move(key), first.size());
    next[rank] = entry->second;
    if (isNew) {
      first.push_back(rank);
      sizes.push_back(0);
    }
    ++sizes[next[rank]];
  }
  colors = std::move(next);
  return first.size() > before;
}
