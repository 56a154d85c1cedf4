//===- NcclLibrary.cpp - The emulated NCCL --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of NcclApi.h among ranks of one machine. Communicators do not
/// block: they are never done with a call when it returns, and refuse the next
/// one until somebody has asked and been told that they are. What is issued
/// between ncclGroupStart() and ncclGroupEnd() is one thing to its stream. Sums
/// are taken in rank order.
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"
#include "test/emulator/libraries/CudaLibrary.h"
#include "test/emulator/libraries/NcclClub.h"

#include <cstring>
#include <map>
#include <set>
#include <thread>

using namespace hocket;
using namespace hocket::emulator;
using namespace hocket::comm::nccl;
using comm::CollectiveCall;
using Op = CollectiveCall::Op;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.

namespace {

/// A rank's place in a communicator.
struct Member {
  std::shared_ptr<Club> club;
  unsigned rank = 0;
  std::shared_ptr<std::atomic<bool>> aborted =
      std::make_shared<std::atomic<bool>>(false);
  /// Shared with whatever graphs keep of it.
  std::shared_ptr<void> captures = std::make_shared<char>();
  /// So often it is still asked in vain whether it is done.
  std::atomic<unsigned> busy{1};
  unsigned calls = 0; ///< That it has become busy with.
  /// Collectives that have been used: for its first use ranks make connections,
  /// and nobody is done before all have issued it.
  std::set<Op> known;
  bool connects = false;

  /// NCCL's threads are sometimes fast.
  void work() { busy = 1 + calls++ % 3; }
  bool canGoOn() {
    if (!club->isComplete() || (connects && !club->isIssuedByAll(rank)))
      return false;
    connects = false;
    return true;
  }
};

/// What a thread has issued since ncclGroupStart().
struct OpenGroup {
  unsigned depth = 0;
  struct OnStream {
    std::vector<NcclMeeting::Part> parts;
    std::vector<MemoryUse> uses;
  };
  std::map<CUstream, OnStream> streams;
  std::vector<Member *> members;
};
thread_local OpenGroup open;
thread_local std::string lastError;

ncclResult_t refuse(const std::string &why) {
  lastError = why;
  return ncclInvalidUsage;
}

ncclResult_t endGroup() {
  ncclResult_t result = ncclSuccess;
  for (auto &[stream, issued] : open.streams)
    if (meetOn(stream, std::move(issued.uses),
               std::make_shared<NcclMeeting>(std::move(issued.parts))) !=
        hal::cuda::CUDA_SUCCESS)
      result = refuse("the stream is not one of the current context");
  for (Member *member : open.members)
    member->work();
  bool isEmpty = open.members.empty();
  open = OpenGroup();
  return result == ncclSuccess && !isEmpty ? ncclInProgress : result;
}

ncclResult_t add(Member *member, std::shared_ptr<JointWork> work, unsigned side,
                 const CollectiveCall &call, CUstream stream) {
  if (!work)
    return refuse("the process in which the work happens is gone");
  if (member->busy > 0)
    return refuse("the communicator is not done with the call before");
  OpenGroup::OnStream &on = open.streams[stream];
  on.parts.push_back(
      {std::move(work), side, call, member->aborted, member->captures});
  unsigned ranks = member->club->size;
  if (call.from)
    on.uses.push_back(
        {hal::cuda::CUdeviceptr(call.from), bytesFrom(call, ranks), false});
  if (call.to)
    on.uses.push_back(
        {hal::cuda::CUdeviceptr(call.to), bytesTo(call, ranks), true});
  open.members.push_back(member);
  return open.depth > 0 ? ncclSuccess : endGroup();
}

Member *memberOf(ncclComm_t comm) { return reinterpret_cast<Member *>(comm); }

ncclResult_t collective(const CollectiveCall &call, ncclComm_t comm,
                        CUstream stream) {
  Member *member = memberOf(comm);
  if (member->known.insert(call.op).second)
    member->connects = true;
  return add(member, member->club->collective(member->rank), member->rank, call,
             stream);
}

ncclResult_t message(const CollectiveCall &call, int peer, ncclComm_t comm,
                     CUstream stream) {
  Member *member = memberOf(comm);
  if (peer < 0 || unsigned(peer) >= member->club->size)
    return refuse("there is no such peer");
  bool sends = call.from != nullptr;
  auto [from, to] = sends ? std::pair(member->rank, unsigned(peer))
                          : std::pair(unsigned(peer), member->rank);
  return add(member, member->club->message(from, to, sends), sends ? 0 : 1,
             call, stream);
}

comm::DType typeOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt32:
    return comm::DType::I32;
  case ncclUint8: // Any type of a byte.
    return comm::DType::F8E4M3;
  case ncclFloat16:
    return comm::DType::F16;
  case ncclBfloat16:
    return comm::DType::BF16;
  default:
    return comm::DType::F32;
  }
}

