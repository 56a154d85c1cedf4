//===- RegionEvaluator.h - A fused region, slowly ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Evaluates the region of a `kern.kernel` in double precision, one point and
/// one operation after the other.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_COMPILER_TARGETS_CPU_REGIONEVALUATOR_H
#define HOCKET_TEST_COMPILER_TARGETS_CPU_REGIONEVALUATOR_H

#include "test/compiler/targets/cpu/KernelHarness.h"

#include "dialects/kern/IR/Kern.h"

namespace hocket::test {

/// All results of `kernel`; sums over rows are not yet added to anything.
std::vector<Values> evaluateRegion(kern::KernelOp kernel,
                                   const std::vector<Values> &inputs,
                                   const LaunchScalars &scalars);

} // namespace hocket::test

#endif // HOCKET_TEST_COMPILER_TARGETS_CPU_REGIONEVALUATOR_H
