//===- CrossEntropy.h - Softmax cross-entropy on the CPU --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/CrossEntropy.h, same arguments. The
/// results are bitwise equal for any number of workers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_CROSSENTROPY_H
#define HOCKET_KERNELS_CPU_CROSSENTROPY_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/CrossEntropy.h"

namespace hocket::kernels {

/// logits are f32, bf16 or f16; loss and lse are f32.
[[nodiscard]] KernelError
crossEntropyForward(const CrossEntropyForwardArguments &args, Workers &workers);
/// dlogits has the type of logits.
[[nodiscard]] KernelError
crossEntropyBackward(const CrossEntropyBackwardArguments &args,
                     Workers &workers);
/// lse and picked are f32.
[[nodiscard]] KernelError
crossEntropyRows(const CrossEntropyRowsArguments &args, Workers &workers);

[[nodiscard]] KernelError
crossEntropyJoint(const CrossEntropyJointArguments &args, Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_CROSSENTROPY_H
