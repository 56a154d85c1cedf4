//===- MemoryUse.h - Which bytes live when ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_MEMORYUSE_H
#define HOCKET_RUNTIME_PREDICT_MEMORYUSE_H

#include "runtime/predict/Timeline.h"

#include <string>
#include <vector>

namespace hocket {

/// The bytes that live in a role's arena at some moments of a timeline, by kind
/// of buffer. A value lives from the begin of what writes it to the end of the
/// last that uses it; what is persistent lives always.
struct MemoryUse {
  std::vector<std::string> kinds;
  std::vector<double> times;                ///< Seconds, ascending.
  std::vector<std::vector<uint64_t>> bytes; ///< By time, then by kind.
};

/// Of one role, from the spans of its run of an entry in any order. At most
/// `points` moments; among them that with the most bytes, and of each stretch
/// of time between two the one with the most. `program` passed checkProgram().
MemoryUse predictMemory(const program::Program &program, uint32_t role,
                        const program::Entry &entry,
                        std::vector<PredictedSpan> spans, size_t points);

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_MEMORYUSE_H
