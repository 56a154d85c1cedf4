//===- RankSlice.cpp - What one rank holds of a parameter -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/values/RankSlice.h"

#include <algorithm>

using namespace hocket;

bool RankSlice::isEmpty() const {
  return std::count(inside.begin(), inside.end(), 0u) != 0;
}

RankSlice RankSlice::of(const program::Program &program,
                        const RankPlaces &places,
                        const program::ParameterSlice &slice, unsigned rank) {
  const program::Parameter &parameter =
      program.parameters(int(slice.parameter()));
  RankSlice result;
  result.shape.assign(parameter.shape().begin(), parameter.shape().end());
  for (const auto &slot : parameter.slots())
    if (slot.name() == slice.state())
      result.shape.assign(slot.shape().begin(), slot.shape().end());
  result.size.assign(slice.size().begin(), slice.size().end());
  result.start = places.sliceStart(slice, rank)
                     .value_or(std::vector<uint64_t>(result.size.size()));
  for (size_t d = 0; d < result.size.size(); ++d) {
    uint64_t begin = std::min(result.start[d], result.shape[d]);
    result.inside.push_back(std::min(result.size[d], result.shape[d] - begin));
  }
  result.saves = std::all_of(
      slice.replicas().begin(), slice.replicas().end(),
      [&](uint32_t group) { return places.of(group, rank).value_or(0) == 0; });
  return result;
}
