//===- Module.h - Kernels compiled for the emulator -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles the very source that NVRTC would get with the host's compiler and
/// loads it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_MODULE_H
#define HOCKET_TEST_EMULATOR_MODULE_H

#include "test/emulator/Block.h"

#include <memory>
#include <string>
#include <vector>

namespace hocket::emulator {

class Module {
public:
  /// Compiles CUDA C++ `source`; null and `error` if that fails.
  static std::unique_ptr<Module> compile(const std::string &source,
                                         std::string &error);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// Runs the kernel `symbol`, an `extern "C" __global__` function of the
  /// source, with the arguments that `arguments` point to, and waits for it.
  /// Empty, or what went wrong.
  std::string run(const std::string &symbol, const Launch &launch,
                  std::vector<void *> arguments);

private:
  explicit Module(void *library) : library(library) {}

  void *library;
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_MODULE_H
