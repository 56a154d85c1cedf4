//===- LocalChannel.h - Collectives among threads ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_LOCAL_LOCALCHANNEL_H
#define HOCKET_RUNTIME_COMM_LOCAL_LOCALCHANNEL_H

#include "runtime/comm/interfaces/CollectiveCall.h"
#include "runtime/comm/local/LocalState.h"

namespace hocket::comm {

/// A part of a collective that one thread does alone: bytes or elements
/// [begin, end) of what `source` gives to `target`.
struct CollectiveChunk {
  unsigned source = 0, target = 0;
  uint64_t begin = 0, end = 0;
};

/// One list of ranks on one stream: its collectives, one after the other.
class LocalChannel {
public:
  LocalChannel(std::string name, std::vector<unsigned> ranks);

  const std::string &name() const { return groupName; }
  const std::vector<unsigned> &ranks() const { return members; }

  /// The call of the member at `place`; returns when all have made it and it
  /// is done. Fails on all members if they do not ask for the same.
  Status call(unsigned place, const CollectiveCall &call,
              const LocalWaiter &waiter);

private:
  enum class Phase { Gathering, Running };

  Status start(std::unique_lock<std::mutex> &lock);
  Status mismatch() const;
  void divide();
  bool isLarge() const; ///< Worth waking the others for.
  void work(std::unique_lock<std::mutex> &lock);
  void runChunk(const CollectiveChunk &chunk);
  WaitSubject subject(const CollectiveCall &call) const;

  const std::string groupName;
  const std::vector<unsigned> members;

  std::mutex mutex;
  std::condition_variable changed;
  Phase phase = Phase::Gathering;
  uint64_t generation = 0; ///< Collectives that are over.
  std::vector<bool> here;
  unsigned arrived = 0;
  std::vector<CollectiveCall> calls; ///< By place.
  Status outcome[2];                 ///< By parity of the generation.

  // While running.
  std::vector<CollectiveChunk> chunks;
  size_t next = 0, unfinished = 0;
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_LOCAL_LOCALCHANNEL_H
