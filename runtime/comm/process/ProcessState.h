//===- ProcessState.h - What the threads of a process share -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_PROCESSSTATE_H
#define HOCKET_RUNTIME_COMM_PROCESS_PROCESSSTATE_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/comm/process/Transport.h"

namespace hocket::comm {

/// A world's failure, as one process knows it, and what its rank does. Any
/// thread.
class ProcessState {
public:
  explicit ProcessState(Transport &transport) : transport(transport) {}

  Transport &transport;
  RankActivity activity;

  bool failed() const { return hasFailed.load(std::memory_order_acquire); }
  /// The first reason counts; false if there was one.
  bool fail(const std::string &why);
  std::string reason() const;

private:
  mutable std::mutex mutex;
  std::string why;
  std::atomic<bool> hasFailed{false};
};

/// Messages that are started together; waits until all are over.
class MessageBatch {
public:
  MessageBatch(ProcessState &state, uint32_t lane) : state(state), lane(lane) {}

  Status start(const Message &message);

  /// `subject` is what is said of a wait that lasts, `ranks` those of the
  /// places of the channel.
  Status wait(const std::string &subject, const std::vector<unsigned> &ranks);

private:
  struct Pending {
    Transport::Request request;
    unsigned peer;
  };
  Status testAll(bool &progressed, std::optional<unsigned> &lost);
  std::string whyLost(const Status &status) const;
  void note(const std::string &subject, const std::vector<unsigned> &ranks);
  std::string waitText(const std::string &subject,
                       const std::vector<unsigned> &ranks) const;

  ProcessState &state;
  uint32_t lane;
  std::vector<Pending> pending;
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_PROCESSSTATE_H
