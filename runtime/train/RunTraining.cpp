//===- RunTraining.cpp - `hocket train` -----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Format.h"
#include "runtime/base/WorkerPool.h"
#include "runtime/executor/ProgramGroups.h"
#include "runtime/train/Interrupt.h"
#include "runtime/train/LocalRanks.h"
#include "runtime/train/RankRun.h"

#include <algorithm>

using namespace hocket;

static Status checkRequest(const program::Program &program,
                           const TrainingOptions &options) {
  if (program.training().seed() > UINT32_MAX ||
      options.seed.value_or(0) > UINT32_MAX)
    return invalidArgument("the seed must be below 2^32");
  uint64_t steps = options.steps.value_or(program.training().steps());
  if (options.data.empty() && steps > 0 && options.loadDir.empty())
    return missingData();
  return okStatus();
}

static comm::WaitLimits limitsOf(const TrainingOptions &options) {
  comm::WaitLimits limits = comm::WaitLimits::fromEnvironment();
  if (options.hangSeconds)
    limits.hangSeconds = *options.hangSeconds;
  return limits;
}

Status hocket::runTraining(std::shared_ptr<const program::Program> program,
                           const TrainingOptions &options) {
  HOCKET_RETURN_IF_ERROR(checkRequest(*program, options));
  comm::GroupTable table = groupTableOf(*program);
  RankRun place;
  place.program = std::move(program);
  place.options = std::make_shared<const TrainingOptions>(options);
  place.samples = std::make_shared<SharedSamples>(options.data);
  if (table.ranks == 1) {
    auto communicators = comm::createSingleRank(std::move(table));
    return runRank(place, *communicators);
  }
  HOCKET_ASSIGN_OR_RETURN(unsigned cores, WorkerPool::defaultCount());
  place.threads = std::max(1u, cores / table.ranks);
  place.launcher = "all threads of this process";
  return runLocalRanks(table, limitsOf(options),
                       [place](comm::CommunicatorSet &communicators) {
                         return runRank(place, communicators);
                       });
}
