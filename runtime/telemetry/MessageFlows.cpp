//===- MessageFlows.cpp - Arrows from sends to receives -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/MessageFlows.h"

#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <array>

using namespace hocket;

/// FNV-1a (Fowler, Noll, Vo) of numbers, as many bits as a double has digits.
template <size_t Count>
static uint64_t hashOf(const std::array<uint64_t, Count> &numbers) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t number : numbers)
    for (int byte = 0; byte < 8; ++byte) {
      hash ^= number >> (8 * byte) & 0xff;
      hash *= 0x100000001b3;
    }
  return hash & ((uint64_t(1) << 52) - 1);
}

std::vector<TraceFlow> MessageFlows::of(const program::Transfer &transfer,
                                        uint64_t step) {
  std::vector<TraceFlow> flows;
  const auto *members = membersOf(program, transfer.group(), rank);
  if (!members)
    return flows;
  auto size = uint32_t(members->ranks_size());
  auto own = uint32_t(
      std::find(members->ranks().begin(), members->ranks().end(), rank) -
      members->ranks().begin());
  for (const auto &part : transfer.parts()) {
    uint32_t place = part.relative() ? (own + part.peer()) % size : part.peer();
    if (place >= size)
      continue;
    uint32_t peer = members->ranks(int(place));
    uint32_t from = part.send() ? rank : peer, to = part.send() ? peer : rank;
    uint64_t count =
        counts[{step, transfer.group(), part.tag(), from, to, part.send()}]++;
    if (shows && !shows(peer))
      continue;
    flows.push_back({hashOf(std::array<uint64_t, 6>{
                         step, transfer.group(), part.tag(), from, to, count}),
                     part.send()});
  }
  return flows;
}
