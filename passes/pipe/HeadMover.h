//===- HeadMover.h - The loss in the backward fragment ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Moves the head of the model from the forward fragment of the last stage to
/// its backward fragment, with all that follows from the logits: the loss and
/// the gradients that forward already computes. Backward of a microbatch runs
/// after its forward, so that nothing is computed twice, and no logits are kept
/// in between.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_HEADMOVER_H
#define HOCKET_PASSES_PIPE_HEADMOVER_H

#include "dialects/xf/IR/Xf.h"
#include "passes/pipe/FragmentPair.h"

namespace hocket::pipe {

/// The linear op in `forward` whose result, perhaps bent or summed over
/// devices, is what the largest cross-entropy is of; null if there is none.
xf::LinearOp findHead(mlir::func::FuncOp forward);

/// Moves `head`, an op of the forward function, and what follows from it to the
/// backward function, and returns it there. Backward keeps what these take.
xf::LinearOp moveHead(FragmentPair &pair, xf::LinearOp head);

/// Has `op` and what it takes stand before `before` in its block.
void hoist(mlir::Operation *op, mlir::Operation *before);

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_HEADMOVER_H
