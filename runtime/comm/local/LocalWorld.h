//===- LocalWorld.h - All ranks are threads of one process ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks read each other's memory: nothing is copied but from the place where
/// it is to the place where it is wanted. The last rank that comes to a
/// collective starts the work; the others help where it is large, and sleep
/// before and after. Nobody spins, so many ranks share few cores.
///
/// A rank that fails, ends or hangs (HangWatch.h) ends whatever the others
/// wait for.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_LOCAL_LOCALWORLD_H
#define HOCKET_RUNTIME_COMM_LOCAL_LOCALWORLD_H

#include "runtime/comm/interfaces/CommunicatorSet.h"

namespace hocket::comm {

class LocalGroups;

class LocalWorld {
public:
  /// InvalidArgument for a table that checkGroupTable() refuses.
  static StatusOr<LocalWorld> create(GroupTable table,
                                     WaitLimits limits = WaitLimits());

  /// The communicators of `rank`; once for every rank. They share the world's
  /// state, which lives as long as any of them. Destroying them says that the
  /// rank has ended.
  std::unique_ptr<CommunicatorSet> join(unsigned rank);

  /// The first rank that failed or was found to hang, and why; Ok if none.
  struct Failure {
    std::optional<unsigned> rank; ///< None for a deadlock.
    Status status;
  };
  Failure failure() const;

private:
  std::shared_ptr<LocalGroups> state;
};

/// The communicators of a world of one rank; every list of `table`, which was
/// checked, has that one member.
std::unique_ptr<CommunicatorSet> createSingleRank(GroupTable table = {});

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_LOCAL_LOCALWORLD_H
