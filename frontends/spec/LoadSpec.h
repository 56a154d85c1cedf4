//===- LoadSpec.h - A spec from a file --------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The front end for Hocket's own specification: text in, a complete and
/// checked Spec out, with the place of every field.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_LOADSPEC_H
#define HOCKET_FRONTENDS_SPEC_LOADSPEC_H

#include "base/Status.h"
#include "frontends/spec/PlanFlags.h"
#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/FieldLocations.h"

#include <string>
#include <vector>

namespace hocket::spec {

/// What the command line adds to a specification.
struct LoadOptions {
  /// `--plan`: a file, or a plan in the short form (dialects/plan); replaces
  /// the spec's plan.
  std::string planPath;
  std::vector<std::string> overrides; ///< `--set`, in order.
  PlanFlags flags = {};               ///< `--mesh` and the like, after those.
  /// Whether the specification's own plan and cluster count for nothing, as
  /// where a plan is searched; one that is given here does count.
  bool withoutPlan = false;
  /// Whether cluster.devices counts for nothing, as where a model moves to
  /// another machine.
  bool anyDevices = false;
  /// Whether training.global_batch_size does where the plan cannot have it, as
  /// where nothing is trained. A batch that grows counts for nothing then.
  bool anyBatch = false;
  std::string planText = {}; ///< As planPath, of a plan that was searched.

  /// Whether anything is to be changed.
  bool empty() const {
    return planPath.empty() && planText.empty() && overrides.empty() &&
           flags.empty();
  }
};

struct LoadedSpec {
  Spec spec;                ///< Every default filled in, every check passed.
  FieldLocations locations; ///< Where each field was written.
  /// Sequences that the specification's own plan computes at a time, also where
  /// it counts for nothing; 0 where no micro_batch_size is written.
  int64_t sequencesTogether = 0;
};

/// Reads the textproto `path`. An error is the input's fault
/// (InvalidArgument, NotFound) and names file, line and column.
StatusOr<LoadedSpec> loadSpec(const std::string &path,
                              const LoadOptions &options = {});

/// The same of text that is in memory; `file` names it in messages.
StatusOr<LoadedSpec> parseSpec(const std::string &text, const std::string &file,
                               const LoadOptions &options = {});

/// Applies `options` to what a front end has read so far, fills in the
/// defaults and checks the result.
StatusOr<LoadedSpec> finishSpec(LoadedSpec partial, const LoadOptions &options);

/// `spec` as textproto, deterministic; reading it gives `spec` again.
std::string printSpec(const Spec &spec);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_LOADSPEC_H
