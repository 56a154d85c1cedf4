//===- Library.h - Library ops on the CPU -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The ops of kernels/library/Library.h, by the kernels of this folder.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_LIBRARY_H
#define HOCKET_KERNELS_CPU_LIBRARY_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/library/Library.h"
#include "kernels/library/LibraryCall.h"

namespace hocket::kernels {

/// Runs a call that passed requiredBytes(). An error is one of the data (an id
/// outside the vocabulary) or of the machine.
[[nodiscard]] KernelError
runLibraryOp(const LibraryOp &op, const LibraryCall &call, Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_LIBRARY_H
