//===- Reduce.h - Sums and maxima in rank order -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one place where communicators add: every implementation that can gives
/// the same bits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_INTERFACES_REDUCE_H
#define HOCKET_RUNTIME_COMM_INTERFACES_REDUCE_H

#include "runtime/comm/interfaces/Communicator.h"

namespace hocket::comm {

/// to[i] = parts[0][i] + parts[1][i] + ..., from the left, or their maximum,
/// i in [0, count). bf16 and f16 are kept in f32 until the last part; i32
/// wraps; a NaN makes the maximum NaN. `to` may be one of the parts. At least
/// one part; f32, bf16, f16 or i32.
void reduceParts(std::span<const void *const> parts, void *to, uint64_t count,
                 DType dtype, Reduction reduction);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_INTERFACES_REDUCE_H
