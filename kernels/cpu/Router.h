//===- Router.h - Which experts a token goes to, on the CPU -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/Router.h on all workers, same arguments. Sums over tokens
/// are made of kRouterParts partial sums, so that the results are bitwise equal
/// for any number of workers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_ROUTER_H
#define HOCKET_KERNELS_CPU_ROUTER_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/library/Library.h"
#include "kernels/reference/Router.h"

namespace hocket::kernels {

[[nodiscard]] KernelError router(const RouterArguments &args, Workers &workers);
[[nodiscard]] KernelError sinkhorn(const SinkhornArguments &args,
                                   Workers &workers);
[[nodiscard]] KernelError routerGradient(const RouterGradientArguments &args,
                                         Workers &workers);
/// `parts` is scratch, f64 [kRouterParts, experts].
[[nodiscard]] KernelError
routerProbabilities(const RouterProbabilitiesArguments &args, double *parts,
                    Workers &workers);
[[nodiscard]] KernelError
routerProbabilitiesGradient(const RouterProbabilitiesGradientArguments &args,
                            Workers &workers);
/// `parts` is scratch, f64 [kRouterParts].
[[nodiscard]] KernelError routerZLoss(const RouterZLossArguments &args,
                                      double *parts, Workers &workers);
[[nodiscard]] KernelError
routerZLossGradient(const RouterZLossGradientArguments &args, Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_ROUTER_H
