//===- KernelObjects.cpp - Objects that were compiled before --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/KernelObjects.h"

using namespace hocket::cpu;

std::optional<std::string>
KernelObjects::find(const std::string &isa, const std::string &kernel) const {
  std::lock_guard lock(mutex);
  auto found = objects.find({isa, kernel});
  if (found == objects.end())
    return std::nullopt;
  return found->second;
}

void KernelObjects::keep(const std::string &isa, const std::string &kernel,
                         const std::string &object) {
  std::lock_guard lock(mutex);
  objects.insert_or_assign({isa, kernel}, object);
}

size_t KernelObjects::size() const {
  std::lock_guard lock(mutex);
  return objects.size();
}
