//===- RankPlace.cpp - What follows from a rank's number ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/RankPlace.h"

using namespace hocket;

uint32_t hocket::countRanks(const program::Program &program) {
  uint32_t count = 0;
  for (const program::Role &role : program.roles())
    count += uint32_t(role.ranks_size());
  return count;
}

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

RankPlaces::RankPlaces(const program::Program &program) {
  for (const program::Group &group : program.groups()) {
    places.emplace_back();
    for (const auto &members : group.members())
      for (int i = 0; i < members.ranks_size(); ++i)
        places.back().try_emplace(members.ranks(i),
                                  Place{uint32_t(i), members.ranks(0)});
  }
}

std::optional<uint32_t> RankPlaces::of(uint32_t group, uint32_t rank) const {
  if (group >= places.size())
    return std::nullopt;
  auto found = places[group].find(rank);
  return found == places[group].end() ? std::nullopt
                                      : std::optional(found->second.place);
}

std::optional<uint32_t> RankPlaces::firstOf(uint32_t group,
                                            uint32_t rank) const {
  if (group >= places.size())
    return std::nullopt;
  auto found = places[group].find(rank);
  return found == places[group].end() ? std::nullopt
                                      : std::optional(found->second.first);
}

/// `place` is asked for the place in the group that the scalar names.
template <typename Place>
static std::optional<int64_t> valueOf(const program::Scalar &scalar,
                                      Place &&place) {
  if (scalar.has_constant())
    return scalar.constant();
  if (!scalar.has_index_in_group())
    return std::nullopt;
  std::optional<uint32_t> index = place(scalar.index_in_group());
  int64_t factor = scalar.multiplier() == 0 ? 1 : scalar.multiplier();
  int64_t value = 0;
  if (!index || __builtin_mul_overflow(int64_t(*index), factor, &value) ||
      __builtin_add_overflow(value, scalar.addend(), &value))
    return std::nullopt;
  return value;
}

template <typename Place>
static std::optional<std::vector<uint64_t>>
startOf(const program::ParameterSlice &slice, Place &&place) {
  std::vector<uint64_t> starts;
  for (const program::Scalar &scalar : slice.start()) {
    std::optional<int64_t> start = valueOf(scalar, place);
    if (!start || *start < 0)
      return std::nullopt;
    starts.push_back(uint64_t(*start));
  }
  return starts;
}

std::optional<int64_t> hocket::scalarOfRank(const program::Program &program,
                                            const program::Scalar &scalar,
                                            uint32_t rank) {
  return valueOf(scalar, [&](uint32_t group) {
    return placeInGroup(program, group, rank);
  });
}

std::optional<std::vector<uint64_t>>
hocket::sliceStart(const program::Program &program,
                   const program::ParameterSlice &slice, uint32_t rank) {
  return startOf(slice, [&](uint32_t group) {
    return placeInGroup(program, group, rank);
  });
}

std::optional<std::vector<uint64_t>>
RankPlaces::sliceStart(const program::ParameterSlice &slice,
                       uint32_t rank) const {
  return startOf(slice, [&](uint32_t group) { return of(group, rank); });
}

std::optional<int64_t> RankPlaces::scalar(const program::Scalar &scalar,
                                          uint32_t rank) const {
  return valueOf(scalar, [&](uint32_t group) { return of(group, rank); });
}
