//===- ScheduleOracle.h - Whether an order can run, once more ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A second opinion on complete schedules, made in another way than the
/// verifier: a graph of all actions, with an edge for everything that has to
/// come before something else, is drawn and checked for circles.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_PASSES_PLANNING_SCHEDULEORACLE_H
#define HOCKET_TEST_PASSES_PLANNING_SCHEDULEORACLE_H

#include "passes/planning/Schedule.h"

#include <map>
#include <tuple>
#include <vector>

namespace hocket::planning {

class ScheduleOracle {
public:
  /// Of a schedule in which every action is there once.
  explicit ScheduleOracle(const Schedule &schedule) : shape(schedule.shape) {
    for (int64_t rank = 0; rank < shape.ranks; ++rank)
      for (const Action &action : schedule.ranks[rank]) {
        int64_t stage = shape.stageOf(rank, action.chunk);
        for (char part : spelled(action.kind))
          node[{part, stage, action.microbatch}] = count;
        rankOfNode.push_back(rank);
        ++count;
      }
    for (int64_t i = 1; i < count; ++i)
      if (rankOfNode[i - 1] == rankOfNode[i])
        edges.emplace_back(i - 1, i);
    for (const auto &[key, to] : node)
      addNeeds(key, to);
  }

  /// Whether all can run, and every channel's messages are taken in the order
  /// in which they are sent.
  bool canRun() const { return !hasCircle() && inOrder(); }

private:
  using Key = std::tuple<char, int64_t, int64_t>;

  void need(char part, int64_t stage, int64_t microbatch, int64_t to) {
    auto found = node.find({part, stage, microbatch});
    if (found != node.end() && found->second != to)
      edges.emplace_back(found->second, to);
  }
  void addNeeds(const Key &key, int64_t to) {
    auto [part, stage, m] = key;
    if (part == 'F')
      need('F', stage - 1, m, to);
    if (part == 'B')
      need('F', stage, m, to);
    if (part == 'B')
      need('B', stage + 1, m, to);
    if (part == 'W')
      need('B', stage, m, to);
  }

  bool hasCircle() const {
    std::vector<int64_t> before(count, 0), ready;
    std::vector<std::vector<int64_t>> after(count);
    for (auto [from, to] : edges) {
      ++before[to];
      after[from].push_back(to);
    }
    for (int64_t i = 0; i < count; ++i)
      if (before[i] == 0)
        ready.push_back(i);
    int64_t ran = 0;
    for (; !ready.empty(); ++ran) {
      int64_t next = ready.back();
      ready.pop_back();
      for (int64_t to : after[next])
        if (--before[to] == 0)
          ready.push_back(to);
    }
    return ran < count;
  }

  bool inOrder() const {
    // (from, to, part), then (sent, taken) by nodes, which rise along a rank.
    std::map<std::tuple<int64_t, int64_t, char>, std::map<int64_t, int64_t>>
        channels;
    for (const auto &[key, taken] : node) {
      auto [part, stage, m] = key;
      auto sent = node.find({part, part == 'F' ? stage - 1 : stage + 1, m});
      if (part == 'W' || sent == node.end())
        continue;
      int64_t from = rankOfNode[sent->second], to = rankOfNode[taken];
      if (from != to)
        channels[{from, to, part}][sent->second] = taken;
    }
    for (const auto &[channel, messages] : channels) {
      int64_t last = -1;
      for (auto [sent, taken] : messages) {
        if (taken < last)
          return false;
        last = taken;
      }
    }
    return true;
  }

  PipelineShape shape;
  int64_t count = 0;
  std::map<Key, int64_t> node;
  std::vector<int64_t> rankOfNode;
  std::vector<std::pair<int64_t, int64_t>> edges;
};

} // namespace hocket::planning

#endif // HOCKET_TEST_PASSES_PLANNING_SCHEDULEORACLE_H
