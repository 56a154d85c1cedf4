//===- StateSpace.h - State-space layers on the CPU -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/StateSpace.h, same arguments. The results
/// are bitwise equal for any number of workers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_STATESPACE_H
#define HOCKET_KERNELS_CPU_STATESPACE_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/StateSpace.h"

namespace hocket::kernels {

[[nodiscard]] KernelError causalConv(const CausalConvArguments &args,
                                     Workers &workers);
[[nodiscard]] KernelError
causalConvGradient(const CausalConvGradientArguments &args, Workers &workers);
[[nodiscard]] KernelError stateScan(const StateScanArguments &args,
                                    Workers &workers);
/// Uses args.workspace.
[[nodiscard]] KernelError
stateScanGradient(const StateScanGradientArguments &args, Workers &workers);
/// Each token's result has the bits that it has within its whole sequence.
[[nodiscard]] KernelError cachedConv(const CachedConvArguments &args,
                                     Workers &workers);
[[nodiscard]] KernelError cachedScan(const CachedScanArguments &args,
                                     Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_STATESPACE_H
