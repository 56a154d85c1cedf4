//===- ProfileReport.h - Where the time went --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_PROFILEREPORT_H
#define HOCKET_RUNTIME_EXECUTOR_PROFILEREPORT_H

#include "runtime/executor/Executor.h"

#include <string>
#include <vector>

namespace hocket {

/// Instructions that do the same work: launches of one kernel, GEMMs of one
/// shape and layout, calls of one library op with the same numbers.
struct ProfileGroup {
  std::string name;
  /// The ops that they were compiled from, of any layer, each once, as the
  /// program names them: "layers.*.attention". At most a few.
  std::vector<std::string> ops;
  uint64_t runs = 0;
  double seconds = 0;
  double flops = 0; ///< In all runs; 0 if not known.
};

/// What an executor has measured since startProfile(), longest first.
std::vector<ProfileGroup> profileGroups(const Executor &executor);

/// A table of the `limit` longest groups: share, time, runs, time of a run,
/// GFLOP/s, and what they are of which ops; and how many more there are.
std::string profileText(const Executor &executor, size_t limit = 40);

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_PROFILEREPORT_H
