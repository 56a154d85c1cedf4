//===- CutJointBody.h - Cuts a joint body into its halves -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The second and third move of differentiation; see Differentiator.h.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_CUTJOINTBODY_H
#define HOCKET_PASSES_XF_CUTJOINTBODY_H

#include "passes/xf/JointBody.h"
#include "passes/xf/RecomputePolicy.h"

namespace hocket::xf {

/// How a joint body is cut.
struct CutOptions {
  std::string backwardName;
  /// What the backward half computes again.
  RecomputePolicy policy;
  /// The backward half takes all arguments, needed or not.
  bool allArguments = false;
};

/// What cutting counted.
struct CutCounts {
  int64_t residuals = 0, recomputed = 0;
};

/// Moves gradients of logits that need nothing of the backward pass, as the
/// loss's own gradient is known, to the forward ops: whoever computes the loss
/// has their rows at hand, and they are kept in the logits' place.
void advanceLossGradients(JointBody &joint);

/// Cuts `joint`: its function becomes the forward half, and the backward half
/// is a new function in no symbol table yet.
FunctionHalves cutJointBody(const JointBody &joint, const CutOptions &options,
                            CutCounts &counts);

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_CUTJOINTBODY_H
