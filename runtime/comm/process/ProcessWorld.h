//===- ProcessWorld.h - One rank a process ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes the communicators of a rank out of a Transport, the same way whatever
/// library carries the messages; sums have the same bits as those of a
/// LocalWorld.
///
/// A thread of each process watches: it tells rank 0 twice a second what its
/// rank does, and rank 0 judges (HangWatch.h). A process that is gone from its
/// machine, or does not answer, has failed. Whoever fails says why; a process
/// that has not ended by itself a second and a half after it was told is ended.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_PROCESSWORLD_H
#define HOCKET_RUNTIME_COMM_PROCESS_PROCESSWORLD_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/comm/interfaces/RankComparison.h"
#include "runtime/comm/process/Transport.h"

namespace hocket::comm {

/// All ranks of the transport call it with the same table; first they compare
/// `facts`, which decide the table (RankComparison.h). Destroying the result,
/// after no thing has failed, waits for the other ranks; after a failure the
/// process should end soon.
StatusOr<std::unique_ptr<CommunicatorSet>>
createProcessWorld(std::unique_ptr<Transport> transport, GroupTable table,
                   WaitLimits limits, std::span<const RunFact> facts = {});

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_PROCESSWORLD_H
