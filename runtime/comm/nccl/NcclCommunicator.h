//===- NcclCommunicator.h - Collectives of a stream -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
#define HOCKET_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H

#include "runtime/comm/nccl/NcclWatch.h"

#include <map>

namespace hocket::comm::nccl {

/// NCCL's communicators of one list of ranks, as a stream uses them. Messages
/// of NCCL have no tags, so each tag has a communicator.
struct NcclHandles {
  ncclComm_t collectives = nullptr;
  /// Of those who have something for each other, and which ranks of the
  /// communicator they are, by place in the group.
  struct Messages {
    ncclComm_t comm = nullptr;
    std::map<unsigned, int> ranks;
  };
  std::map<uint32_t, Messages> byTag;
};

/// Issues to one stream of the device and returns: what is asked for happens
/// when the stream comes there. A sum of more than two ranks is taken in NCCL's
/// order and rounded on the way, in the same way every time. A group of one
/// rank copies.
class NcclCommunicator : public Communicator {
public:
  /// `through` reaches the same ranks through host memory.
  NcclCommunicator(NcclState &state, NcclWatch &watch, NcclMembers members,
                   NcclHandles handles, Communicator &through, uint32_t stream)
      : state(state), watch(watch), members(std::move(members)),
        handles(std::move(handles)), through(through), stream(stream) {}

  unsigned rank() const override { return members.place; }
  unsigned size() const override { return unsigned(members.ranks.size()); }
  bool isOnDevice() const override { return true; }
  Status together(const std::function<Status()> &calls) override;
  /// Of the ranks' hosts.
  Status barrier() override { return through.barrier(); }

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
  using Call = std::function<Status(CUstream stream)>;
  Status issue(const Operation &operation, const std::vector<ncclComm_t> &comms,
               const Call &call);
  Status collective(CollectiveCall::Op op, uint64_t count, DType dtype,
                    const Call &call);
  Status copy(const void *from, void *to, uint64_t bytes);
  Status exchangeAlone(std::span<const Transfer> transfers);
  Status send(const Transfer &transfer, int peer, ncclComm_t comm, CUstream at);
  Status check(ncclResult_t result, const char *call) const {
    return statusOf(state.api, result, call);
  }

  NcclState &state;
  NcclWatch &watch;
  NcclMembers members;
  NcclHandles handles;
  Communicator &through;
  uint32_t stream;
  /// While calls are issued together: the first of them.
  bool isInside = false;
  Operation inside;
};

} // namespace hocket::comm::nccl

#endif // HOCKET_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
