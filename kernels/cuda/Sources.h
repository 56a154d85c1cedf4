//===- Sources.h - The text of the CUDA headers -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The headers of this folder as text inside the program, so that kernels can
/// be compiled where Hocket's sources are not.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_SOURCES_H
#define HOCKET_KERNELS_CUDA_SOURCES_H

#include <span>
#include <string>
#include <string_view>

namespace hocket::kernels {

struct CudaHeader {
  const char *name; ///< As `#include` names it: "kernels/cuda/Device.cuh".
  const char *text;
};

std::span<const CudaHeader> cudaHeaders();

/// `source` with the headers of this folder in place of their includes: it
/// compiles where Hocket's sources are not. A compiler's messages still name
/// the header, and else `name`.
std::string standaloneSource(std::string_view source, std::string_view name);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CUDA_SOURCES_H
