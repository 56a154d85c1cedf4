//===- LocalRanks.h - All ranks of a run in this process --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_LOCALRANKS_H
#define HOCKET_RUNTIME_TRAIN_LOCALRANKS_H

#include "runtime/comm/local/LocalWorld.h"

#include <functional>

namespace hocket {

/// What a rank does; called on a thread of its own. It is copied, so it may be
/// called after runLocalRanks() has returned.
using RankBody = std::function<Status(comm::CommunicatorSet &)>;

/// Calls `body` once as every rank of the table, each on a thread of its own,
/// and returns when all have. If one fails, it returns that one's error, the
/// first, and after it who waited for what. A rank that hangs is left behind
/// two seconds after the others have been told: its thread stays, and what
/// `body` holds must stay with it.
Status runLocalRanks(const comm::GroupTable &table, comm::WaitLimits limits,
                     const RankBody &body);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_LOCALRANKS_H
