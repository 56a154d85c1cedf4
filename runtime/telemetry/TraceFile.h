//===- TraceFile.h - What ran when, for Perfetto ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The JSON form of Chrome's trace events, which Perfetto (ui.perfetto.dev)
/// opens: a process a rank, a thread a stream, a complete event ("X") a span.
/// Spans of one stream nest or follow each other.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_TRACEFILE_H
#define HOCKET_RUNTIME_TELEMETRY_TRACEFILE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hocket {

/// One thing that took time.
struct TraceSpan {
  uint32_t stream = 0;
  std::string name;     ///< "gemm", "all_reduce", or a sequence's name.
  std::string category; ///< "sequence", "compute", "communication", "host"
  double beginMicros = 0;
  double micros = 0;
  /// "microbatch", "step", ...
  std::map<std::string, std::string> arguments;
};

/// The events of one rank, one a line, each with a comma behind it.
std::string traceEvents(unsigned rank, const std::string &rankName,
                        const std::vector<TraceSpan> &spans);

/// A whole file out of the events of all ranks.
std::string traceText(const std::vector<std::string> &events);

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_TRACEFILE_H
