//===- RunFacts.h - What processes of one run have alike --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A launcher starts each process by itself, on machines that may have other
/// files. What they are about to train is compared (comm/interfaces/
/// RankComparison.h) before anything is.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_RUNFACTS_H
#define HOCKET_RUNTIME_TRAIN_RUNFACTS_H

#include "runtime/comm/interfaces/RankComparison.h"
#include "runtime/train/TrainingRun.h"

namespace hocket {

/// Executable, seed, steps, data, and which options there are that all ranks
/// have a part in. `runId` is the launcher's (comm::Launch::runId).
///
/// Of the data it reads the sizes and up to 16 MiB of each index, spread over
/// it, and 1 MiB of the tokens. Files that cannot be read are a fact, too.
std::vector<comm::RunFact> factsOfRun(const program::Program &program,
                                      const TrainingOptions &options,
                                      const std::string &runId);

/// The executable alone.
comm::RunFact factOfExecutable(const program::Program &program);

/// Where a run begins: nowhere (step 0), or at what was loaded from `loadDir`.
struct RunStart {
  uint64_t step = 0, consumedSamples = 0, seed = 0;
  std::string loadDir; ///< Empty: nothing was loaded.
};
std::vector<comm::RunFact> factsOfStart(const RunStart &start);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_RUNFACTS_H
