//===- NearestPlans.h - Plans that fit, near one that does not --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a plan needs more memory than a device has, the plans that differ from
/// it the least and fit: over the mesh (with as many ranks), ZeRO, recompute,
/// the size of a microbatch, sequence parallelism, virtual stages and schedule.
/// The training stays the same: so does the global batch.
///
/// Neighbours are sorted by how much they change, those that an estimate rules
/// out left out: every kind of bytes of the plan at hand, scaled by how the
/// neighbour splits it. What is named has been compiled.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_NEARESTPLANS_H
#define HOCKET_COMPILER_DRIVER_NEARESTPLANS_H

#include "base/Status.h"
#include "compiler/driver/RoleMemory.h"
#include "frontends/spec/LoadSpec.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

/// A change to a plan, as on the command line: "--zero 1 --recompute full".
struct PlanChange {
  std::string text;
  spec::LoadOptions options; ///< To load the specification with.
  double distance = 0;       ///< How much it changes.
  double estimate = 0;       ///< Bytes.
};

/// Neighbours of `spec`'s plan that may fit `budget`, nearest first. `options`
/// is what `spec` was loaded with, `worst` the role that needs most.
std::vector<PlanChange> neighbours(const spec::Spec &spec,
                                   const spec::LoadOptions &options,
                                   const RoleMemory &worst, int64_t budget);

/// Lines that name the nearest plans that fit, at most three. `peakOf` compiles
/// a change and returns its largest arena, or an error where it is none.
std::string nearestPlansText(
    const std::vector<PlanChange> &changes, int64_t budget,
    const std::function<StatusOr<int64_t>(const PlanChange &)> &peakOf);

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_NEARESTPLANS_H
