//===- RankPlace.cpp - What follows from a rank's number ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/RankPlace.h"

using namespace hocket;

const program::Group::Members *
hocket::membersOf(const program::Program &program, uint32_t group,
                  uint32_t rank) {
  if (group >= uint32_t(program.groups_size()))
    return nullptr;
  for (const auto &members : program.groups(int(group)).members())
    for (uint32_t member : members.ranks())
      if (member == rank)
        return &members;
  return nullptr;
}

std::optional<uint32_t> hocket::placeInGroup(const program::Program &program,
                                             uint32_t group, uint32_t rank) {
  const program::Group::Members *members = membersOf(program, group, rank);
  for (int i = 0; members && i < members->ranks_size(); ++i)
    if (members->ranks(i) == rank)
      return uint32_t(i);
  return std::nullopt;
}

std::optional<int64_t> hocket::scalarOfRank(const program::Program &program,
                                            const program::Scalar &scalar,
                                            uint32_t rank) {
  if (scalar.has_constant())
    return scalar.constant();
  if (!scalar.has_index_in_group())
    return std::nullopt;
  std::optional<uint32_t> place =
      placeInGroup(program, scalar.index_in_group(), rank);
  int64_t factor = scalar.multiplier() == 0 ? 1 : scalar.multiplier();
  int64_t value = 0;
  if (!place || __builtin_mul_overflow(int64_t(*place), factor, &value) ||
      __builtin_add_overflow(value, scalar.addend(), &value))
    return std::nullopt;
  return value;
}

std::optional<std::vector<uint64_t>>
hocket::sliceStart(const program::Program &program,
                   const program::ParameterSlice &slice, uint32_t rank) {
  std::vector<uint64_t> starts;
  for (const program::Scalar &scalar : slice.start()) {
    std::optional<int64_t> start = scalarOfRank(program, scalar, rank);
    if (!start || *start < 0)
      return std::nullopt;
    starts.push_back(uint64_t(*start));
  }
  return starts;
}
