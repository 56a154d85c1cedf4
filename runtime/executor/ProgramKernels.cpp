//===- ProgramKernels.cpp - A program's kernels on a device ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/ProgramKernels.h"

using namespace hocket;

StatusOr<std::vector<hal::KernelId>>
hocket::loadKernels(const program::Program &program, hal::Device &device) {
  std::vector<hal::ModuleId> modules;
  for (const program::KernelModule &module : program.modules()) {
    std::vector<hal::ModuleVariant> variants;
    for (const auto &variant : module.variants())
      variants.push_back({variant.isa(), variant.format(), variant.image()});
    HOCKET_ASSIGN_OR_RETURN(hal::ModuleId id,
                            device.loadModule(module.name(), variants));
    modules.push_back(id);
  }
  std::vector<hal::KernelId> kernels;
  for (const program::Kernel &kernel : program.kernels()) {
    auto id = device.findKernel(modules[kernel.module()], kernel.symbol());
    if (!id.ok())
      return id.status().withContext("kernel '" + kernel.name() + "'");
    kernels.push_back(*id);
  }
  return kernels;
}
