//===- RankLaunch.h - Starts the ranks of a program -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whatever is done with a program, training or evaluation, its ranks are
/// threads of this process, which share its cores; or, if a launcher has
/// started this process (comm/process/Launch.h), it is one of them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_RANKLAUNCH_H
#define HOCKET_RUNTIME_TRAIN_RANKLAUNCH_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/comm/interfaces/RankComparison.h"
#include "runtime/program/program.pb.h"
#include "runtime/telemetry/StatusLine.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

/// Where a rank runs.
struct RankSeat {
  std::shared_ptr<const program::Program> program;
  unsigned threads = 0; ///< To compute with; 0: all cores.
  std::string launcher; ///< "threads of this process"
  /// Which of the machine's GPUs is its; absent: that of its rank.
  std::optional<unsigned> gpu;
};

struct RankLaunch {
  /// What one rank does. On an error it has told the others. Called on a
  /// thread of its own, or on the caller's; copied.
  std::function<Status(const RankSeat &, comm::CommunicatorSet &)> body;
  /// What processes that a launcher has started must have alike; asked for if
  /// there are any. `runId` is the launcher's (comm::Launch::runId).
  std::function<std::vector<comm::RunFact>(const std::string &runId)> facts;
  /// Seconds without progress after which a rank counts as hanging; 0: never.
  /// Default: HOCKET_HANG_SECONDS, or 7.
  std::optional<double> hangSeconds;
  std::function<void(const std::string &)> print; ///< For people; may be empty.
};

/// Runs a program that passed checkProgram() on devices that its target names,
/// until all ranks of this process are done; the first error, if there is any.
Status launchRanks(std::shared_ptr<const program::Program> program,
                   const RankLaunch &launch);

/// The same output, for several threads: one line after the other.
RunOutput inTurn(RunOutput output);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_RANKLAUNCH_H
