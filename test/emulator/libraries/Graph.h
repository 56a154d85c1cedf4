//===- Graph.h - Work of an emulated GPU that is kept -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_LIBRARIES_GRAPH_H
#define HOCKET_TEST_EMULATOR_LIBRARIES_GRAPH_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hocket::emulator {

struct Stream;
class Meeting;

/// Something that a stream does; empty, or what went wrong.
using Work = std::function<std::string()>;

/// What streams were told while they were captured. The first branch is that of
/// the stream with which it began; others begin where they wait for an event of
/// a branch, and end where a branch waits for theirs.
struct Graph {
  static constexpr size_t none = ~size_t(0);

  struct Node {
    size_t branch = 0;
    Work work = nullptr;  ///< Null: an event or a meeting.
    size_t awaits = none; ///< The node of the event's record; none: a record.
    bool isKernel = false;
    std::shared_ptr<Meeting> meeting = nullptr; ///< A launch is again() of it.
  };
  std::vector<Node> nodes; ///< In the order of issue.
  uint64_t id = 0;         ///< From 1.
  uint64_t launches = 0;   ///< So far.
  size_t branches = 1;
  bool isInvalid = false;        ///< Something was asked for that cannot be.
  std::vector<Stream *> streams; ///< That do the branches but the first.

  /// Whether the first branch waits, in the end, for all others.
  bool isJoined() const {
    std::vector<bool> joined(branches);
    joined[0] = true;
    // Backwards: a branch is joined at its last node, or not at all.
    std::vector<bool> hasEnded(branches);
    std::vector<bool> isAwaited(nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node &node = nodes[i];
      if (!hasEnded[node.branch] && node.branch != 0)
        joined[node.branch] = isAwaited[i];
      hasEnded[node.branch] = true;
      if (node.awaits != none && joined[node.branch])
        isAwaited[node.awaits] = true;
    }
    for (size_t branch = 1; branch < branches; ++branch)
      if (!joined[branch])
        return false;
    return true;
  }
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_LIBRARIES_GRAPH_H
