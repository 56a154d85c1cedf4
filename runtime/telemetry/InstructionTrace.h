//===- InstructionTrace.h - Instructions as trace spans ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The layout that measured and predicted timelines share: a span for each
/// instruction, named for its layer and its kernel, and on stream 0 around
/// those of one run of a sequence another with the sequence's name.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_INSTRUCTIONTRACE_H
#define HOCKET_RUNTIME_TELEMETRY_INSTRUCTIONTRACE_H

#include "runtime/program/program.pb.h"
#include "runtime/telemetry/MessageFlows.h"

namespace hocket {

/// When an instruction ran. Times are microseconds from any moment.
struct TimedInstruction {
  uint32_t sequence = 0, instruction = 0, microbatch = 0;
  uint64_t step = 0; ///< Steps done before.
  double beginMicros = 0, endMicros = 0;
};

/// "communication", "host" or "compute".
const char *traceCategory(const program::Instruction &instruction);

/// How much of stream 0 is shown.
enum class TraceDetail { Sequences, Instructions };

/// A rank with the names of its streams and its spans, without its memory.
/// `streams[s]` holds stream s in the order of time; all places exist in
/// `role`, which is the rank's. There are arrows to the ranks that `shows`
/// names, or to all.
RankTrace
instructionTrace(const program::Program &program, const program::Role &role,
                 unsigned rank,
                 const std::vector<std::vector<TimedInstruction>> &streams,
                 TraceDetail detail = TraceDetail::Instructions,
                 std::function<bool(unsigned)> shows = nullptr);

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_INSTRUCTIONTRACE_H
