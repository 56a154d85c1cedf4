//===- MachineCode.cpp - Machine code of GPU kernels ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/MachineCode.h"

#include "runtime/nvrtc/Nvrtc.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace hocket;

namespace {
using Variant = program::KernelModule::Variant;

/// One source for one architecture, and what came of it.
struct Job {
  const program::KernelModule *module;
  const std::string *source;
  const std::string *architecture;
  Status failure;
  std::string cubin;

  void run() {
    nvrtc::Source text{module->name() + ".cu", *source, {}};
    StatusOr<std::string> compiled = nvrtc::compile(text, *architecture);
    if (compiled.ok())
      cubin = *std::move(compiled);
    else
      failure = compiled.status();
  }
};
} // namespace

Status
hocket::checkArchitectures(const std::vector<std::string> &architectures) {
  for (size_t i = 0; i < architectures.size(); ++i) {
    auto here = architectures.begin() + i;
    HOCKET_RETURN_IF_ERROR(
        nvrtc::checkArchitecture(*here).withContext("--arch"));
    if (std::find(architectures.begin(), here, *here) != here)
      return invalidArgument("--arch names " + *here + " twice");
  }
  return okStatus();
}

static std::vector<Job> jobsOf(const program::Program &program,
                               const std::vector<std::string> &architectures) {
  std::vector<Job> jobs;
  for (const program::KernelModule &module : program.modules())
    for (const Variant &variant : module.variants())
      if (variant.format() == "cuda-c++")
        for (const std::string &architecture : architectures)
          jobs.push_back({&module, &variant.image(), &architecture, {}, {}});
  return jobs;
}

static void runAll(std::vector<Job> &jobs) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < jobs.size();)
      jobs[i].run();
  };
  std::vector<std::thread> threads;
  size_t most = std::min<size_t>(
      jobs.size(), std::max(1u, std::thread::hardware_concurrency()));
  for (size_t i = 1; i < most; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}

Status hocket::addMachineCode(const std::vector<std::string> &architectures,
                              program::Program &program) {
  if (architectures.empty())
    return okStatus();
  std::vector<Job> jobs = jobsOf(program, architectures);
  runAll(jobs);
  for (const Job &job : jobs)
    HOCKET_RETURN_IF_ERROR(job.failure);
  for (program::KernelModule &module : *program.mutable_modules()) {
    program::KernelModule whole;
    whole.set_name(module.name());
    for (Job &job : jobs) {
      if (job.module != &module)
        continue;
      Variant *variant = whole.add_variants();
      variant->set_isa(*job.architecture);
      variant->set_format("cubin");
      variant->set_image(std::move(job.cubin));
    }
    for (Variant &variant : *module.mutable_variants())
      whole.add_variants()->Swap(&variant);
    module.Swap(&whole);
  }
  return okStatus();
}
