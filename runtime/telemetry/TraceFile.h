//===- TraceFile.h - What ran when, for Perfetto ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The JSON form of Chrome's trace events, which Perfetto (ui.perfetto.dev)
/// opens: a process a rank, a thread a stream, a complete event ("X") a span, a
/// flow event ("s", "f") each end of a message, a counter event ("C") a moment
/// at which the rank's memory is known. Spans of one stream nest or follow each
/// other.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_TRACEFILE_H
#define HOCKET_RUNTIME_TELEMETRY_TRACEFILE_H

#include "base/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hocket {

/// One end of an arrow between two spans; both ends have the same id, which
/// fits in 52 bits.
struct TraceFlow {
  uint64_t id = 0;
  bool begins = false;
};

/// One thing that took time.
struct TraceSpan {
  uint32_t stream = 0;
  std::string name;     ///< "layers.3.mlp.up gemm", or a sequence's name.
  std::string category; ///< "sequence", "compute", "communication", "host"
  double beginMicros = 0;
  double micros = 0;
  /// "microbatch", "step", ...
  std::map<std::string, std::string> arguments = {};
  std::map<std::string, uint64_t> numbers = {}; ///< "bytes", ...
  std::vector<TraceFlow> flows = {};
};

/// Bytes that live from a moment on, by kind.
struct TraceMemory {
  double micros = 0;
  std::map<std::string, uint64_t> bytes;
};

/// What is known of one rank.
struct RankTrace {
  unsigned rank = 0;
  std::string name;
  std::vector<std::string> streams = {}; ///< Names; of others "stream 3".
  std::vector<TraceSpan> spans = {};
  std::vector<TraceMemory> memory = {};
};

/// The events of one rank, one a line, each with a comma behind it.
std::string traceEvents(const RankTrace &rank);

/// A whole file out of the events of all ranks.
std::string traceText(const std::vector<std::string> &events);

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_TRACEFILE_H
