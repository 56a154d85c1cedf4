//===- MemoryValidator.cpp - Whether offsets are a plan -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/MemoryProblem.h"

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Bytes [first, last) of an arena, needed during [lower, upper).
struct Occupied {
  int64_t lower, upper, first, last;
};

std::vector<Occupied> occupiedBy(const MemoryBuffer &buffer, int64_t offset) {
  std::vector<Occupied> all;
  int64_t time = buffer.lower;
  for (const MemoryGap &gap : buffer.gaps) {
    all.push_back({time, gap.lower, offset, offset + buffer.size});
    all.push_back(
        {gap.lower, gap.upper, offset + gap.first, offset + gap.last});
    time = gap.upper;
  }
  all.push_back({time, buffer.upper, offset, offset + buffer.size});
  return all;
}

bool meet(const Occupied &a, const Occupied &b) {
  return a.lower < a.upper && b.lower < b.upper && a.first < a.last &&
         b.first < b.last && a.lower < b.upper && b.lower < a.upper &&
         a.first < b.last && b.first < a.last;
}

bool meet(const std::vector<Occupied> &a, const std::vector<Occupied> &b) {
  for (const Occupied &x : a)
    for (const Occupied &y : b)
      if (meet(x, y))
        return true;
  return false;
}

std::string named(size_t index) { return "buffer " + std::to_string(index); }

Status planError(const std::string &message) {
  return internalError("Q61: " + message);
}

} // namespace

Status hocket::planning::validateMemoryPlan(const MemoryProblem &problem,
                                            const MemoryOffsets &offsets) {
  const auto &buffers = problem.buffers;
  if (offsets.size() != buffers.size())
    return planError("expected an offset for each buffer");
  std::vector<std::vector<Occupied>> occupied;
  for (size_t a = 0; a < buffers.size(); ++a) {
    const MemoryBuffer &buffer = buffers[a];
    if (offsets[a] < 0)
      return planError(named(a) + " has an offset below 0");
    if (!buffer.host && offsets[a] % buffer.alignment != 0)
      return planError(named(a) + " is not aligned");
    if (buffer.offset && offsets[a] != *buffer.offset)
      return planError(named(a) + " is not where it is fixed");
    if (buffer.host && offsets[a] != offsets[*buffer.host] + buffer.within)
      return planError(named(a) + " is not where its host says");
    occupied.push_back(occupiedBy(buffer, offsets[a]));
    auto hostOf = [&](size_t i) {
      return buffers[i].host.value_or(static_cast<int64_t>(i));
    };
    for (size_t b = 0; b < a; ++b)
      if (buffers[b].arena == buffer.arena && hostOf(a) != hostOf(b) &&
          meet(occupied[a], occupied[b]))
        return planError(named(b) + " and " + named(a) + " share bytes");
  }
  return okStatus();
}
