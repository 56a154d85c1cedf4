//===- MemoryTrace.h - Memory beside a timeline -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_MEMORYTRACE_H
#define HOCKET_RUNTIME_TELEMETRY_MEMORYTRACE_H

#include "runtime/predict/MemoryUse.h"
#include "runtime/telemetry/TraceFile.h"

namespace hocket {

/// What lives in the arena of a role while its run of `entry` had these spans,
/// predicted or measured (predictMemory()). Nothing where the role has no such
/// entry.
std::vector<TraceMemory> memoryTrace(const program::Program &program,
                                     uint32_t role, const std::string &entry,
                                     std::vector<PredictedSpan> spans);

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_MEMORYTRACE_H
