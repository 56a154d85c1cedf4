//===- EmitCuda.h - hocket compile --emit=cuda ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_EMITCUDA_H
#define HOCKET_COMPILER_TOOLS_EMITCUDA_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace hocket {

/// Writes `kernels` (CUDA C++) into the folder `output`, made if need be:
/// kernels.cu, the headers it includes, so that `nvcc -I output
/// output/kernels.cu` compiles it, and kernels.ARCH.cubin for each of
/// `architectures`, which takes NVRTC. All is compiled before anything is
/// written.
Status emitCuda(const std::string &kernels,
                const std::vector<std::string> &architectures,
                const std::string &output);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_EMITCUDA_H
