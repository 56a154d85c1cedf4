//===- RecomputePolicy.h - What backward computes again ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which values of the forward pass the backward pass computes again instead
/// of keeping, as `xf.training` has it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_RECOMPUTEPOLICY_H
#define HOCKET_PASSES_XF_RECOMPUTEPOLICY_H

#include "dialects/plan/ParallelPlan.h"
#include "dialects/xf/IR/Xf.h"

namespace hocket::xf {

struct RecomputePolicy {
  plan::Recompute recompute = plan::Recompute::None;
  /// With Recompute::Selective.
  plan::RecomputeModules modules;
  /// Whether ranks share the experts out, so that rows travel.
  bool sharesExperts = false;

  /// What is computed again in all layers alike. What differs from stage to
  /// stage is decided once these are known (pipe-recompute).
  static RecomputePolicy of(const plan::ParallelPlan &plan);

  /// Whether a result of `op` that backward reads is computed again.
  bool computesAgain(mlir::Operation *op) const;
};

/// The modules that `op` is part of. Those of an MLP are known by its
/// activation: the GEMMs that make what this reads, through casts and views,
/// are the module's first ones. The last GEMM is in none, as backward does not
/// read its result.
plan::RecomputeModules modulesOf(mlir::Operation *op);

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_RECOMPUTEPOLICY_H
