//===- RunTraining.cpp - `hocket train` -----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Format.h"
#include "runtime/base/WorkerPool.h"
#include "runtime/comm/mpi/MpiTransport.h"
#include "runtime/comm/nccl/NcclApi.h"
#include "runtime/comm/process/Launch.h"
#include "runtime/comm/process/ProcessWorld.h"
#include "runtime/comm/process/SocketTransport.h"
#include "runtime/executor/ProgramGroups.h"
#include "runtime/hal/drivers/cpu/CpuFeatures.h"
#include "runtime/program/RankPlace.h"
#include "runtime/program/certificate/IssueOrder.h"
#include "runtime/train/Interrupt.h"
#include "runtime/train/LocalRanks.h"
#include "runtime/train/RankRun.h"
#include "runtime/train/RunFacts.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace hocket;

static Status checkRequest(const program::Program &program,
                           const TrainingOptions &options) {
  if (program.training().seed() > UINT32_MAX ||
      options.seed.value_or(0) > UINT32_MAX)
    return invalidArgument("the seed must be below 2^32");
  if (options.saveDir.empty() && (options.resume || options.keep > 0))
    return invalidArgument(std::string(options.resume ? "--resume" : "--keep") +
                           " is about the checkpoints of --save, which is "
                           "missing");
  if (options.saveDir.empty() && options.logFile.empty() && options.overwrite)
    return invalidArgument("--overwrite is about --save and --log, which are "
                           "missing");
  if (options.resume && options.overwrite)
    return invalidArgument("--resume goes on from what is saved, --overwrite "
                           "starts over; give one of them");
  if (!options.validData.empty() && options.data.empty())
    return invalidArgument("--valid-data is what training with --data "
                           "validates on, and --data is missing");
  const program::TrainingInfo &training = program.training();
  if (!options.validData.empty() &&
      (training.valid_interval() == 0 || training.valid_batches() == 0))
    return invalidArgument("--valid-data has no use: the executable never "
                           "validates; compile it with "
                           "training.validation.interval above 0");
  uint64_t steps = options.steps.value_or(program.training().steps());
  if (options.data.empty() && steps > 0 && options.loadDir.empty() &&
      !options.resume)
    return missingData();
  return okStatus();
}

/// Whether this machine has room for the arenas of all ranks.
static Status checkMemory(const program::Program &program) {
  double bytes = 0;
  for (const program::Role &role : program.roles())
    bytes += double(role.ranks_size()) * double(role.memory().arena_bytes());
  uint64_t machine = hal::physicalMemoryBytes();
  if (program.provenance().target() != "cpu" || machine == 0 ||
      bytes <= double(machine))
    return okStatus();
  return resourceExhausted(formatText(
      "%u ranks need %s of memory together, this machine has %s; start them on "
      "several machines (mpirun, srun), or compile for less",
      countRanks(program),
      formatBytes(uint64_t(std::min(bytes, 0x1p63))).c_str(),
      formatBytes(machine).c_str()));
}

static comm::WaitLimits limitsOf(const TrainingOptions &options) {
  comm::WaitLimits limits = comm::WaitLimits::fromEnvironment();
  if (options.hangSeconds)
    limits.hangSeconds = *options.hangSeconds;
  return limits;
}

static StatusOr<std::unique_ptr<comm::Transport>>
createTransport(const comm::Launch &launch) {
  if (launch.usesMpi)
    return comm::createMpiTransport();
  comm::ConnectOptions options;
  // Of any rank: who has not come cannot say so.
  options.say = [](const std::string &line) {
    std::fprintf(stderr, "hocket: %s\n", line.c_str());
    std::fflush(stderr);
  };
  return comm::createSocketTransport(launch, options);
}

