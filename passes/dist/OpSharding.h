//===- OpSharding.h - How one op is split over the mesh ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From an op's factor rule and what its operands are sharded like: over which
/// axes each factor is split, and what that demands of operands and gives to
/// results. Every operand proposes its axes; each axis goes to one factor:
///
///   1. An axis of data (any but the model's, below) follows activations, so
///      that weights which are only stored in shards (ZeRO) are gathered.
///   2. An axis of the model (`tp` and its sub-axes `tp.0`, ...; for experts
///      what they are split over) follows weights: they move last. Among
///      activations, a factor that a result has goes before one that is summed
///      away.
///   3. Else the first operand decides.
///
/// This is one step of the propagation of GSPMD (arXiv 2105.04663), on factors.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_OPSHARDING_H
#define HOCKET_PASSES_DIST_OPSHARDING_H

#include "dialects/dist/IR/Sharding.h"
#include "dialects/xf/IR/FactorRule.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace hocket::dist {

/// What proposes axes for an op: an operand, or where a result is going.
struct Proposal {
  const xf::TensorFactors *factors; ///< of the op's rule
  Sharding sharding;
  bool isWeight = false;
  int64_t operand = -1; ///< That it is, or is about.
  ReasonKind kind = ReasonKind::Operand;
};

/// The outcome: one list of axes a factor.
struct OpSharding {
  llvm::SmallVector<Axes> factors;
  /// What gave a factor each of its axes; none where a file of shardings has.
  llvm::SmallVector<llvm::SmallVector<ReasonAttr, 2>> reasons;

  /// The dims of a tensor of the op; its partial sums are left empty.
  Sharding of(const xf::TensorFactors &tensor) const;
  /// The axes over which a result of the op is a partial sum: those of the
  /// reduced factors that it lacks.
  Axes partialOf(const xf::FactorRule &rule,
                 const xf::TensorFactors &result) const;
};

/// Whether `axis` belongs to the model rather than to the data.
bool isModelAxis(llvm::StringRef axis);

/// `isModel`: what is an axis of the model for this op.
OpSharding
chooseSharding(const xf::FactorRule &rule, llvm::ArrayRef<Proposal> proposals,
               const Mesh &mesh,
               llvm::function_ref<bool(llvm::StringRef)> isModel = isModelAxis);

/// Of cross-entropy by rows: the vocabulary's parts are one a device that holds
/// a shard of it.
void matchShards(const xf::FactorRule &rule, OpSharding &choice);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_OPSHARDING_H
