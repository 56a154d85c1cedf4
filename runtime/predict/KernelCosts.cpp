//===- KernelCosts.cpp - Instructions of programs for GPUs ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/KernelCosts.h"

using namespace hocket;
using program::Instruction;

KernelCosts::KernelCosts(cluster::System system,
                         const program::Program &program)
    : ClusterCosts(std::move(system)), program(program),
      launchTimes(described()),
      architecture(described().device().multiprocessors().architecture()) {
  for (const auto &module : program.modules())
    for (const auto &variant : module.variants())
      if (variant.format() == "cubin" && variant.isa() == architecture.name)
        kernels.merge(readCubinKernels(variant.image()));
}

bool KernelCosts::canPrice(const cluster::System &system,
                           const program::Program &program) {
  return program.provenance().target() == "cuda" &&
         system.device().has_multiprocessors() && system.has_kernels();
}

const std::vector<TimedLaunch> &
KernelCosts::launches(const Instruction &instruction,
                      const program::Role &role) const {
  auto [entry, isNew] = known.try_emplace(&instruction);
  if (!isNew)
    return entry->second;
  for (KernelLaunch &launch :
       launchesOf(instruction, role, program, architecture)) {
    auto code = kernels.find(launch.symbol);
    const CubinKernel *found = code == kernels.end() ? nullptr : &code->second;
    LaunchTime time = launchTimes.timeOf(launch, found);
    entry->second.push_back({std::move(launch), time, found});
  }
  return entry->second;
}

InstructionTime KernelCosts::timeOf(const Instruction &instruction,
                                    const program::Role &role,
                                    const program::Program &program) const {
  if (instruction.has_collective() || instruction.has_transfer())
    return ClusterCosts::timeOf(instruction, role, program);
  InstructionTime time;
  for (const TimedLaunch &timed : launches(instruction, role)) {
    time.gap += timed.time.start;
    double seconds = timed.time.seconds() - timed.time.start;
    bool isGemm = timed.launch.gemm || timed.launch.tensorCores;
    (timed.launch.attention ? time.attention
     : isGemm               ? time.gemms
                            : time.memory) += seconds;
  }
  return time;
}

double KernelCosts::outsideSeconds() const {
  return described().kernels().step_seconds();
}
