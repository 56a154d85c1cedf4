//===- KernelCosts.h - Instructions of programs for GPUs --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prices instructions of a program for GPUs by the kernels that they launch
/// (LaunchTimes.h), where the described device says what its multiprocessors
/// are. The home of what a launch takes: `trace`, the page and `inspect
/// --roofline` all ask here. Messages are priced as plans are. A step is one
/// CUDA graph, so that the host's launches take no time.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_KERNELCOSTS_H
#define HOCKET_RUNTIME_PREDICT_KERNELCOSTS_H

#include "runtime/predict/ClusterCosts.h"
#include "runtime/predict/LaunchTimes.h"

#include <unordered_map>

namespace hocket {

struct TimedLaunch {
  KernelLaunch launch;
  LaunchTime time;
  const CubinKernel *code = nullptr; ///< Null: not in the program.
};

class KernelCosts : public ClusterCosts {
public:
  /// Of a program for GPUs, on a system that describes them; the program
  /// outlives it.
  KernelCosts(cluster::System system, const program::Program &program);

  /// Whether the two are such.
  static bool canPrice(const cluster::System &system,
                       const program::Program &program);

  /// The kernels of one of the program's instructions.
  const std::vector<TimedLaunch> &
  launches(const program::Instruction &instruction,
           const program::Role &role) const;

  InstructionTime timeOf(const program::Instruction &instruction,
                         const program::Role &role,
                         const program::Program &program) const override;
  double hostSeconds(const program::Instruction &) const override { return 0; }
  double outsideSeconds() const override;

  const LaunchTimes &times() const { return launchTimes; }
  /// Whether the program has machine code for the device.
  bool hasCode() const { return !kernels.empty(); }

private:
  const program::Program &program;
  LaunchTimes launchTimes;
  GpuArchitecture architecture;
  std::map<std::string, CubinKernel> kernels; ///< By symbol.
  /// A step runs an instruction many times.
  mutable std::unordered_map<const program::Instruction *,
                             std::vector<TimedLaunch>>
      known;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_KERNELCOSTS_H
