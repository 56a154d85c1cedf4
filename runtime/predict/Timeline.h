//===- Timeline.h - When every instruction would run ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs an entry of a program on simulated time: streams, events, collectives
/// and transfers have the meaning that the executor gives them. Stream 0 issues
/// what other streams do; a collective begins when its last member has come and
/// ends for all of them at once; a transfer is over when all its messages are,
/// and a message begins when sender and receiver are there.
///
/// Costs depend on a role, not on a rank, and ranks of a role run the same
/// program. So all of them do the same at the same time, and one rank of each
/// role, its first, is simulated for all.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_TIMELINE_H
#define HOCKET_RUNTIME_PREDICT_TIMELINE_H

#include "base/Status.h"
#include "runtime/predict/InstructionCost.h"

#include <functional>
#include <vector>

namespace hocket {

/// One instruction of one run.
struct PredictedSpan {
  uint32_t role = 0;
  uint32_t run = 0; ///< Of the entry's.
  uint32_t sequence = 0, instruction = 0;
  uint32_t stream = 0, microbatch = 0;
  double begin = 0, end = 0; ///< Seconds from the entry's begin.
  double wait =
      0; ///< Of which it waits for other ranks before it does a thing.
  /// Before `begin`, seconds in which its stream had nothing to do but to wait
  /// for the host, or for events; the last of these stood behind
  /// `stallSequence`, `stallInstruction`.
  double hostStall = 0, stall = 0;
  uint32_t stallSequence = 0, stallInstruction = 0;
};

/// Hears of the spans of a role's stream in the order of time, of events never.
using SpanListener = std::function<void(const PredictedSpan &)>;

/// Seconds until the last role is done, and of what is outside of it. `program`
/// passed checkProgram(). NotFound if no role has the entry. FailedPrecondition
/// if ranks wait for each other, with the first that waits.
StatusOr<double> predictTimeline(const program::Program &program,
                                 const std::string &entry,
                                 const InstructionCosts &costs,
                                 const SpanListener &listener);

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_TIMELINE_H
