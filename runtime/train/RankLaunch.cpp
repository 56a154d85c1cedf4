//===- RankLaunch.cpp - Starts the ranks of a program ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/RankLaunch.h"

#include "base/Format.h"
#include "base/WorkerPool.h"
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

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace hocket;

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

static comm::WaitLimits limitsOf(const RankLaunch &launch) {
  comm::WaitLimits limits = comm::WaitLimits::fromEnvironment();
  if (launch.hangSeconds)
    limits.hangSeconds = *launch.hangSeconds;
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

/// "1 rank", "8 ranks (pp=2,cp=2,tp=2)".
static std::string ranksOf(const program::Program &program, unsigned ranks) {
  std::string axes;
  for (const auto &axis : program.mesh().axes())
    axes += (axes.empty() ? "" : ",") + axis.name() + "=" +
            std::to_string(axis.size());
  return ranks == 1 ? "1 rank" : formatText("%u ranks (", ranks) + axes + ")";
}

/// One rank a process.
static Status runLaunched(RankSeat seat, const RankLaunch &work,
                          comm::GroupTable table, const comm::Launch &launch) {
  if (launch.size != table.ranks)
    return invalidArgument(
        "the program is for " + ranksOf(*seat.program, table.ranks) + ", " +
        launch.launcher + formatText(" has started %u processes", launch.size));
  // Ranks that compute the same must do it alike; what machines measure
  // differs.
  if (launch.localSize < launch.size)
    ::setenv("HOCKET_MEASURE_PRODUCTS", "0", 0);
  HOCKET_ASSIGN_OR_RETURN(seat.threads, threadsOf(launch));
  seat.launcher = "a process each, by " + launch.launcher;
  seat.gpu = launch.localRank;
  // Before others wait for it: it reads files.
  std::vector<comm::RunFact> facts = work.facts(launch.runId);
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<comm::Transport> transport,
                          createTransport(launch));
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<comm::CommunicatorSet> communicators,
                          comm::createProcessWorld(std::move(transport),
                                                   std::move(table),
                                                   limitsOf(work), facts));
  // A launcher that ends all processes because one has died gives the others
  // time to say what they waited for. Before this a signal ends the process.
  InterruptGuard guard;
  return work.body(seat, *communicators);
}

/// How NCCL is to order what is issued, before any rank has loaded it.
static void prepareNccl(const program::Program &program,
                        const RankLaunch &launch) {
  // Where the order of issue is not one order for all ranks, to hold NCCL to
  // it would do what it is to prevent.
  bool ends = endsInIssueOrder(program);
  comm::nccl::holdToIssueOrder(ends);
  if (!ends && comm::nccl::asksForIssueOrder() && launch.print)
    launch.print("NCCL_LAUNCH_ORDER_IMPLICIT=1 holds NCCL to an order in "
                 "which the ranks of this program may wait for each other "
                 "for ever: unset it");
  comm::nccl::separateStreams();
}

Status hocket::launchRanks(std::shared_ptr<const program::Program> program,
                           const RankLaunch &work) {
  comm::GroupTable table = groupTableOf(*program);
  if (table.ranks > 1 && program->provenance().target() == "cuda")
    prepareNccl(*program, work);
  RankSeat seat;
  seat.program = std::move(program);
  HOCKET_ASSIGN_OR_RETURN(std::optional<comm::Launch> launch,
                          comm::detectLaunch());
  if (launch)
    return runLaunched(seat, work, std::move(table), *launch);
  if (table.ranks == 1) {
    auto communicators = comm::createSingleRank(std::move(table));
    return work.body(seat, *communicators);
  }
  HOCKET_RETURN_IF_ERROR(checkMemory(*seat.program));
  HOCKET_ASSIGN_OR_RETURN(unsigned cores, WorkerPool::defaultCount());
  seat.threads = std::max(1u, cores / table.ranks);
  seat.launcher = "all threads of this process";
  return runLocalRanks(
      table, limitsOf(work),
      [seat, body = work.body](comm::CommunicatorSet &communicators) {
        return body(seat, communicators);
      });
}

RunOutput hocket::inTurn(RunOutput output) {
  auto mutex = std::make_shared<std::mutex>();
  for (auto *say : {&output.print, &output.show})
    if (*say)
      *say = [mutex, inner = std::move(*say)](const std::string &text) {
        std::lock_guard lock(*mutex);
        inner(text);
      };
  return output;
}