CollectiveCall callOf(Op op, const void *from, void *to, size_t count,
                      ncclDataType_t type, ncclRedOp_t reduction = ncclSum) {
  return comm::makeCall(op, from, to, count, typeOf(type),
                        reduction == ncclMax ? comm::Reduction::Max
                                             : comm::Reduction::Sum);
}

} // namespace

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))

HOCKET_EXPORT ncclResult_t ncclGetVersion(int *version) {
  *version = 22700;
  return ncclSuccess;
}

HOCKET_EXPORT const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "emulated error";
}

HOCKET_EXPORT const char *ncclGetLastError(ncclComm_t) {
  return lastError.c_str();
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

HOCKET_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::memset(id, 0, sizeof(*id));
  std::string text = nameClub();
  std::memcpy(id->internal, text.data(), text.size());
  return text.empty() ? refuse("other processes could not come") : ncclSuccess;
}

HOCKET_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                                  ncclUniqueId id, int rank,
                                                  ncclConfig_t *config) {
  if (config->blocking != 0 || ranks < 1 || rank < 0 || rank >= ranks)
    return refuse("no such communicator can be made");
  std::shared_ptr<Club> club = joinClub(id.internal, unsigned(ranks));
  if (!club)
    return refuse("the process that has made the id is not to be reached");
  auto *member = new Member;
  member->club = club;
  member->rank = unsigned(rank);
  *comm = reinterpret_cast<ncclComm_t>(member);
  return ncclInProgress;
}

HOCKET_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                                 ncclResult_t *error) {
  Member *member = memberOf(comm);
  if (member->busy > 0 && member->canGoOn())
    --member->busy;
  *error = member->busy > 0 ? ncclInProgress : ncclSuccess;
  if (member->connects)
    letGpuGoOn();
  return ncclSuccess;
}

HOCKET_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Member *member = memberOf(comm);
  if (member->busy > 0)
    return refuse("the communicator is not done with the call before");
  member->work();
  return ncclInProgress;
}

HOCKET_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Member *member = memberOf(comm);
  member->aborted->store(true);
  // NCCL waits for the last graph, too.
  while (member->captures.use_count() > 1)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  delete member;
  return ncclSuccess;
}

HOCKET_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return ncclCommAbort(comm);
}

//===----------------------------------------------------------------------===//
// Collectives and messages
//===----------------------------------------------------------------------===//

HOCKET_EXPORT ncclResult_t ncclGroupStart() {
  ++open.depth;
  return ncclSuccess;
}

HOCKET_EXPORT ncclResult_t ncclGroupEnd() {
  if (open.depth == 0)
    return refuse("no group has been started");
  return --open.depth == 0 ? endGroup() : ncclSuccess;
}

HOCKET_EXPORT ncclResult_t ncclAllReduce(const void *from, void *to,
                                         size_t count, ncclDataType_t type,
                                         ncclRedOp_t op, ncclComm_t comm,
                                         CUstream stream) {
  return collective(callOf(Op::AllReduce, from, to, count, type, op), comm,
                    stream);
}

HOCKET_EXPORT ncclResult_t ncclReduceScatter(const void *from, void *to,
                                             size_t count, ncclDataType_t type,
                                             ncclRedOp_t op, ncclComm_t comm,
                                             CUstream stream) {
  return collective(callOf(Op::ReduceScatter, from, to, count, type, op), comm,
                    stream);
}

HOCKET_EXPORT ncclResult_t ncclAllGather(const void *from, void *to,
                                         size_t count, ncclDataType_t type,
                                         ncclComm_t comm, CUstream stream) {
  return collective(callOf(Op::AllGather, from, to, count, type), comm, stream);
}

HOCKET_EXPORT ncclResult_t ncclBroadcast(const void *from, void *to,
                                         size_t count, ncclDataType_t type,
                                         int root, ncclComm_t comm,
                                         CUstream stream) {
  bool sends = int(memberOf(comm)->rank) == root;
  CollectiveCall call =
      callOf(Op::Broadcast, sends ? from : nullptr, to, count, type);
  call.root = unsigned(root);
  return collective(call, comm, stream);
}

HOCKET_EXPORT ncclResult_t ncclSend(const void *from, size_t count,
                                    ncclDataType_t type, int peer,
                                    ncclComm_t comm, CUstream stream) {
  return message(callOf(Op::Broadcast, from, nullptr, count, type), peer, comm,
                 stream);
}

HOCKET_EXPORT ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type,
                                    int peer, ncclComm_t comm,
                                    CUstream stream) {
  return message(callOf(Op::Broadcast, nullptr, to, count, type), peer, comm,
                 stream);
}

// NOLINTEND(readability-identifier-naming)
