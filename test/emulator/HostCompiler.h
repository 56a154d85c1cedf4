//===- HostCompiler.h - CUDA C++ for the emulator ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_HOSTCOMPILER_H
#define HOCKET_TEST_EMULATOR_HOSTCOMPILER_H

#include <optional>
#include <string>

namespace hocket::emulator {

/// Whether compiled kernels tell the emulator of every access to memory.
enum class Watch { Nothing, Accesses };

/// Compiles CUDA C++ `source`, the very text that NVRTC would get, with the
/// host's compiler to a shared object that Module loads. Nothing, and `error`,
/// if that fails.
std::optional<std::string> compileForHost(const std::string &source,
                                          Watch watch, std::string &error);

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_HOSTCOMPILER_H
