//===- NcclRanks.h - Ranks with an emulated GPU each ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_COMM_NCCLRANKS_H
#define HOCKET_TEST_RUNTIME_COMM_NCCLRANKS_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/hal/interfaces/Device.h"

namespace hocket::test {

/// How many, and how they find each other.
struct NcclRanks {
  unsigned size = 2;
  bool sockets = false; ///< Otherwise through the memory of the process.
  comm::WaitLimits limits = {};
  /// As EmulatedGpus', and how many operations the table says are under way.
  unsigned multiprocessors = 4, ncclBlocks = 0, atOnce = 1;
};

struct NcclRank {
  hal::Device *device = nullptr; ///< With two streams and 16 MiB.
  comm::CommunicatorSet *communicators = nullptr;
};

/// Calls `body` as every rank, each on a thread of its own, and waits for all.
/// Group 0, "reversed", is all ranks from the last to the first, for stream 1,
/// and tags 0, 1 and 5; group 1, "straight", all in order, for both.
void runNcclRanks(const NcclRanks &ranks,
                  const std::function<void(NcclRank &)> &body);

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_COMM_NCCLRANKS_H
