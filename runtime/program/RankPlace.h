//===- RankPlace.h - What follows from a rank's number ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks of one role run the same instructions; what differs is their place in
/// the groups of Program.groups, and numbers that follow from it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_RANKPLACE_H
#define HOCKET_RUNTIME_PROGRAM_RANKPLACE_H

#include "runtime/program/program.pb.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace hocket {

/// Of all roles.
uint32_t countRanks(const program::Program &program);

/// The list of a group that `rank` is in; null if it is in none, or if there is
/// no such group.
const program::Group::Members *membersOf(const program::Program &program,
                                         uint32_t group, uint32_t rank);

/// The place of `rank` in its list of a group; nothing if it is in none.
std::optional<uint32_t> placeInGroup(const program::Program &program,
                                     uint32_t group, uint32_t rank);

/// The same for many questions: looks each group through once.
class RankPlaces {
public:
  explicit RankPlaces(const program::Program &program);

  /// placeInGroup().
  std::optional<uint32_t> of(uint32_t group, uint32_t rank) const;
  /// The first rank of the list of `rank`; nothing if it is in none.
  std::optional<uint32_t> firstOf(uint32_t group, uint32_t rank) const;
  /// scalarOfRank().
  std::optional<int64_t> scalar(const program::Scalar &scalar,
                                uint32_t rank) const;
  /// sliceStart().
  std::optional<std::vector<uint64_t>>
  sliceStart(const program::ParameterSlice &slice, uint32_t rank) const;

private:
  struct Place {
    uint32_t place, first;
  };
  std::vector<std::unordered_map<uint32_t, Place>> places; ///< By group.
};

/// A scalar that the rank alone decides: a constant or a place in a group.
/// Nothing for a value of the step, a rank outside the group, or overflow.
std::optional<int64_t> scalarOfRank(const program::Program &program,
                                    const program::Scalar &scalar,
                                    uint32_t rank);

/// Where a slice starts in the global tensor, one a dim. Nothing if a dim's
/// start is no number of the rank's, or negative.
std::optional<std::vector<uint64_t>>
sliceStart(const program::Program &program,
           const program::ParameterSlice &slice, uint32_t rank);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_RANKPLACE_H
