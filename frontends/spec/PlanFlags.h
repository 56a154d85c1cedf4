//===- PlanFlags.h - Options that stand for fields of a plan ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The short way to write a plan on the command line:
///
///   --mesh pp=2,dp=2,tp=2      the parallel sizes
///   --virtual-stages 2         plan.virtual_stages
///   --schedule zb-h1           plan.schedule
///   --microbatches 8           training.global_batch_size, for as many
///   --sequence-parallel        plan.sequence_parallel
///   --zero 1                   plan.zero_stage
///   --cp-strategy ring         plan.context_strategy
///   --recompute selective      plan.recompute
///   --recompute-modules mlp    plan.recompute_modules
///   --recompute-method block   plan.recompute_method
///   --recompute-num-layers 2   plan.recompute_layers
///   --memory 80GiB             cluster.memory_bytes
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_PLANFLAGS_H
#define HOCKET_FRONTENDS_SPEC_PLANFLAGS_H

#include "base/Status.h"
#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/FieldLocations.h"

#include <string>
#include <vector>

namespace hocket::spec {

/// Options in the order in which they were given.
struct PlanFlags {
  struct Flag {
    std::string option; ///< "--mesh"
    std::string value;  ///< "true" for one that takes none
  };
  std::vector<Flag> given = {};

  bool empty() const { return given.empty(); }
};

/// Every option, and what its help says of it.
struct PlanFlagInfo {
  const char *option;
  const char *help;
  bool takesValue;
};
const std::vector<PlanFlagInfo> &planFlags();

/// Sets the fields of `spec` that `flags` stand for; their place is then the
/// option ("--mesh pp=2"). Errors are InvalidArgument and begin with it.
Status applyFlags(const PlanFlags &flags, Spec &spec,
                  FieldLocations &locations);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_PLANFLAGS_H
