//===- SubAxes.cpp - Axes of a mesh, cut by what they split ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/XfToDist/SubAxes.h"

#include <numeric>
#include <utility>

using namespace hocket::dist;

llvm::SmallVector<SubAxis> hocket::dist::cutAxis(const AxisCut &cut) {
  std::pair<int64_t, ExpertUse> uses[] = {
      {cut.ranks / (cut.different * cut.inside), ExpertUse::Rows},
      {cut.different, ExpertUse::Different},
      {cut.inside, ExpertUse::Inside}};
  // Key heads take from each what they can: what they are split into divides
  // the product, so that nothing of it is left in the end.
  int64_t heads = std::gcd(cut.ranks, cut.keyHeads);
  llvm::SmallVector<SubAxis> split, whole;
  for (auto [size, use] : uses) {
    int64_t common = std::gcd(size, heads);
    heads /= common;
    if (common > 1)
      split.push_back({common, true, use});
    if (size > common)
      whole.push_back({size / common, false, use});
  }
  split.append(whole);
  return split;
}
