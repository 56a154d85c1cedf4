//===- FirstRuns.h - Which runs set what later ones add to ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_FIRSTRUNS_H
#define HOCKET_RUNTIME_PROGRAM_FIRSTRUNS_H

#include "runtime/program/program.pb.h"

#include <unordered_set>
#include <vector>

namespace hocket {

/// By run of `entry`, whether it is the first of its sequence there. Such a run
/// sets the sums of ADD_UNLESS_FIRST_MICROBATCH, the others add to them,
/// whichever microbatches they are of. Sequences need not exist.
inline std::vector<bool> firstRunsOf(const program::Entry &entry) {
  std::unordered_set<uint32_t> seen;
  std::vector<bool> first;
  first.reserve(size_t(entry.runs_size()));
  for (const program::Entry::Run &run : entry.runs())
    first.push_back(seen.insert(run.sequence()).second);
  return first;
}

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_FIRSTRUNS_H
