//===- EmitCuda.h - hocket compile --emit=cuda ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_EMITCUDA_H
#define HOCKET_COMPILER_TOOLS_EMITCUDA_H

#include "base/Status.h"

#include <string>
#include <vector>

namespace hocket {

/// A program's kernels in CUDA C++.
struct CudaText {
  std::string kernels; ///< fused ones
  std::string library; ///< of library ops
};

/// Writes both into the folder `output`, made if need be: kernels.cu and
/// library.cu, the headers they include, so that `nvcc -I output
/// output/kernels.cu` compiles, and kernels.ARCH.cubin and library.ARCH.cubin
/// for each of `architectures`, which takes NVRTC. All is compiled before
/// anything is written.
Status emitCuda(const CudaText &text,
                const std::vector<std::string> &architectures,
                const std::string &output);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_EMITCUDA_H
