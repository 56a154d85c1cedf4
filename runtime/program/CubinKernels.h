//===- CubinKernels.h - What kernels of machine code take -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CUBINKERNELS_H
#define HOCKET_RUNTIME_PROGRAM_CUBINKERNELS_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hocket {

/// What a block of a kernel takes of the multiprocessor that runs it.
struct CubinKernel {
  uint32_t registers = 0;   ///< Of a thread.
  uint64_t sharedBytes = 0; ///< Static, without what CUDA reserves.
};

/// The kernels of NVIDIA's machine code (an ELF file) by symbol, as its section
/// .nv.info tells their registers and .nv.shared.SYMBOL the size of their
/// shared memory. Empty for what is no such file. Reads nothing outside of
/// `image`.
std::map<std::string, CubinKernel> readCubinKernels(std::string_view image);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CUBINKERNELS_H
