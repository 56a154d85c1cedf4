//===- QuantizeBlocks.h - 8 bits with a scale a block, on the CPU *- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/QuantizeBlocks.h, same arguments and the
/// same bits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_QUANTIZEBLOCKS_H
#define HOCKET_KERNELS_CPU_QUANTIZEBLOCKS_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/QuantizeBlocks.h"

namespace hocket::kernels {

[[nodiscard]] KernelError quantizeBlocks(const QuantizeBlocksArguments &args,
                                         Workers &workers);
[[nodiscard]] KernelError
dequantizeBlocks(const DequantizeBlocksArguments &args, Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_QUANTIZEBLOCKS_H
