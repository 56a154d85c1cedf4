//===- ReferenceLibrary.h - Library ops by the reference --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_KERNELS_CUDA_REFERENCELIBRARY_H
#define HOCKET_TEST_KERNELS_CUDA_REFERENCELIBRARY_H

#include "kernels/library/Library.h"
#include "kernels/library/LibraryCall.h"

namespace hocket::kernels::test {

/// Runs a call by kernels/reference, or, for ops that are only moved numbers
/// and have no reference there, by the CPU's library.
KernelError runReference(const LibraryOp &op, const LibraryCall &call);

} // namespace hocket::kernels::test

#endif // HOCKET_TEST_KERNELS_CUDA_REFERENCELIBRARY_H
