//===- ToolkitLibraries.h - Which release of a library ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// NVIDIA's libraries are released with a version of CUDA, and need a driver of
/// at least that major version. A machine may have several of them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CUDA_TOOLKITLIBRARIES_H
#define HOCKET_RUNTIME_CUDA_TOOLKITLIBRARIES_H

#include <string>
#include <vector>

namespace hocket::hal::cuda {

/// `name` with the versions that Hocket knows ("libnvrtc.so.13", ...) in the
/// order in which they are tried: newest first, behind those that this
/// machine's driver can use, where it has one.
std::vector<std::string> toolkitLibraries(const std::string &name);

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_CUDA_TOOLKITLIBRARIES_H
