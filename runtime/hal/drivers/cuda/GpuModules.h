//===- GpuModules.h - Code on a GPU -----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads the modules of a program onto one GPU: the cubin that runs there,
/// or else, and where the driver refuses that, the source, compiled by NVRTC
/// and kept in the ResultCache.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GPUMODULES_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GPUMODULES_H

#include "runtime/cuda/DriverApi.h"
#include "runtime/hal/interfaces/Device.h"

#include <vector>

namespace hocket::hal::cuda {

/// "Compute capability", as NVIDIA calls it: 9.0 is a Hopper GPU.
struct Architecture {
  int major = 0, minor = 0;

  /// What code for this GPU alone is compiled for: "sm_90a", "sm_89".
  std::string name() const;
  /// Whether a cubin for `isa` runs here: one for the same major number and a
  /// minor that is no greater; with an `a`, for this very architecture; with an
  /// `f`, as without.
  bool runs(std::string_view isa) const;
};

/// A function of a loaded module.
struct GpuFunction {
  CUfunction handle = nullptr;
  /// Dynamic, that it may be given. Unasked, that is 48 KiB less what it has
  /// statically, which only the driver knows: so it is always asked for.
  uint32_t sharedBytes = 0;
};

/// Used with the GPU's context current.
class GpuModules {
public:
  GpuModules(const DriverApi &api, Architecture architecture)
      : api(api), architecture(architecture) {}
  GpuModules(const GpuModules &) = delete;

  Architecture gpu() const { return architecture; }

  /// FailedPrecondition if no variant runs here and no source can be compiled;
  /// DataLoss for a cubin that the driver refuses.
  Status load(const std::string &name, std::span<const ModuleVariant> variants);

  /// NotFound if the module does not have it.
  StatusOr<GpuFunction> find(size_t module, const std::string &symbol) const;
  /// The same of any module.
  StatusOr<GpuFunction> find(const std::string &symbol) const;

  /// Lets `function` be launched with that much dynamic shared memory.
  Status allowShared(GpuFunction &function, uint32_t bytes) const;

  /// Unloads everything.
  void close();

private:
  struct Module {
    std::string name;
    CUmodule handle;
  };
  StatusOr<std::string> compile(const std::string &name,
                                const ModuleVariant &source) const;
  /// Sets `isRefused` where the driver does not take this code, as drivers do
  /// that are older than the compiler which made it.
  Status loadCode(const std::string &name, const std::string &code,
                  bool &isRefused);

  const DriverApi &api;
  Architecture architecture;
  std::vector<Module> modules;
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GPUMODULES_H
