//===- NcclWorld.h - Ranks whose GPUs talk to each other --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Puts NCCL's communicators in the place of those of another world, which
/// reaches the same ranks through host memory, whether they are threads of one
/// process or were started by MPI or at MASTER_ADDR: through it they agree, and
/// learn the names that NCCL gives its communicators.
///
/// All communicators and connections are made at once, in the order of the
/// table: one for each stream on which a group's collectives are issued, and
/// one for each tag of its messages, of the ranks that use it, or for several
/// tags that never meet. Those for the
/// collectives of one stream share what NCCL has of the GPU's memory, from
/// version 2.18 on. Ranks are connected with those with whom they have
/// something to exchange.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_NCCL_NCCLWORLD_H
#define HOCKET_RUNTIME_COMM_NCCL_NCCLWORLD_H

#include "runtime/comm/interfaces/CommunicatorSet.h"

#include <memory>

namespace hocket::comm {

/// Called by all ranks of the table with what they got of their world, which
/// outlives the result; `gpu` is the rank's on its machine. FailedPrecondition,
/// on all ranks, if one of them has no NCCL. A world of one rank needs none.
StatusOr<std::unique_ptr<CommunicatorSet>>
createNcclWorld(CommunicatorSet &host, const GroupTable &table, unsigned gpu);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_NCCL_NCCLWORLD_H
