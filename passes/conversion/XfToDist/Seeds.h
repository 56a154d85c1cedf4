//===- Seeds.h - Where what persists lives ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The shardings that a plan states; all others follow from them. Those of
/// parameters go by their roles (`#xf.parameter_role`):
///
///   weights     over `tp`: the dim that Megatron-LM splits (arXiv 1909.08053):
///               output features of q, k, v, gate and up, input features of o
///               and down, rows of the embedding and of the head. SubAxes.h
///               says which sub-axes split key and value heads.
///   experts     over `ep`, and over sub-axes of `cp`, of `tp` or of both as
///               well: their grid need not be that of attention (SubAxes.h).
///   state       of the optimizer over `dp` and `cp` with ZeRO-1 (arXiv
///               1910.02054), and the f32 copy of a weight that has a working
///               copy; gradients too with ZeRO-2, weights too with ZeRO-3. Of
///               experts over what else holds the same ones, too.
///   batches     tokens and labels [sequences, positions] over `dp` and `cp`.
///   the stream  hidden states [sequences, positions, features] over `dp`, `cp`
///               and, with sequence parallelism (arXiv 2205.05198), `tp`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_XFTODIST_SEEDS_H
#define HOCKET_PASSES_CONVERSION_XFTODIST_SEEDS_H

#include "base/AxisKind.h"
#include "dialects/dist/IR/Sharding.h"
#include "dialects/xf/IR/Xf.h"

#include <optional>

namespace hocket::dist {

/// The sub-axes of `tp`, or it alone, by what they split.
struct TensorPlaces {
  Axes weights;   ///< All of them, the coarsest first.
  Axes keyHeads;  ///< The first of these.
  Axes groups;    ///< Those, if groups of state-space layers have them all.
  Axes positions; ///< All of them, those inside of experts last.
  Axes rows;      ///< That hold the same experts.
  Axes different; ///< That hold different experts.
  Axes inside;    ///< That hold parts of each expert.
};

/// The same of `cp`.
struct ContextPlaces {
  Axes positions; ///< All of them, the coarsest first.
  Axes different; ///< That hold different experts.
};

/// The part of a plan that seeds follow from.
struct PlacementPlan {
  int64_t zeroStage = 0;
  bool sequenceParallel = false;
  TensorPlaces tensor;
  ContextPlaces context;
};

/// How a variable is split, and why: one reason for each axis.
struct Seed {
  Sharding sharding;
  llvm::SmallVector<ReasonAttr, 4> reasons;

  /// Gives `kind` as the reason of every axis that has none yet.
  void explain(ReasonKind kind, mlir::MLIRContext *context);

  /// Of a placement: a list for the one tensor.
  mlir::ArrayAttr reasonsAttr(mlir::MLIRContext *context) const;
};

class Seeds {
public:
  Seeds(const Mesh &mesh, PlacementPlan plan)
      : mesh(mesh), plan(std::move(plan)) {}

  using Role = std::optional<xf::ParameterRole>;

  /// `role` is that of the parameter that `variable` is or belongs to; what has
  /// none is kept whole on the axes of the model.
  Seed variable(xf::VariableOp variable, Role role, bool hasWorkingCopy) const;
  /// The axes that split parameters by their roles.
  Axes splitsByRole() const;
  /// The axes that experts are split over, the coarsest first.
  Axes experts() const;
  Sharding batch() const;
  Sharding stream() const;

  /// Whether a gradient is kept in the shards of the optimizer's state.
  bool scattersGradients() const { return plan.zeroStage >= 2; }

private:
  Seed cache(Role role, mlir::RankedTensorType type) const;
  Sharding weight(Role role, mlir::RankedTensorType type) const;
  const Axes &tensorAxes(xf::ParameterRole role) const;
  /// Splits over `data` the first dim that it divides, else, with padding, the
  /// largest that nothing splits; a tensor without one stays as it is.
  void addDataAxes(Sharding &sharding, mlir::RankedTensorType type,
                   Axes data) const;
  /// The axes among `names` that the mesh has.
  Axes present(llvm::ArrayRef<AxisKind> kinds) const;

  const Mesh &mesh;
  PlacementPlan plan;
};

} // namespace hocket::dist

#endif // HOCKET_PASSES_CONVERSION_XFTODIST_SEEDS_H
