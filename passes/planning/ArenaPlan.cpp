//===- ArenaPlan.cpp - Offsets for buffers with lifetimes -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ArenaPlan.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace hocket::planning;

namespace {

int64_t alignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool liveTogether(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.lower < b.upper && b.lower < a.upper;
}

/// Places buffers in the given order, each in the lowest gap that holds it.
///
/// Example: sizes 4, 2, 3 in this order, where the first two live together and
/// the third only with the second: offsets 0, 4 and 0.
ArenaPlan firstFit(const ArenaProblem &problem, const std::vector<int> &order) {
  const auto &buffers = problem.buffers;
  ArenaPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<int> placed; // by offset
  placed.reserve(buffers.size());
  for (int b : order) {
    int64_t offset = 0;
    for (int other : placed) {
      if (!liveTogether(buffers[b], buffers[other]))
        continue;
      if (offset + buffers[b].size <= plan.offsets[other])
        break;
      offset =
          std::max(offset, alignUp(plan.offsets[other] + buffers[other].size,
                                   problem.alignment));
    }
    plan.offsets[b] = offset;
    plan.peak = std::max(plan.peak, offset + buffers[b].size);
    auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](int64_t value, int other) { return value < plan.offsets[other]; });
    placed.insert(at, b);
  }
  return plan;
}

/// Buffer indices, the one with the greatest key first, ties by index.
std::vector<int>
orderBy(const ArenaProblem &problem,
        const std::function<double(const ArenaBuffer &)> &key) {
  std::vector<int> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    double keyA = key(problem.buffers[a]), keyB = key(problem.buffers[b]);
    return keyA != keyB ? keyA > keyB : a < b;
  });
  return order;
}

} // namespace

int64_t hocket::planning::arenaLowerBound(const ArenaProblem &problem) {
  struct Change {
    int64_t time, bytes;
  };
  std::vector<Change> changes;
  for (const ArenaBuffer &buffer : problem.buffers) {
    int64_t bytes = alignUp(buffer.size, problem.alignment);
    changes.push_back({buffer.lower, bytes});
    changes.push_back({buffer.upper, -bytes});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change &a, const Change &b) {
              return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
            });
  int64_t live = 0, most = 0;
  for (const Change &change : changes)
    most = std::max(most, live += change.bytes);
  return most;
}

ArenaPlan hocket::planning::planArena(const ArenaProblem &problem) {
  auto length = [](const ArenaBuffer &b) { return double(b.upper - b.lower); };
  const std::function<double(const ArenaBuffer &)> keys[] = {
      [](const ArenaBuffer &b) { return double(b.size); },
      [&](const ArenaBuffer &b) { return double(b.size) * length(b); },
      [&](const ArenaBuffer &b) { return length(b); },
      [](const ArenaBuffer &b) { return -double(b.lower); },
  };
  int64_t bound = arenaLowerBound(problem);
  ArenaPlan best;
  for (const auto &key : keys) {
    ArenaPlan plan = firstFit(problem, orderBy(problem, key));
    if (best.offsets.empty() || plan.peak < best.peak)
      best = std::move(plan);
    if (alignUp(best.peak, problem.alignment) <= bound)
      break;
  }
  return best;
}

bool hocket::planning::isValid(const ArenaProblem &problem,
                               const ArenaPlan &plan) {
  const auto &buffers = problem.buffers;
  if (plan.offsets.size() != buffers.size())
    return false;
  int64_t peak = 0;
  for (size_t a = 0; a < buffers.size(); ++a) {
    if (plan.offsets[a] < 0 || plan.offsets[a] % problem.alignment != 0)
      return false;
    peak = std::max(peak, plan.offsets[a] + buffers[a].size);
    for (size_t b = 0; b < a; ++b) {
      bool apart = plan.offsets[a] + buffers[a].size <= plan.offsets[b] ||
                   plan.offsets[b] + buffers[b].size <= plan.offsets[a];
      if (liveTogether(buffers[a], buffers[b]) && !apart)
        return false;
    }
  }
  return peak == plan.peak;
}
