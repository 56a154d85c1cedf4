//===- Module.h - Kernels compiled for the emulator -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_MODULE_H
#define HOCKET_TEST_EMULATOR_MODULE_H

#include "runtime/hal/drivers/cpu/SharedObject.h"
#include "test/emulator/Block.h"
#include "test/emulator/HostCompiler.h"

#include <memory>
#include <string>
#include <vector>

namespace hocket::emulator {

class Module {
public:
  /// Loads what compileForHost() made; null and `error` if that fails.
  static std::unique_ptr<Module> load(const std::string &image,
                                      std::string &error);

  /// Compiles CUDA C++ `source` and loads it; null and `error` if that fails.
  static std::unique_ptr<Module> compile(const std::string &source,
                                         std::string &error);

  /// Whether there is a kernel `symbol`, an `extern "C" __global__` function of
  /// the source.
  bool has(const std::string &symbol) const;

  /// Bytes of each argument of the kernel `symbol`.
  std::vector<unsigned> argumentSizes(const std::string &symbol) const;

  /// Bytes of static shared memory, of all kernels together.
  size_t sharedBytes() const;

  /// Who hears of every access to memory, where the module was compiled so; an
  /// access for which it returns false ends the launch.
  void setWatcher(bool (*watcher)(const void *at, unsigned long bytes,
                                  bool writes));

  /// Runs the kernel `symbol` with the arguments that `arguments` point to, and
  /// waits for it. Empty, or what went wrong.
  std::string run(const std::string &symbol, const Launch &launch,
                  std::vector<void *> arguments);

private:
  explicit Module(hal::SharedObject object) : object(std::move(object)) {}
  template <typename T> T *find(const std::string &name) const {
    return reinterpret_cast<T *>(object.find(name));
  }

  hal::SharedObject object;
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_MODULE_H
