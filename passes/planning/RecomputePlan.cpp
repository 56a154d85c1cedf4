//===- RecomputePlan.cpp - What the backward pass computes again ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputePlan.h"

#include "passes/planning/RecomputeSearch.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr size_t kMostRanks = 65536, kMostResiduals = 65536;
/// Of branch and bound, per rank: a tenth of a second.
constexpr int64_t kSearchSteps = 500'000;

std::string placeOf(size_t rank, const Residual &residual) {
  return "rank " + std::to_string(rank) + ", residual " + residual.name +
         " of layer " + std::to_string(residual.layer);
}

Status checkRank(size_t index, const RecomputeRank &rank) {
  if (rank.fixed < 0 || rank.fixed > kMostResidualBytes || rank.budget < 0)
    return invalidArgument("Q50: rank " + std::to_string(index) +
                           ": its bytes are negative, or above 2^60");
  if (rank.residuals.size() > kMostResiduals)
    return invalidArgument("Q50: rank " + std::to_string(index) +
                           " has more than 65536 residuals");
  int64_t sum = rank.fixed;
  for (const Residual &residual : rank.residuals) {
    if (residual.name.empty() || residual.name == "rank" ||
        residual.name.find_first_of(" \t\r\n#") != std::string::npos)
      return invalidArgument("Q50: rank " + std::to_string(index) +
                             ": expected one word as a residual's name, and "
                             "not 'rank'");
    bool sizes = residual.bytes >= 0 && residual.live >= 1 &&
                 residual.live <= kMostResidualCount &&
                 residual.bytes <= (kMostResidualBytes - sum) / residual.live;
    if (!sizes)
      return invalidArgument("Q50: " + placeOf(index, residual) +
                             ": there is no live copy, or the rank's bytes "
                             "are negative or above 2^60");
    if (!std::isfinite(residual.seconds) || residual.seconds < 0 ||
        residual.seconds > kMostResidualSeconds)
      return invalidArgument("Q50: " + placeOf(index, residual) +
                             ": its seconds are not within 0 to 1e15");
    sum += residual.bytes * residual.live;
  }
  return okStatus();
}

/// For every residual, which layer of its chunk it is of, from 0.
std::vector<int64_t> layersWithinChunk(const RecomputeRank &rank) {
  std::map<int64_t, std::map<int64_t, int64_t>> places;
  for (const Residual &residual : rank.residuals)
    places[residual.chunk][residual.layer] = 0;
  for (auto &[chunk, layers] : places) {
    int64_t next = 0;
    for (auto &[layer, place] : layers)
      place = next++;
  }
  std::vector<int64_t> within;
  for (const Residual &residual : rank.residuals)
    within.push_back(places[residual.chunk][residual.layer]);
  return within;
}

/// Numbers (chunk, layer / size) from 0.
std::vector<int64_t> blocksOf(const RecomputeRank &rank,
                              const std::vector<int64_t> &within,
                              int64_t size) {
  std::map<std::pair<int64_t, int64_t>, int64_t> numbers;
  std::vector<int64_t> blocks;
  for (size_t i = 0; i < within.size(); ++i)
    blocks.push_back(
        numbers
            .try_emplace({rank.residuals[i].chunk, within[i] / size},
                         static_cast<int64_t>(numbers.size()))
            .first->second);
  return blocks;
}

/// Peak and time that the choices give.
void measure(const RecomputeProblem &problem, const RecomputeRank &rank,
             RankRecompute &plan) {
  std::map<int64_t, int64_t> workspace;
  int64_t saved = 0, most = 0;
  double seconds = 0;
  for (size_t i = 0; i < rank.residuals.size(); ++i) {
    const Residual &residual = rank.residuals[i];
    if (!plan.recomputed[i]) {
      saved += residual.bytes * residual.live;
      continue;
    }
    most = std::max(most, workspace[plan.blocks[i]] += residual.bytes);
    seconds += residual.seconds;
  }
  plan.peak = rank.fixed + saved + most;
  plan.seconds = seconds * double(problem.microbatches);
  plan.bound = plan.seconds;
}

