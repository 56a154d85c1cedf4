//===- MessageCommunicator.h - Collectives out of messages ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_MESSAGECOMMUNICATOR_H
#define HOCKET_RUNTIME_COMM_PROCESS_MESSAGECOMMUNICATOR_H

#include "runtime/comm/interfaces/CollectiveCall.h"
#include "runtime/comm/process/ProcessState.h"

namespace hocket::comm {

/// Where a communicator's messages go.
struct CommunicatorPlace {
  std::string group;
  std::vector<unsigned> ranks; ///< Of the world, by place.
  unsigned place = 0;
  ChannelId collectives = -1; ///< Of this stream alone.
  ChannelId transfers = -1;   ///< Of all streams.
  uint32_t lane = 0;
};

/// Every rank sends each other one what that one needs, so a sum of n parts
/// costs 2 (n - 1) / n of its bytes each way, as a ring does, and can be taken
/// in rank order. A broadcast goes down a binomial tree; a barrier is a
/// dissemination (Hensgen, Finkel, Manber 1988).
class MessageCommunicator : public Communicator {
public:
  MessageCommunicator(ProcessState &state, CommunicatorPlace place)
      : state(state), at(std::move(place)) {}

  unsigned rank() const override { return at.place; }
  unsigned size() const override { return unsigned(at.ranks.size()); }
  Status barrier() override;

protected:
  Status doAllReduce(const void *from, void *to, uint64_t count, DType dtype,
                     Reduction reduction) override;
  Status doAllGather(const void *from, void *to, uint64_t count,
                     DType dtype) override;
  Status doReduceScatter(const void *from, void *to, uint64_t count,
                         DType dtype, Reduction reduction) override;
  Status doAllToAll(const void *from, void *to, uint64_t count,
                    DType dtype) override;
  Status doAllToAllV(const void *from, PeerCounts sends, void *to,
                     PeerCounts receives, DType dtype) override;
  Status doBroadcast(void *data, uint64_t count, DType dtype,
                     unsigned root) override;
  Status doExchange(std::span<const Transfer> transfers) override;

private:
  /// Bytes [offset, offset + bytes) of what goes to, or comes from, a place.
  struct Part {
    uint64_t offset = 0, bytes = 0;
  };
  /// Sends every other place its part of `from` and receives its part of `to`.
  template <typename Sent, typename Received>
  Status trade(const CollectiveCall &call, Sent &&sent, Received &&received);
  Status reduceOwn(const CollectiveCall &call, uint64_t begin, uint64_t count,
                   void *result);
  std::string subject(const CollectiveCall &call) const {
    return callText(call) + " in " + groupText(at.group, at.ranks);
  }
  Message message(const CollectiveCall &call, bool send, unsigned peer) const;

  ProcessState &state;
  CommunicatorPlace at;
  std::vector<char> parts; ///< Of a sum, by place.
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_MESSAGECOMMUNICATOR_H
