//===- ProgramPrice.h - What an executable's plan costs ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_PROGRAMPRICE_H
#define HOCKET_COMPILER_TOOLS_PLANNING_PROGRAMPRICE_H

#include "runtime/tools/reports/DeviceCosts.h"

namespace hocket {

/// Prices the plan in the specification that `program` carries, as `hocket
/// simulate` would. An error says why it has no price: it was compiled from a
/// .mlir file, or with recompute AUTO or a schedule of its own.
StatusOr<PlanPrice> priceProgram(const program::Program &program,
                                 const cluster::ClusterChoice &choice);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_PROGRAMPRICE_H
