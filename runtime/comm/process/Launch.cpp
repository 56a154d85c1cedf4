//===- Launch.cpp - Who has started this process --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/Launch.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

using namespace hocket;
using namespace hocket::comm;

namespace {
/// One row a launcher: the variables that name rank and size.
struct Launcher {
  const char *name;
  const char *rank, *size, *localSize, *localRank;
  const char *also; ///< Must be set too.
  bool usesMpi;
};
} // namespace

/// The first that fits. Of two the inner one counts: torchrun, which says that
/// it is there, may run in tasks of mpirun or srun, and variables like its own
/// are set by hand in those of srun.
static const Launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK",
     "TORCHELASTIC_RUN_ID", false},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", nullptr, true},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK",
     "MASTER_ADDR", false},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
     "SLURM_STEP_TASKS_PER_NODE", "SLURM_LOCALID", "PMIX_RANK", true},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
     "SLURM_STEP_TASKS_PER_NODE", "SLURM_LOCALID", "SLURM_MPI_TYPE", true},
    {"a PMI launcher", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_SIZE",
     "PMI_LOCAL_RANK", nullptr, true}};

/// The number at the start of a variable ("4(x2)" is srun's 4).
static std::optional<unsigned> numberOf(const char *variable, bool whole) {
  const char *text = std::getenv(variable);
  if (!text)
    return std::nullopt;
  unsigned value = 0;
  const char *end = text + std::strlen(text);
  auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || (whole && rest != end))
    return std::nullopt;
  return value;
}

static Status wrong(const char *variable, const std::string &expected) {
  const char *text = std::getenv(variable);
  return invalidArgument(std::string(variable) + " is '" + (text ? text : "") +
                         "', expected " + expected);
}

/// Restarts are not part of it: an agent of torchrun counts those of its own
/// workers alone.
static std::string runIdOf(const Launcher &row) {
  const char *elastic = std::getenv("TORCHELASTIC_RUN_ID");
  if (!row.usesMpi && elastic)
    return "torchrun's run " + std::string(elastic);
  // The parts of a heterogeneous job have a number each.
  const char *job = std::getenv("SLURM_JOB_ID");
  return job && !std::getenv("SLURM_HET_SIZE")
             ? "Slurm's job " + std::string(job)
             : "";
}

static StatusOr<std::optional<Launch>> read(const Launcher &row) {
  Launch launch;
  launch.launcher = row.name;
  launch.usesMpi = row.usesMpi;
  std::optional<unsigned> size = numberOf(row.size, true);
  if (!size || *size == 0 || *size > 1u << 20)
    return wrong(row.size, "a number from 1 to 2^20");
  std::optional<unsigned> rank = numberOf(row.rank, true);
  if (!rank || *rank >= *size)
    return wrong(row.rank, "a number below " + std::to_string(*size));
  if (*size == 1)
    return std::optional<Launch>();
  launch.rank = *rank;
  launch.size = *size;
  launch.localSize = numberOf(row.localSize, false).value_or(1);
  launch.localRank = numberOf(row.localRank, true)
                         .value_or(*rank % std::max(1u, launch.localSize));
  launch.runId = runIdOf(row);
  if (row.usesMpi)
    return std::optional<Launch>(launch);
  std::optional<unsigned> port = numberOf("MASTER_PORT", true);
  if (!port || *port == 0 || *port > 65535)
    return wrong("MASTER_PORT", "a port");
  const char *address = std::getenv("MASTER_ADDR");
  if (!address || !*address)
    return wrong("MASTER_ADDR", "the host of rank 0");
  launch.address = address;
  launch.port = uint16_t(*port);
  const char *store = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  launch.hasAgentStore = store && std::strcmp(store, "True") == 0;
  return std::optional<Launch>(launch);
}

/// Several processes that srun started and cannot join: each would train all.
static Status checkAlone() {
  unsigned size = numberOf("SLURM_STEP_NUM_TASKS", true).value_or(1);
  if (!std::getenv("SLURM_PROCID") || size == 1)
    return okStatus();
  return invalidArgument(
      "srun has started " + std::to_string(size) +
      " processes without MPI: start them by `srun --mpi=pmix` (`srun "
      "--mpi=list` says what there is), or give each RANK, WORLD_SIZE, "
      "MASTER_ADDR and MASTER_PORT");
}

StatusOr<std::optional<Launch>> comm::detectLaunch() {
  for (const Launcher &row : launchers)
    if (std::getenv(row.rank) && std::getenv(row.size) &&
        (!row.also || std::getenv(row.also)))
      return read(row);
  HOCKET_RETURN_IF_ERROR(checkAlone());
  return std::optional<Launch>();
}
