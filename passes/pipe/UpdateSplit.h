//===- UpdateSplit.h - Each rank's part of the update -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_UPDATESPLIT_H
#define HOCKET_PASSES_PIPE_UPDATESPLIT_H

#include "dialects/pipe/IR/Pipe.h"
#include "passes/pipe/PipelinePlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket::pipe {

/// Copies `function`, which runs once a step (`kind` is U or P), for every
/// pipeline rank, without what stores to parameters of other ranks. The
/// fragments F, B and E of all stages are in the module: a parameter belongs to
/// every rank whose stages use it. Adds a fragment for each copy.
///
/// The gradient of a parameter on several ranks is summed between them; the
/// gradient norm is that of all ranks, each parameter counted once.
mlir::LogicalResult splitUpdate(mlir::ModuleOp module, const PipelinePlan &plan,
                                FragmentKind kind, mlir::func::FuncOp function);

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_UPDATESPLIT_H
