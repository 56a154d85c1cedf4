//===- KernelObjects.h - Objects that were compiled before ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_KERNELOBJECTS_H
#define HOCKET_COMPILER_TARGETS_CPU_KERNELOBJECTS_H

#include "base/ResultCache.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace hocket::cpu {

/// Object files of kernels, for whoever compiles many programs of one model:
/// their plans share most kernels, and two thirds of the time of a compile are
/// LLVM's. A program has the same bytes with it and without. Any thread.
class KernelObjects {
public:
  /// In memory alone.
  KernelObjects() = default;
  /// In a folder too, for later processes of this very compiler: `identity`
  /// names its code.
  KernelObjects(ResultCache cache, std::string identity)
      : cache(std::move(cache)), identity(std::move(identity)) {}

  /// Those of this process, in the folder of caches (HOCKET_CACHE). In memory
  /// alone where there is no such folder, or no compilerIdentity().
  static std::shared_ptr<KernelObjects> kept();

  /// The object of a kernel with this text, for this instruction set.
  std::optional<std::string> find(const std::string &isa,
                                  const std::string &kernel);
  void keep(const std::string &isa, const std::string &kernel,
            const std::string &object);
  size_t size() const; ///< In memory.

private:
  std::string keyOf(const std::string &isa, const std::string &kernel) const;

  const std::optional<ResultCache> cache;
  const std::string identity;
  mutable std::mutex mutex;
  std::map<std::pair<std::string, std::string>, std::string> objects;
};

/// What differs when code that generates code does: the build ids that the
/// linker gave this program, LLVM and MLIR. Empty if one of them has none.
std::string compilerIdentity();

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_KERNELOBJECTS_H
