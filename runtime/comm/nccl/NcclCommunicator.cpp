//===- NcclCommunicator.cpp - Collectives of a stream ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclCommunicator.h"

#include "base/Format.h"

#include <algorithm>
#include <set>

using namespace hocket;
using namespace hocket::comm;
using namespace hocket::comm::nccl;
using hal::cuda::CUdeviceptr;
using Op = CollectiveCall::Op;

/// Of the types that Communicator lets through.
static ncclDataType_t typeOf(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return ncclBfloat16;
  case DType::F16:
    return ncclFloat16;
  case DType::I32:
    return ncclInt32;
  case DType::F8E4M3: // Copied, never reduced.
  case DType::F8E5M2:
    return ncclUint8;
  default:
    return ncclFloat32;
  }
}

static ncclRedOp_t opOf(Reduction reduction) {
  return reduction == Reduction::Max ? ncclMax : ncclSum;
}

static uint64_t bytesOf(uint64_t count, DType dtype) {
  return count * uint64_t(kernels::bytesOf(dtype));
}

static void *advance(const void *memory, uint64_t bytes) {
  return const_cast<char *>(static_cast<const char *>(memory)) + bytes;
}

//===----------------------------------------------------------------------===//
// Issuing
//===----------------------------------------------------------------------===//

Status NcclCommunicator::issue(const Operation &operation,
                               const std::vector<ncclComm_t> &comms,
                               const Call &call) {
  CUstream at = state.streams[stream];
  if (isInside) {
    inside = operation;
    return call(at);
  }
  HOCKET_RETURN_IF_ERROR(state.enter());
  HOCKET_RETURN_IF_ERROR(watch.begin(at));
  HOCKET_RETURN_IF_ERROR(state.issue(
      comms, members, [&] { return operation.text(); },
      [&] { return call(at); }));
  return watch.end(at, operation);
}

Status NcclCommunicator::together(const std::function<Status()> &calls) {
  if (size() == 1 || isInside)
    return calls();
  CUstream at = state.streams[stream];
  HOCKET_RETURN_IF_ERROR(state.enter());
  HOCKET_RETURN_IF_ERROR(watch.begin(at));
  inside = Operation{{}, 0, &members};
  isInside = true;
  Status status = state.issue(
      {handles.collectives}, members, [&] { return inside.text(); }, calls);
  isInside = false;
  HOCKET_RETURN_IF_ERROR(status);
  return watch.end(at, inside);
}

Status NcclCommunicator::collective(Op op, uint64_t count, DType dtype,
                                    const Call &call) {
  if (!handles.collectives)
    return internalError(formatText("stream %u has no communicator for "
                                    "collectives of group '%s'",
                                    stream, members.group.c_str()));
  return issue({makeCall(op, nullptr, nullptr, count, dtype), 0, &members},
               {handles.collectives}, call);
}

