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
/// between ncclGroupStart() and ncclGroupEnd() is one thing to its stream. What
/// is issued to one communicator happens in that order, whatever the streams;
/// with NCCL_LAUNCH_ORDER_IMPLICIT=1 all that is issued on a GPU. Both ends of
/// what a rank sends itself are issued together, or refused. Sums are taken in
/// rank order.
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"
#include "test/emulator/libraries/CudaLibrary.h"
#include "test/emulator/libraries/NcclClub.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

using namespace hocket;
using namespace hocket::emulator;
using namespace hocket::comm::nccl;
using comm::CollectiveCall;
using Op = CollectiveCall::Op;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.

namespace {

/// Of what NCCL would allocate there is only the count.
struct Resources {
  static std::atomic<unsigned> count;
  Resources() { ++count; }
  ~Resources() { --count; }
};
std::atomic<unsigned> Resources::count{0};

/// A rank's place in a communicator.
struct Member {
  std::shared_ptr<Club> club;
  unsigned rank = 0;
  AbortFlag aborted = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<LaunchOrder> order;
  /// What NCCL has of the device's memory, of one or of several.
  std::shared_ptr<Resources> resources = std::make_shared<Resources>();
  unsigned blocks = 0; ///< Of a kernel.
  bool shares = false; ///< With what is split off.
  unsigned splits = 0;
  struct Splitting {
    int color = 0;
    ncclComm_t *place = nullptr;
    bool shares = false;
    unsigned blocks = 0;
  };
  std::optional<Splitting> splitting; ///< That goes on.
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
    if (!finishSplit())
      return false;
    if (!club->isComplete() || (connects && !club->isIssuedByAll(rank)))
      return false;
    connects = false;
    return true;
  }
  bool finishSplit();
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
  /// What ranks send themselves, less what they receive of it.
  std::map<const Member *, int> ownMessages;
};
thread_local OpenGroup open;
thread_local std::string lastError;

ncclResult_t refuse(const std::string &why) {
  lastError = why;
  return ncclInvalidUsage;
}

/// Whether as much is received as sent of what ranks send themselves.
bool areOwnMessagesWhole() {
  return std::ranges::all_of(open.ownMessages,
                             [](const auto &own) { return own.second == 0; });
}

ncclResult_t endGroup() {
  if (!areOwnMessagesWhole()) {
    open = OpenGroup();
    return refuse("a rank sends itself what it does not receive in the same "
                  "group of calls");
  }
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
  on.parts.push_back({std::move(work), side, call, member->aborted,
                      member->captures, member->order, member->blocks});
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
  if (from == to)
    open.ownMessages[member] += sends ? 1 : -1;
  return add(member, member->club->message(from, to, sends), sends ? 0 : 1,
             call, stream);
}

/// Of a communicator that is made now: its own, or, with
/// NCCL_LAUNCH_ORDER_IMPLICIT=1, that of all on the GPU.
std::shared_ptr<LaunchOrder> orderOfNext() {
  static std::mutex mutex;
  static std::map<const void *, std::weak_ptr<LaunchOrder>> ofGpus;
  auto own = std::make_shared<LaunchOrder>();
  const char *implicit = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  if (!implicit || std::string_view(implicit) != "1")
    return own;
  std::lock_guard lock(mutex);
  std::weak_ptr<LaunchOrder> &known = ofGpus[currentGpu()];
  if (auto order = known.lock())
    return order;
  known = own;
  return own;
}

/// Blocks of a kernel: HOCKET_EMULATED_NCCL_BLOCKS, or as many as it is limited
/// to, by the variable or else by the configuration.
unsigned blocksOf(const ncclConfig_t &config) {
  auto numberFrom = [](const char *name, unsigned otherwise) {
    const char *text = std::getenv(name);
    return text ? unsigned(std::strtoul(text, nullptr, 10)) : otherwise;
  };
  unsigned limit = ~0U;
  if (config.version >= 21700 && config.maxCTAs != ncclConfig_t::undefined)
    limit = unsigned(config.maxCTAs);
  return std::min(numberFrom("HOCKET_EMULATED_NCCL_BLOCKS", 0),
                  numberFrom("NCCL_MAX_CTAS", limit));
}

bool asksToShare(const ncclConfig_t &config) {
  return config.version >= 21800 && config.splitShare == 1;
}

int version() {
  static const int number = [] {
    const char *text = std::getenv("HOCKET_EMULATED_NCCL_VERSION");
    return text ? std::atoi(text) : 22700;
  }();
  return number;
}

/// Whether the library takes it: of the version that it is, it may not be later
/// nor shorter than it says.
bool isKnown(const ncclConfig_t &config) {
  size_t bytes = config.version >= 21800   ? sizeof(ncclConfig_t)
                 : config.version >= 21700 ? offsetof(ncclConfig_t, splitShare)
                                           : offsetof(ncclConfig_t, minCTAs);
  return config.magic == 0xcafebeef && config.size == bytes &&
         int(config.version) <= version();
}

bool Member::finishSplit() {
  if (!splitting)
    return true;
  std::optional<std::vector<unsigned>> ranks = club->partOf(rank);
  if (!ranks)
    return false;
  if (splitting->color >= 0) {
    auto *part = new Member;
    part->club = joinClub(club->name + "/" + std::to_string(splits) + "." +
                              std::to_string(splitting->color),
                          unsigned(ranks->size()));
    part->rank = unsigned(std::ranges::find(*ranks, rank) - ranks->begin());
    part->order = splitting->shares ? order : orderOfNext();
    if (splitting->shares)
      part->resources = resources;
    part->blocks = splitting->blocks;
    *splitting->place = reinterpret_cast<ncclComm_t>(part);
  }
  splitting.reset();
  return true;
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
  *version = ::version();
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
  if (!isKnown(*config) || config->blocking != 0 || ranks < 1 || rank < 0 ||
      rank >= ranks)
    return refuse("no such communicator can be made");
  std::shared_ptr<Club> club = joinClub(id.internal, unsigned(ranks));
  if (!club)
    return refuse("the process that has made the id is not to be reached");
  auto *member = new Member;
  member->club = club;
  member->rank = unsigned(rank);
  member->order = orderOfNext();
  member->blocks = blocksOf(*config);
  member->shares = asksToShare(*config);
  *comm = reinterpret_cast<ncclComm_t>(member);
  return ncclInProgress;
}

HOCKET_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                                         ncclComm_t *part,
                                         ncclConfig_t *config) {
  Member *member = memberOf(comm);
  if (version() < 21800 || !isKnown(*config) || config->blocking != 0)
    return refuse("no such communicator can be split off");
  if (member->busy > 0)
    return refuse("the communicator is not done with the call before");
  *part = nullptr;
  member->club->split(member->rank, color, key);
  ++member->splits;
  member->splitting = {color, part, member->shares, blocksOf(*config)};
  member->work();
  return ncclInProgress;
}

/// How many communicators there are that do not share.
HOCKET_EXPORT unsigned emulatedNcclResources() { return Resources::count; }

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
  abortMember(member->aborted);
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