/// The cores of this process: those it is bound to, or its share of all.
static StatusOr<unsigned> threadsOf(const comm::Launch &launch) {
  HOCKET_ASSIGN_OR_RETURN(unsigned cores, WorkerPool::defaultCount());
  unsigned share =
      std::thread::hardware_concurrency() / std::max(1u, launch.localSize);
  return std::max(1u, std::min(cores, std::max(1u, share)));
}

/// One rank a process.
static Status runLaunched(RankRun place, comm::GroupTable table,
                          const comm::Launch &launch) {
  if (launch.size != table.ranks)
    return invalidArgument(
        formatText("the program is for %u ranks, %s has started %u processes",
                   table.ranks, launch.launcher.c_str(), launch.size));
  // Ranks that compute the same must do it alike; what machines measure
  // differs.
  if (launch.localSize < launch.size)
    ::setenv("HOCKET_MEASURE_PRODUCTS", "0", 0);
  HOCKET_ASSIGN_OR_RETURN(place.threads, threadsOf(launch));
  place.launcher = "a process each, by " + launch.launcher;
  place.gpu = launch.localRank;
  // Before others wait for it: it reads files.
  std::vector<comm::RunFact> facts =
      factsOfRun(*place.program, *place.options, launch.runId);
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<comm::Transport> transport,
                          createTransport(launch));
  HOCKET_ASSIGN_OR_RETURN(
      std::unique_ptr<comm::CommunicatorSet> communicators,
      comm::createProcessWorld(std::move(transport), std::move(table),
                               limitsOf(*place.options), facts));
  // A launcher that ends all processes because one has died gives the others
  // time to say what they waited for. Before this a signal ends the process.
  InterruptGuard guard;
  return runRank(place, *communicators);
}

/// Words may come from any thread, and leave one after the other.
static TrainingOptions inTurn(TrainingOptions options) {
  auto mutex = std::make_shared<std::mutex>();
  for (auto *say : {&options.print, &options.show})
    if (*say)
      *say = [mutex, inner = std::move(*say)](const std::string &text) {
        std::lock_guard lock(*mutex);
        inner(text);
      };
  return options;
}

Status hocket::runTraining(std::shared_ptr<const program::Program> program,
                           const TrainingOptions &options) {
  HOCKET_RETURN_IF_ERROR(checkRequest(*program, options));
  if (!options.startNotice.empty() && options.print)
    options.print(options.startNotice);
  comm::GroupTable table = groupTableOf(*program);
  if (table.ranks > 1 && program->provenance().target() == "cuda") {
    // Where the order of issue is not one order for all ranks, to hold NCCL to
    // it would do what it is to prevent.
    bool ends = endsInIssueOrder(*program);
    comm::nccl::holdToIssueOrder(ends);
    if (!ends && comm::nccl::asksForIssueOrder() && options.print)
      options.print("NCCL_LAUNCH_ORDER_IMPLICIT=1 holds NCCL to an order in "
                    "which the ranks of this program may wait for each other "
                    "for ever: unset it");
    comm::nccl::separateStreams();
  }
  RankRun place;
  place.program = std::move(program);
  place.options = std::make_shared<const TrainingOptions>(inTurn(options));
  place.samples = std::make_shared<SharedSamples>(
      data::RunData{options.data, options.validData});
  HOCKET_ASSIGN_OR_RETURN(std::optional<comm::Launch> launch,
                          comm::detectLaunch());
  if (launch)
    return runLaunched(place, std::move(table), *launch);
  if (table.ranks == 1) {
    auto communicators = comm::createSingleRank(std::move(table));
    return runRank(place, *communicators);
  }
  HOCKET_RETURN_IF_ERROR(checkMemory(*place.program));
  HOCKET_ASSIGN_OR_RETURN(unsigned cores, WorkerPool::defaultCount());
  place.threads = std::max(1u, cores / table.ranks);
  place.launcher = "all threads of this process";
  return runLocalRanks(table, limitsOf(options),
                       [place](comm::CommunicatorSet &communicators) {
                         return runRank(place, communicators);
                       });
}
