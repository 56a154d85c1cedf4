//===- DeviceCosts.h - What a program takes on a device ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_DEVICECOSTS_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_DEVICECOSTS_H

#include "runtime/cluster/Systems.h"
#include "runtime/predict/KernelCosts.h"
#include "runtime/predict/StepTerms.h"

#include <functional>
#include <memory>
#include <optional>

namespace hocket {

/// What a plan costs under the planner's model, by the same terms.
struct PlanPrice {
  double seconds = 0;
  double spread = 0; ///< Of `seconds`: two thirds of measurements are within.
  std::vector<StepTerm> terms;
};

/// Prices the plan that an executable was compiled from. An error says why it
/// has no price. Empty where there is no planner.
using PlanPricer = std::function<StatusOr<PlanPrice>(
    const program::Program &program, const cluster::ClusterChoice &choice)>;

/// A described cluster, or a device of a few numbers.
struct DeviceArguments {
  std::string cluster; ///< "h100:1024", or "h100": as many as there are ranks.
  std::string system;  ///< "h100", instead: of as many devices as ranks.
  DeviceModel device;
};

/// What a program's instructions take on the device that was chosen, and, on a
/// described cluster, what its plan was priced at.
struct DeviceCosts {
  std::unique_ptr<InstructionCosts> costs;
  const ClusterCosts *described = nullptr; ///< `costs`, of a cluster.
  /// `costs`, of a program for GPUs on a cluster that describes them.
  const KernelCosts *kernels = nullptr;
  std::optional<PlanPrice> price;
  std::string unpriced; ///< Why there is no price, where there is a planner.
};

/// InvalidArgument for a cluster that does not exist, or that has not as many
/// devices as the program has ranks. The program outlives the costs.
StatusOr<DeviceCosts> chooseDevice(const DeviceArguments &arguments,
                                   const program::Program &program,
                                   const PlanPricer &pricer);

/// Why a program's term may differ from that of its plan's price; empty where
/// nothing but the sizes of its kernels can make it differ.
const char *differenceReason(const std::string &term,
                             const DeviceCosts &device);

/// The program's terms beside those of its plan's price, and how far apart they
/// are; of a device that has no price, the program's alone. Lines for people.
std::string termsText(const PredictedStep &step, const DeviceCosts &device);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_DEVICECOSTS_H
