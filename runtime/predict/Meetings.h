//===- Meetings.h - Ranks that wait for each other --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Collectives and messages of a simulated program, between roles. The k-th
/// collective that a role calls in a group meets the k-th of the other roles,
/// the k-th send with a tag the k-th receive with it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_MEETINGS_H
#define HOCKET_RUNTIME_PREDICT_MEETINGS_H

#include "runtime/program/program.pb.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace hocket {

/// Where those who took part may go on from; filled as they come.
struct Meeting {
  size_t wanted = 0, arrived = 0;
  double last = 0; ///< When the last came.

  bool complete() const { return arrived == wanted; }
  void arrive(double when) {
    last = arrived == 0 ? when : std::max(last, when);
    ++arrived;
  }
};

class Meetings {
public:
  explicit Meetings(const program::Program &program);

  /// Notes that `role` comes to its next collective or transfer; the result is
  /// every meeting that it must see complete, and stays valid.
  std::vector<Meeting *>
  come(uint32_t role, const program::Instruction &instruction, double when);

private:
  /// group, 1 + tag of a message or 0, the roles that meet, which time.
  using Key = std::tuple<uint32_t, uint64_t, std::vector<uint32_t>, uint64_t>;
  /// As above but the last, who comes, and whether it sends.
  using Counter =
      std::tuple<uint32_t, uint64_t, std::vector<uint32_t>, uint32_t, bool>;

  /// The role of a rank; the program has one for every rank.
  uint32_t roleOf(uint32_t rank) const { return roles.at(rank); }
  Meeting *meet(uint32_t group, uint64_t tag, std::vector<uint32_t> who,
                uint32_t role, bool sends, size_t wanted, double when);

  const program::Program &program;
  std::map<uint32_t, uint32_t> roles; ///< By rank.
  std::map<Key, Meeting> meetings;
  std::map<Counter, uint64_t> counts;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_MEETINGS_H
