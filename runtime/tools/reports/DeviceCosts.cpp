//===- DeviceCosts.cpp - What a program takes on a device -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/reports/DeviceCosts.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace hocket;

/// The described devices that were asked for: one for each rank.
static StatusOr<cluster::ClusterChoice>
chooseCluster(const DeviceArguments &arguments, int64_t ranks) {
  if (!arguments.system.empty()) {
    StatusOr<cluster::System> system = cluster::readSystem(arguments.system);
    if (!system.ok())
      return system.status().withContext("--system " + arguments.system);
    return cluster::ClusterChoice{*std::move(system), ranks};
  }
  std::string text = arguments.cluster;
  if (text.find(':') == std::string::npos)
    text += ":" + std::to_string(ranks);
  HOCKET_ASSIGN_OR_RETURN(cluster::ClusterChoice choice,
                          cluster::readCluster(text));
  if (choice.devices != ranks)
    return invalidArgument(formatText(
        "--cluster %s: the executable has %lld rank%s, one a device; write "
        "--cluster %s:%lld",
        arguments.cluster.c_str(), (long long)ranks, ranks == 1 ? "" : "s",
        text.substr(0, text.rfind(':')).c_str(), (long long)ranks));
  return choice;
}

StatusOr<DeviceCosts> hocket::chooseDevice(const DeviceArguments &arguments,
                                           const program::Program &program,
                                           const PlanPricer &pricer) {
  DeviceCosts result;
  if (arguments.cluster.empty() && arguments.system.empty()) {
    result.costs = std::make_unique<DeviceModel>(arguments.device);
    return result;
  }
  HOCKET_ASSIGN_OR_RETURN(cluster::ClusterChoice choice,
                          chooseCluster(arguments, countRanks(program)));
  if (KernelCosts::canPrice(choice.system, program)) {
    auto kernels = std::make_unique<KernelCosts>(choice.system, program);
    result.described = result.kernels = kernels.get();
    result.costs = std::move(kernels);
  } else {
    auto described = std::make_unique<ClusterCosts>(choice.system);
    result.described = described.get();
    result.costs = std::move(described);
  }
  if (!pricer)
    return result;
  StatusOr<PlanPrice> price = pricer(program, choice);
  if (price.ok())
    result.price = *std::move(price);
  else
    result.unpriced = price.status().message();
  return result;
}

static double secondsOf(const std::vector<StepTerm> &terms,
                        const std::string &name) {
  for (const StepTerm &term : terms)
    if (term.name == name)
      return term.seconds;
  return 0;
}

/// Every term that either has, as the plan lists them; what is larger of the
/// two first.
static std::vector<std::string> namesOf(const PredictedStep &step,
                                        const std::vector<StepTerm> &priced) {
  std::vector<std::string> names;
  for (const auto *terms : {&priced, &step.terms})
    for (const StepTerm &term : *terms)
      if (std::find(names.begin(), names.end(), term.name) == names.end())
        names.push_back(term.name);
  auto larger = [&](const std::string &name) {
    return std::max(std::abs(secondsOf(step.terms, name)),
                    std::abs(secondsOf(priced, name)));
  };
  std::sort(names.begin(), names.end(),
            [&](const std::string &a, const std::string &b) {
              double first = larger(a), second = larger(b);
              return first != second ? first > second : a < b;
            });
  // Less than a thousandth of the step is not worth a line.
  std::erase_if(names, [&](const std::string &name) {
    return larger(name) < 1e-3 * step.seconds;
  });
  return names;
}

const char *hocket::differenceReason(const std::string &term,
                                     const DeviceCosts &device) {
  // What its kernels take: inspect --roofline shows them.
  static constexpr std::pair<const char *, const char *> ofKernels[] = {
      {"GEMMs", "the price has what published steps reach, the program its "
                "GEMMs one by one"},
      {"attention", "the program has its own kernels"},
      {"memory-bound kernels", "the program has its own kernels, fused, each "
                               "with its blocks"},
      {"gaps", "the program's step is one CUDA graph"},
      {"host", "the program's step is one CUDA graph"},
      {"outside", "the program's step is one CUDA graph"}};
  static constexpr std::pair<const char *, const char *> reasons[] = {
      {"recompute", "what the program computes again counts to its GEMMs, "
                    "attention and kernels"},
      {"tensor", "the program has a stream of its own for some of them"},
      {"context", "the program hides what has a stream of its own"},
      {"expert", "the price hides a share (expert_overlap); the program only "
                 "what has a stream of its own"},
      {"data", "the price hides a share beside the last pass (data_overlap); "
               "the program what its streams and its buckets do"},
      {"memory-bound kernels", "the price counts the kernels of published "
                               "systems; the program has its own, fused"},
      {"gaps", "the program has fewer or more kernels than the price counts"},
      {"host", "the price hides the host's time beside a whole pass; the "
               "program waits for each start"},
      {"bubble", "follows from what passes take"},
      {"shared", "devices that share processors take turns in the price only"},
      {"GEMMs", "with what the program computes again"},
      {"attention", "with what the program computes again"},
      {"update", "the program has the kernels of its own optimizer"},
      {"transfers", "the program waits for messages as bubble"}};
  if (device.kernels)
    for (const auto &[name, reason] : ofKernels)
      if (term == name)
        return reason;
  for (const auto &[name, reason] : reasons)
    if (term == name)
      return reason;
  return "";
}

std::string hocket::termsText(const PredictedStep &step,
                              const DeviceCosts &device) {
  if (!device.price) {
    std::string text;
    for (const std::string &name : namesOf(step, {}))
      text += (text.empty() ? "of it " : ", ") + name + " " +
              formatDuration(secondsOf(step.terms, name));
    if (!device.unpriced.empty())
      text += "\nits plan has no price: " + device.unpriced;
    return text + "\n";
  }
  const PlanPrice &price = *device.price;
  double ratio = step.seconds / price.seconds;
  std::string text =
      formatText("its plan was priced at %s +/- %.1f%%; this is %.1f%% %s, of "
                 "which on the rank that is done last\n",
                 formatDuration(price.seconds).c_str(), 100 * price.spread,
                 100 * std::abs(ratio - 1), ratio < 1 ? "less" : "more");
  std::vector<std::vector<std::string>> rows, reasons;
  for (const std::string &name : namesOf(step, price.terms)) {
    double here = secondsOf(step.terms, name),
           there = secondsOf(price.terms, name);
    // Less than a nanosecond is rounding.
    if (std::abs(here - there) < 1e-9)
      here = there;
    std::string sign = here < there ? "-" : here > there ? "+" : "";
    rows.push_back({name, formatDuration(there), formatDuration(here),
                    sign + formatDuration(std::abs(here - there))});
    // A hundredth of the step wants a reason.
    if (std::abs(here - there) > 1e-2 * step.seconds)
      reasons.push_back({"  " + name, differenceReason(name, device)});
  }
  text += formatTable({"", ">plan", ">program", ">difference"}, rows);
  if (!reasons.empty())
    text += "they differ, because\n" + formatTable({"", ""}, reasons);
  return text;
}
