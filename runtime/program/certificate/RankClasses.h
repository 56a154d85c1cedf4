//===- RankClasses.h - Ranks that nothing tells apart -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two ranks are of one class if they have one role and whatever they
/// communicate with is of one class too: the coarsest partition that is stable
/// under this (colour refinement). Then what holds for one rank of a class
/// holds for all of them:
///
///  - a rank has a partner of class C exactly if every rank of its class does;
///  - a chain of waits over classes can be followed over ranks from any rank
///    of its first class, so that waits close to a circle over classes exactly
///    if they do over ranks: following it forever, some rank comes twice.
///
/// A plan has a class for each pipeline rank, however many ranks share it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CERTIFICATE_RANKCLASSES_H
#define HOCKET_RUNTIME_PROGRAM_CERTIFICATE_RANKCLASSES_H

#include "runtime/program/program.pb.h"

#include <cstdint>
#include <set>
#include <vector>

namespace hocket {

class RankClasses {
public:
  static constexpr uint32_t nowhere = ~0u;

  /// Wants sound ranks, groups and instructions.
  explicit RankClasses(const program::Program &program);

  uint32_t count() const { return uint32_t(first.size()); }
  uint32_t classOf(uint32_t rank) const { return colors[rank]; }
  /// The lowest rank of a class, and its role.
  uint32_t rankOf(uint32_t index) const { return first[index]; }
  uint32_t roleOf(uint32_t index) const { return roles[first[index]]; }
  uint32_t roleOfRank(uint32_t rank) const { return roles[rank]; }
  /// How many ranks are of a class.
  uint32_t size(uint32_t index) const { return sizes[index]; }

  /// The place of a rank in its list of a group, the list's size, and the rank
  /// at another place of it. The rank is in the group.
  uint32_t placeOf(uint32_t group, uint32_t rank) const {
    return places[group][rank].place;
  }
  uint32_t groupSize(uint32_t group) const {
    return uint32_t(program.groups(int(group)).members(0).ranks_size());
  }
  bool isIn(uint32_t group, uint32_t rank) const {
    return places[group][rank].list != nowhere;
  }
  uint32_t rankAt(uint32_t group, uint32_t rank, uint32_t place) const {
    return listOf(group, rank).ranks(int(place));
  }
  const program::Group::Members &listOf(uint32_t group, uint32_t rank) const {
    return program.groups(int(group)).members(int(places[group][rank].list));
  }
  /// The rank that a part of a transfer names.
  uint32_t peerOf(uint32_t group, uint32_t rank, bool relative,
                  uint32_t peer) const;

private:
  struct Place {
    uint32_t list = nowhere, place = 0;
  };
  struct Peer {
    uint32_t group;
    bool relative;
    uint32_t peer;
    auto operator<=>(const Peer &) const = default;
  };
  /// Whom the ranks of a role communicate with.
  struct Reach {
    std::set<uint32_t> collectives; ///< Groups.
    std::set<Peer> peers;
  };

  void findPlaces();
  void findReach();
  std::vector<uint32_t> listColors(uint32_t group) const;
  bool refine();

  const program::Program &program;
  std::vector<uint32_t> roles, colors;    ///< By rank.
  std::vector<uint32_t> first, sizes;     ///< By class.
  std::vector<std::vector<Place>> places; ///< By group and rank.
  std::vector<Reach> reach;               ///< By role.
  std::set<uint32_t> absolute; ///< Groups where peers are named by place.
};

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CERTIFICATE_RANKCLASSES_H
