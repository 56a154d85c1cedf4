//===- NcclState.cpp - What the communicators of a rank share -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclState.h"

#include "base/Format.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace hocket;
using namespace hocket::comm;
using namespace hocket::comm::nccl;
using namespace std::chrono_literals;
using hal::cuda::CUdeviceptr;
using Clock = std::chrono::steady_clock;

StatusOr<std::unique_ptr<NcclState>> NcclState::create(const NcclApi &api,
                                                       CommunicatorSet &host,
                                                       unsigned gpu,
                                                       unsigned atOnce) {
  HOCKET_ASSIGN_OR_RETURN(const hal::cuda::DriverApi *driver,
                          hal::cuda::driverApi());
  auto state = std::make_unique<NcclState>(api, *driver, host);
  HOCKET_CUDA_CALL(*driver, cuDeviceGet, &state->device, int(gpu));
  HOCKET_CUDA_CALL(*driver, cuDevicePrimaryCtxRetain, &state->context,
                   state->device);
  HOCKET_ASSIGN_OR_RETURN(state->room, NcclRoom::of(gpu, atOnce));
  return state;
}

NcclState::~NcclState() {
  for (std::thread &abort : aborts)
    abort.join();
  if (!context)
    return;
  if (use().ok() && !failed())
    close();
  driver.cuDevicePrimaryCtxRelease(device);
}

/// After all ranks have come to the end: nothing is under way.
void NcclState::close() {
  for (ncclComm_t comm : opened)
    (void)statusOf(api, api.ncclCommFinalize(comm), "ncclCommFinalize");
  // What was split off before what it comes from.
  std::ranges::reverse(opened);
  for (ncclComm_t comm : opened) {
    ncclResult_t result = ncclInProgress;
    for (int i = 0; i < 5000 && result == ncclInProgress; ++i) {
      if (api.ncclCommGetAsyncError(comm, &result) != ncclSuccess)
        break;
      if (result == ncclInProgress)
        std::this_thread::sleep_for(1ms);
    }
    result == ncclSuccess ? api.ncclCommDestroy(comm) : api.ncclCommAbort(comm);
  }
  opened.clear();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

Status NcclState::use() {
  HOCKET_CUDA_CALL(driver, cuCtxSetCurrent, context);
  return okStatus();
}

Status NcclState::failure() const {
  std::lock_guard lock(mutex);
  return first;
}

void NcclState::fail(const Status &error) {
  {
    std::lock_guard lock(mutex);
    if (failed())
      return;
    first = error;
    hasFailed.store(true, std::memory_order_release);
  }
  std::lock_guard lock(calls);
  for (ncclComm_t comm : opened)
    aborts.emplace_back([this, comm] {
      (void)use();
      api.ncclCommAbort(comm);
    });
  opened.clear();
}

Status NcclState::checkErrors() {
  std::lock_guard lock(calls);
  for (ncclComm_t comm : opened) {
    ncclResult_t result = ncclSuccess;
    HOCKET_RETURN_IF_ERROR(statusOf(api,
                                    api.ncclCommGetAsyncError(comm, &result),
                                    "ncclCommGetAsyncError"));
    HOCKET_RETURN_IF_ERROR(statusOf(api, result, "NCCL"));
  }
  return okStatus();
}

Status NcclState::settle(const std::vector<ncclComm_t> &comms,
                         const NcclMembers &members, const Subject &subject) {
  RankActivity &activity = host.activity();
  bool noted = false;
  Status status;
  Clock::time_point begin = Clock::now();
  for (size_t i = 0; status.ok() && i < comms.size();) {
    ncclResult_t result = ncclSuccess;
    {
      std::lock_guard lock(calls);
      status = failed()
                   ? failure()
                   : statusOf(api, api.ncclCommGetAsyncError(comms[i], &result),
                              "ncclCommGetAsyncError");
    }
    if (result != ncclInProgress) {
      if (status.ok() && result != ncclSuccess)
        status = statusOf(api, result, subject().c_str());
      ++i;
      continue;
    }
    // A thread of NCCL's issues what a call asked for, soon as a rule.
    Clock::duration waited = Clock::now() - begin;
    if (waited < 200us)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(100us);
    if (waited > 100ms && !noted) {
      activity.beginDeviceWait(activity.position(0), subject(), members.ranks);
      noted = true;
    }
  }
  if (noted)
    activity.endDeviceWait();
  return status;
}

//===----------------------------------------------------------------------===//
// Making communicators
//===----------------------------------------------------------------------===//

ncclConfig_t NcclState::config(bool shares) const {
  ncclConfig_t config = api.config();
  if (unsigned limit = room.blockLimitWith(api); limit > 0)
    config.maxCTAs = int(limit);
  if (shares)
    config.splitShare = 1;
  return config;
}

StatusOr<ncclUniqueId> NcclState::nameOf(Communicator &through, unsigned root) {
  HOCKET_RETURN_IF_ERROR(enter());
  ncclUniqueId id{};
  if (through.rank() == root)
    HOCKET_RETURN_IF_ERROR(
        statusOf(api, api.ncclGetUniqueId(&id), "ncclGetUniqueId"));
  HOCKET_RETURN_IF_ERROR(
      through.broadcast(&id, sizeof(id) / 4, DType::I32, root));
  return id;
}

StatusOr<ncclComm_t> NcclState::open(const NcclMembers &members,
                                     const ncclUniqueId &id, bool shares) {
  HOCKET_RETURN_IF_ERROR(enter());
  ncclConfig_t config = this->config(shares);
  ncclComm_t comm = nullptr;
  {
    std::lock_guard lock(calls);
    if (failed())
      return failure();
    ncclComm_t *place = &places.emplace_back();
    HOCKET_RETURN_IF_ERROR(
        statusOf(api,
                 api.ncclCommInitRankConfig(place, int(members.ranks.size()),
                                            id, int(members.place), &config),
                 "ncclCommInitRankConfig"));
    comm = *place;
    opened.push_back(comm);
  }
  HOCKET_RETURN_IF_ERROR(settle({comm}, members, [&] {
    return "making a communicator of " +
           groupText(members.group, members.ranks);
  }));
  return comm;
}

StatusOr<ncclComm_t> NcclState::split(ncclComm_t whole, unsigned list,
                                      const NcclMembers &members) {
  HOCKET_RETURN_IF_ERROR(enter());
  ncclConfig_t config = this->config(true);
  bool takesPart = !members.ranks.empty();
  ncclComm_t *place = nullptr;
  auto subject = [&] {
    return "splitting off the communicator of " +
           groupText(members.group, members.ranks);
  };
  {
    std::lock_guard lock(calls);
    if (failed())
      return failure();
    place = &places.emplace_back();
    HOCKET_RETURN_IF_ERROR(statusOf(
        api,
        api.ncclCommSplit(whole, takesPart ? int(list) : ncclSplitNoColor,
                          int(members.place), place, &config),
        "ncclCommSplit"));
  }
  // It is there when the one that it comes from is done.
  HOCKET_RETURN_IF_ERROR(settle({whole}, members, subject));
  if (!takesPart)
    return nullptr;
  ncclComm_t comm = nullptr;
  {
    std::lock_guard lock(calls);
    if (failed())
      return failure();
    comm = *place;
    if (!comm)
      return internalError(subject() + ": ncclCommSplit() has made none");
    opened.push_back(comm);
  }
  HOCKET_RETURN_IF_ERROR(settle({comm}, members, subject));
  return comm;
}

Status NcclState::connect(ncclComm_t comm, const NcclMembers &members,
                          const Links &links) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  size_t bytes = 8 * members.ranks.size();
  HOCKET_CUDA_CALL(driver, cuMemAlloc, &memory, bytes);
  Status status = hal::cuda::statusOf(
      driver, driver.cuStreamCreate(&stream, hal::cuda::CU_STREAM_NON_BLOCKING),
      "cuStreamCreate");
  if (status.ok())
    status = hal::cuda::statusOf(
        driver, driver.cuMemsetD8Async(memory, 0, bytes, stream),
        "cuMemsetD8Async");
  if (status.ok())
    status = trade(comm, members, links, stream, memory);
  if (status.ok())
    status = hal::cuda::statusOf(driver, driver.cuStreamSynchronize(stream),
                                 "cuStreamSynchronize");
  if (stream)
    driver.cuStreamDestroy(stream);
  driver.cuMemFree(memory);
  return status;
}