/// Whether a mode other than Auto recomputes a residual.
bool isRecomputed(RecomputeMode mode, const Residual &residual, int64_t within,
                  int64_t layers) {
  bool input = residual.group == ResidualGroup::Input;
  switch (mode) {
  case RecomputeMode::Selective:
    return residual.group == ResidualGroup::Selective;
  case RecomputeMode::FullUniform:
    return !input || within % layers != 0;
  case RecomputeMode::FullBlock:
    return !input && within < layers;
  case RecomputeMode::None:
  case RecomputeMode::Auto:
    return false;
  }
  return false;
}

RankRecompute planFixed(const RecomputeProblem &problem,
                        const RecomputeRank &rank, RecomputeMode mode,
                        int64_t layers) {
  std::vector<int64_t> within = layersWithinChunk(rank);
  RankRecompute plan;
  plan.blocks =
      blocksOf(rank, within, mode == RecomputeMode::FullUniform ? layers : 1);
  for (size_t i = 0; i < within.size(); ++i)
    plan.recomputed.push_back(
        isRecomputed(mode, rank.residuals[i], within[i], layers));
  measure(problem, rank, plan);
  return plan;
}

RankRecompute planAuto(const RecomputeProblem &problem,
                       const RecomputeRank &rank) {
  RankRecompute plan = planFixed(problem, rank, RecomputeMode::None, 1);
  if (plan.peak <= rank.budget)
    return plan;
  std::vector<RecomputeItem> items;
  std::vector<size_t> indices;
  for (size_t i = 0; i < rank.residuals.size(); ++i) {
    const Residual &residual = rank.residuals[i];
    if (residual.group == ResidualGroup::Input || residual.bytes == 0)
      continue;
    items.push_back({residual.bytes * residual.live, residual.bytes,
                     residual.seconds, plan.blocks[i]});
    indices.push_back(i);
  }
  RecomputeSearch found =
      searchRecompute(items, plan.peak - rank.budget, kSearchSteps);
  for (size_t i = 0; i < items.size(); ++i)
    plan.recomputed[indices[i]] = found.taken[i];
  measure(problem, rank, plan);
  if (found.bound < found.seconds)
    plan.bound = found.bound * double(problem.microbatches);
  return plan;
}

} // namespace

Status
hocket::planning::checkRecomputeProblem(const RecomputeProblem &problem) {
  if (problem.microbatches < 1 || problem.microbatches > kMostResidualCount ||
      problem.ranks.size() > kMostRanks)
    return invalidArgument("Q50: expected 1 to 4194304 microbatches and at "
                           "most 65536 ranks");
  for (size_t rank = 0; rank < problem.ranks.size(); ++rank)
    HOCKET_RETURN_IF_ERROR(checkRank(rank, problem.ranks[rank]));
  return okStatus();
}

StatusOr<RecomputePlan>
hocket::planning::planRecompute(const RecomputeProblem &problem,
                                RecomputeMode mode, int64_t layers) {
  HOCKET_RETURN_IF_ERROR(checkRecomputeProblem(problem));
  if (layers < 1)
    return invalidArgument("Q50: full recomputation is of at least one layer");
  RecomputePlan plan;
  for (size_t i = 0; i < problem.ranks.size(); ++i) {
    const RecomputeRank &rank = problem.ranks[i];
    plan.ranks.push_back(mode == RecomputeMode::Auto
                             ? planAuto(problem, rank)
                             : planFixed(problem, rank, mode, layers));
    int64_t peak = plan.ranks.back().peak;
    if (peak > rank.budget)
      return invalidArgument(
          "Q51: rank " + std::to_string(i) + " needs " + std::to_string(peak) +
          " bytes" +
          (mode == RecomputeMode::Auto ? " with everything recomputed" : "") +
          ", and its budget is " + std::to_string(rank.budget) + ": " +
          std::to_string(peak - rank.budget) + " too many");
  }
  return plan;
}
