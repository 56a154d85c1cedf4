//===- ExportProblem.h - A program's strategies as a problem ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_EXPORTPROBLEM_H
#define HOCKET_COMPILER_DRIVER_EXPORTPROBLEM_H

#include "compiler/driver/Compile.h"
#include "passes/dist/strategies/ExportStrategies.h"

namespace hocket {

/// The forward and backward pass of `request`'s input as a problem of
/// strategies (passes/dist/strategies/ExportStrategies.h). Without
/// `options.axes` the mesh is the plan's, which has the axes dp and tp alone;
/// `options.memory` is that of the cluster's device. An error is the input's
/// fault, or that of axes and a cluster which do not have as many devices.
StatusOr<planning::StrategyProblem> exportProblem(CompileRequest request,
                                                  dist::StrategyExport options);

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_EXPORTPROBLEM_H