/// A number for each peer and from each, and a sum.
Status NcclState::trade(ncclComm_t comm, const NcclMembers &members,
                        const Links &links, CUstream stream,
                        CUdeviceptr memory) {
  auto word = [&](size_t i) {
    return reinterpret_cast<void *>(memory + 4 * i);
  };
  size_t size = members.ranks.size();
  auto subject = [&] {
    return "connecting " + groupText(members.group, members.ranks);
  };
  if (!links.to.empty() || !links.from.empty())
    HOCKET_RETURN_IF_ERROR(issue({comm}, members, subject, [&] {
      for (int peer : links.to)
        HOCKET_RETURN_IF_ERROR(statusOf(
            api, api.ncclSend(word(0), 1, ncclInt32, peer, comm, stream),
            "ncclSend"));
      for (int peer : links.from)
        HOCKET_RETURN_IF_ERROR(
            statusOf(api,
                     api.ncclRecv(word(size + size_t(peer)), 1, ncclInt32, peer,
                                  comm, stream),
                     "ncclRecv"));
      return okStatus();
    }));
  if (!links.collectives)
    return okStatus();
  return issue({comm}, members, subject, [&] {
    return statusOf(api,
                    api.ncclAllReduce(word(0), word(1), 1, ncclInt32, ncclSum,
                                      comm, stream),
                    "ncclAllReduce");
  });
}
