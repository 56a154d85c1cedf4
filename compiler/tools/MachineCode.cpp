//===- MachineCode.cpp - Machine code of GPU kernels ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/MachineCode.h"

#include "runtime/hal/drivers/cpu/CpuFeatures.h"
#include "runtime/nvrtc/CompileOnce.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

using namespace hocket;

using Variant = program::KernelModule::Variant;

Status
hocket::checkArchitectures(const std::vector<std::string> &architectures) {
  for (size_t i = 0; i < architectures.size(); ++i) {
    auto here = architectures.begin() + i;
    HOCKET_RETURN_IF_ERROR(
        nvrtc::checkArchitecture(*here).withContext("--arch"));
    // GPUs would take this code, and miss in it what is in sm_90a's alone.
    if (*here == "sm_90")
      return invalidArgument("--arch sm_90 leaves out the kernels that Hopper "
                             "GPUs launch: write sm_90a");
    if (std::find(architectures.begin(), here, *here) != here)
      return invalidArgument("--arch names " + *here + " twice");
  }
  return okStatus();
}

Status hocket::chooseInstructionSets(std::vector<std::string> &names) {
  for (std::string &name : names)
    if (name == "native") {
      HOCKET_ASSIGN_OR_RETURN(kernels::Isa isa, hal::chooseIsa());
      name = hal::bestVariant(isa);
    }
  std::vector<std::string> chosen;
  for (const char *known : {"x86-64-v4", "x86-64-v3"}) {
    auto times = std::count(names.begin(), names.end(), known);
    if (times > 1)
      return invalidArgument("--arch names " + std::string(known) + " twice");
    if (times == 1)
      chosen.push_back(known);
  }
  for (const std::string &name : names)
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end())
      return invalidArgument(
          "--arch " + name +
          ": for --target cpu write x86-64-v4 (AVX-512), x86-64-v3 (AVX2) or "
          "native; architectures of GPUs go with --target cuda or --emit=cuda");
  names = std::move(chosen);
  return okStatus();
}

/// Calls `job(i)` for i in [0, count) on as many threads as the machine has.
static void runAll(size_t count, const std::function<void(size_t)> &job) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;)
      job(i);
  };
  std::vector<std::thread> threads;
  size_t most = std::min<size_t>(
      count, std::max(1u, std::thread::hardware_concurrency()));
  for (size_t i = 1; i < most; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}

StatusOr<std::vector<std::string>>
hocket::machineCode(const std::vector<nvrtc::Source> &sources,
                    const std::vector<std::string> &architectures) {
  size_t each = architectures.size(), count = sources.size() * each;
  std::vector<std::string> cubins(count);
  std::vector<Status> failures(count);
  runAll(count, [&](size_t i) {
    auto compiled =
        nvrtc::compileOnce(sources[i / each], architectures[i % each]);
    if (compiled.ok())
      cubins[i] = *std::move(compiled);
    else
      failures[i] = compiled.status();
  });
  for (const Status &failure : failures)
    HOCKET_RETURN_IF_ERROR(failure);
  return cubins;
}

Status hocket::addMachineCode(const std::vector<std::string> &architectures,
                              program::Program &program) {
  std::vector<nvrtc::Source> sources;
  std::vector<program::KernelModule *> modules;
  for (program::KernelModule &module : *program.mutable_modules())
    for (const Variant &variant : module.variants())
      if (variant.format() == "cuda-c++") {
        sources.push_back({module.name() + ".cu", variant.image(), {}});
        modules.push_back(&module);
      }
  HOCKET_ASSIGN_OR_RETURN(std::vector<std::string> cubins,
                          machineCode(sources, architectures));
  auto cubin = cubins.begin();
  for (program::KernelModule *module : modules) {
    program::KernelModule whole;
    whole.set_name(module->name());
    for (const std::string &architecture : architectures) {
      Variant *variant = whole.add_variants();
      variant->set_isa(architecture);
      variant->set_format("cubin");
      variant->set_image(std::move(*cubin++));
    }
    for (Variant &variant : *module->mutable_variants())
      whole.add_variants()->Swap(&variant);
    module->Swap(&whole);
  }
  return okStatus();
}
