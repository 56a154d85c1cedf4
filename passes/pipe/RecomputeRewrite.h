//===- RecomputeRewrite.h - Has backward compute again ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_RECOMPUTEREWRITE_H
#define HOCKET_PASSES_PIPE_RECOMPUTEREWRITE_H

#include "passes/pipe/RecomputeModel.h"

namespace hocket::pipe {

/// Rewrites the fragments F and B of `model` by `plan`, which has an entry for
/// each of the problem's ranks. Returns how many ops compute again, in the
/// functions of layers. `model` is used up.
///
/// A layer that recomputes alone calls a joint backward half. Of layers that
/// recompute together, from one saved input, all but the last run again as a
/// whole before the first of their backward calls.
int64_t rewriteRecompute(mlir::ModuleOp module, RecomputeModel &model,
                         const planning::RecomputePlan &plan);

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_RECOMPUTEREWRITE_H
