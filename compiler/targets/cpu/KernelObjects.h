//===- KernelObjects.h - Objects that were compiled before ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_KERNELOBJECTS_H
#define HOCKET_COMPILER_TARGETS_CPU_KERNELOBJECTS_H

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace hocket::cpu {

/// Object files of kernels, in memory, for whoever compiles many programs of
/// one model: their plans share most kernels, and half of the time of a compile
/// is LLVM's. A program has the same bytes with it and without. Any thread.
class KernelObjects {
public:
  /// The object of a kernel with this text, for this instruction set.
  std::optional<std::string> find(const std::string &isa,
                                  const std::string &kernel) const;
  void keep(const std::string &isa, const std::string &kernel,
            const std::string &object);
  size_t size() const;

private:
  mutable std::mutex mutex;
  std::map<std::pair<std::string, std::string>, std::string> objects;
};

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_KERNELOBJECTS_H
