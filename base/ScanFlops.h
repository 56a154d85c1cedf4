//===- ScanFlops.h - What a state-space recurrence computes -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// FLOPs of Mamba-2's recurrence for each number of a state and each token. The
/// compiler's costs, prices of plans and predictions of programs all use these.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_SCANFLOPS_H
#define HOCKET_BASE_SCANFLOPS_H

namespace hocket {

/// Token by token: a state is kept in part, added to, and read.
inline constexpr double kScanFlops = 5;

/// Of its gradient, beside states once more: gradients of states, kept in part
/// and added to, read by what is scanned and by what it is scanned with.
inline constexpr double kScanBackFlops = 7;

/// Of a model's FLOPs, forward, by which MFU is reckoned: as Megatron-LM
/// counts, whatever the algorithm. Backward costs twice as much.
inline constexpr double kModelScanFlops = 7;

} // namespace hocket

#endif // HOCKET_BASE_SCANFLOPS_H