Status NcclCommunicator::copy(const void *from, void *to, uint64_t bytes) {
  if (from == to || bytes == 0)
    return okStatus();
  HOCKET_RETURN_IF_ERROR(state.enter());
  HOCKET_CUDA_CALL(state.driver, cuMemcpyDtoDAsync, CUdeviceptr(to),
                   CUdeviceptr(from), bytes, state.streams[stream]);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Status NcclCommunicator::doAllReduce(const void *from, void *to, uint64_t count,
                                     DType dtype, Reduction reduction) {
  if (size() == 1)
    return copy(from, to, bytesOf(count, dtype));
  return collective(Op::AllReduce, count, dtype, [&](CUstream at) {
    return check(state.api.ncclAllReduce(from, to, count, typeOf(dtype),
                                         opOf(reduction), handles.collectives,
                                         at),
                 "ncclAllReduce");
  });
}

Status NcclCommunicator::doAllGather(const void *from, void *to, uint64_t count,
                                     DType dtype) {
  if (size() == 1)
    return copy(from, to, bytesOf(count, dtype));
  return collective(Op::AllGather, count, dtype, [&](CUstream at) {
    return check(state.api.ncclAllGather(from, to, count, typeOf(dtype),
                                         handles.collectives, at),
                 "ncclAllGather");
  });
}

Status NcclCommunicator::doReduceScatter(const void *from, void *to,
                                         uint64_t count, DType dtype,
                                         Reduction reduction) {
  if (size() == 1)
    return copy(from, to, bytesOf(count, dtype));
  return collective(Op::ReduceScatter, count, dtype, [&](CUstream at) {
    return check(state.api.ncclReduceScatter(from, to, count, typeOf(dtype),
                                             opOf(reduction),
                                             handles.collectives, at),
                 "ncclReduceScatter");
  });
}

Status NcclCommunicator::doBroadcast(void *data, uint64_t count, DType dtype,
                                     unsigned root) {
  if (size() == 1)
    return okStatus();
  return collective(Op::Broadcast, count, dtype, [&](CUstream at) {
    return check(state.api.ncclBroadcast(data, data, count, typeOf(dtype),
                                         int(root), handles.collectives, at),
                 "ncclBroadcast");
  });
}

Status NcclCommunicator::doAllToAll(const void *from, void *to, uint64_t count,
                                    DType dtype) {
  std::vector<uint64_t> counts(size(), count), offsets(size());
  for (unsigned peer = 0; peer < size(); ++peer)
    offsets[peer] = peer * count;
  return doAllToAllV(from, {counts, offsets}, to, {counts, offsets}, dtype);
}

Status NcclCommunicator::doAllToAllV(const void *from, PeerCounts sends,
                                     void *to, PeerCounts receives,
                                     DType dtype) {
  uint64_t element = bytesOf(1, dtype);
  if (size() == 1)
    return copy(advance(from, sends.offsets[0] * element),
                advance(to, receives.offsets[0] * element),
                sends.counts[0] * element);
  uint64_t count = 0;
  for (uint64_t sent : sends.counts)
    count += sent;
  return collective(Op::AllToAll, count, dtype, [&](CUstream at) {
    for (unsigned peer = 0; peer < size(); ++peer)
      for (bool sending : {true, false}) {
        const PeerCounts &part = sending ? sends : receives;
        HOCKET_RETURN_IF_ERROR(
            send({sending, peer,
                  advance(sending ? from : to, part.offsets[peer] * element),
                  part.counts[peer], dtype, 0},
                 int(peer), handles.collectives, at));
      }
    return okStatus();
  });
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Status NcclCommunicator::send(const Transfer &transfer, int peer,
                              ncclComm_t comm, CUstream at) {
  if (transfer.count == 0)
    return okStatus();
  ncclDataType_t type = typeOf(transfer.dtype);
  if (transfer.send)
    return check(
        state.api.ncclSend(transfer.data, transfer.count, type, peer, comm, at),
        "ncclSend");
  return check(
      state.api.ncclRecv(transfer.data, transfer.count, type, peer, comm, at),
      "ncclRecv");
}

/// Sends of a rank to itself, each to the next receive with its tag, which is
/// one of `transfers`.
Status NcclCommunicator::exchangeAlone(std::span<const Transfer> transfers) {
  std::set<size_t> taken;
  for (const Transfer &sent : transfers)
    for (size_t i = 0; sent.send && i < transfers.size(); ++i) {
      const Transfer &received = transfers[i];
      if (received.send || received.tag != sent.tag || taken.count(i))
        continue;
      taken.insert(i);
      HOCKET_RETURN_IF_ERROR(
          copy(sent.data, received.data, bytesOf(sent.count, sent.dtype)));
      break;
    }
  if (2 * taken.size() != transfers.size())
    return internalError("a rank sends itself what it does not receive by the "
                         "same instruction");
  return okStatus();
}

Status NcclCommunicator::doExchange(std::span<const Transfer> transfers) {
  if (transfers.empty())
    return okStatus();
  if (std::ranges::all_of(transfers, [&](const Transfer &transfer) {
        return transfer.peer == rank();
      }))
    return exchangeAlone(transfers);
  std::vector<ncclComm_t> comms;
  std::vector<int> peers;
  for (const Transfer &transfer : transfers) {
    auto found = handles.byTag.find(transfer.tag);
    if (found == handles.byTag.end() ||
        !found->second.ranks.count(transfer.peer))
      return internalError(formatText("group '%s' has no communicator for "
                                      "messages of rank %u with tag %u",
                                      members.group.c_str(), transfer.peer,
                                      transfer.tag));
    comms.push_back(found->second.comm);
    peers.push_back(found->second.ranks.at(transfer.peer));
  }
  return issue({{}, transfers.size(), &members}, comms, [&](CUstream at) {
    for (size_t i = 0; i < transfers.size(); ++i)
      HOCKET_RETURN_IF_ERROR(send(transfers[i], peers[i], comms[i], at));
    return okStatus();
  });
}
