//===- Launch.h - Who has started this process ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launchers tell a process which rank it is in its environment:
///
///   mpirun (Open MPI)    OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_SIZE, _LOCAL_RANK
///   PMI launchers        PMI_RANK, PMI_SIZE
///   srun --mpi=pmix      SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID,
///                        beside PMIX_RANK, PMI_RANK or SLURM_MPI_TYPE
///   torchrun             RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
///                        LOCAL_WORLD_SIZE, LOCAL_RANK;
///                        TORCHELASTIC_USE_AGENT_STORE, TORCHELASTIC_RUN_ID
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_LAUNCH_H
#define HOCKET_RUNTIME_COMM_PROCESS_LAUNCH_H

#include "runtime/comm/process/Transport.h"

#include <optional>
#include <string>

namespace hocket::comm {

struct Launch {
  std::string launcher; ///< "mpirun", "srun", "torchrun"
  unsigned rank = 0;
  unsigned size = 1;
  unsigned localSize = 1; ///< Processes of this machine; 1 if not known.
  bool usesMpi = true;    ///< Otherwise sockets to `address`:`port`.
  std::string address;
  uint16_t port = 0;
  unsigned localRank = 0; ///< Place among them; if not known, as if machines
                          ///< had their ranks in blocks of localSize.
  /// torchrun's agent has a store at `address`:`port`, through which ranks find
  /// each other (TorchStore.h); otherwise rank 0 listens there.
  bool hasAgentStore = false;
  /// "torchrun's run 5e1c", "Slurm's job 1234": the same for all processes of a
  /// run, another one for another run. Empty: not known.
  std::string runId = {};
};

/// What the environment says; nothing if no launcher has started the process,
/// or it has started only one. InvalidArgument if what it says is no sense, or
/// processes were started together but with no way to join.
StatusOr<std::optional<Launch>> detectLaunch();

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_LAUNCH_H
