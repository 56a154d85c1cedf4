//===- NcclState.h - What the communicators of a rank share -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All of a rank's use of NCCL goes through here: the thread that runs the rank
/// makes calls, the watching thread (NcclWatch.h) asks about errors and aborts.
/// Communicators do not block: a call that NCCL has not done with is asked
/// about until it has, or the world has failed.
///
/// Graphs with NCCL's work are destroyed before this is.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_NCCL_NCCLSTATE_H
#define HOCKET_RUNTIME_COMM_NCCL_NCCLSTATE_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/comm/nccl/NcclApi.h"

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hocket::comm::nccl {

/// Who is in a communicator.
struct NcclMembers {
  std::string group;
  std::vector<unsigned> ranks; ///< Of the world, by place.
  unsigned place = 0;          ///< This rank's.
};

/// Says what is waited for.
using Subject = std::function<std::string()>;

class NcclState {
public:
  /// Uses the GPU `gpu` of this machine, on which so many operations may be
  /// under way at once. `host` reaches the same ranks through host memory.
  static StatusOr<std::unique_ptr<NcclState>> create(const NcclApi &api,
                                                     CommunicatorSet &host,
                                                     unsigned gpu,
                                                     unsigned atOnce);
  NcclState(const NcclApi &api, const hal::cuda::DriverApi &driver,
            CommunicatorSet &host)
      : api(api), driver(driver), host(host) {}
  ~NcclState();
  NcclState(const NcclState &) = delete;

  const NcclApi &api;
  const hal::cuda::DriverApi &driver;
  CommunicatorSet &host;
  std::vector<CUstream> streams; ///< The device's.
  NcclRoom room;

  /// What the rank at place `root` calls a new communicator; all that `through`
  /// reaches ask together.
  StatusOr<ncclUniqueId> nameOf(Communicator &through, unsigned root);
  /// Makes the communicator of that name, with all members. It lives as long as
  /// this object. Those that are split off one that `shares` share what it has
  /// of the device's memory, and its order: of all that is issued to any of
  /// them one operation begins when the one before it is over.
  StatusOr<ncclComm_t> open(const NcclMembers &members, const ncclUniqueId &id,
                            bool shares = false);
  /// The same, split off `whole`, whose ranks all call it. `list` numbers the
  /// lists of ranks of which each becomes a communicator; of a rank in none of
  /// them, without members, comes null.
  StatusOr<ncclComm_t> split(ncclComm_t whole, unsigned list,
                             const NcclMembers &members);

  /// NCCL connects two ranks when they first have something for each other, and
  /// makes the host wait for it. Ranks that first meet different peers would
  /// wait for ever, so all connections are made at once, by all members.
  struct Links {
    std::vector<int> to, from; ///< Ranks of the communicator.
    bool collectives = false;
  };
  Status connect(ncclComm_t comm, const NcclMembers &members,
                 const Links &links);

  /// Before the thread uses the GPU.
  Status use();
  /// The same; what has failed, if something has.
  Status enter() { return failed() ? failure() : use(); }

  /// Calls `body`, which calls NCCL, while nobody aborts; then waits until
  /// NCCL is done with `comms`. `subject` is said of a wait that lasts.
  template <typename Body>
  Status issue(const std::vector<ncclComm_t> &comms, const NcclMembers &members,
               const Subject &subject, const Body &body) {
    {
      std::lock_guard lock(calls);
      if (failed())
        return failure();
      HOCKET_RETURN_IF_ERROR(
          statusOf(api, api.ncclGroupStart(), "ncclGroupStart"));
      Status status = body();
      Status ended = statusOf(api, api.ncclGroupEnd(), "ncclGroupEnd");
      HOCKET_RETURN_IF_ERROR(status);
      HOCKET_RETURN_IF_ERROR(ended);
    }
    return settle(comms, members, subject);
  }

  bool failed() const { return hasFailed.load(std::memory_order_acquire); }
  Status failure() const;
  /// Begins to abort all communicators, so that nothing waits for them any
  /// more; the first error counts. Any thread. NCCL is not done with it before
  /// the last graph is destroyed that has something of a communicator.
  void fail(const Status &error);

  /// Looks for errors that NCCL has found meanwhile. Any thread.
  Status checkErrors();

private:
  Status settle(const std::vector<ncclComm_t> &comms,
                const NcclMembers &members, const Subject &subject);
  ncclConfig_t config(bool shares) const;
  Status trade(ncclComm_t comm, const NcclMembers &members, const Links &links,
               CUstream stream, hal::cuda::CUdeviceptr memory);
  void close();

  hal::cuda::CUdevice device = 0;
  hal::cuda::CUcontext context = nullptr;
  std::mutex calls; ///< Held by whoever uses NCCL.
  /// Where NCCL was told to put communicators. Before version 2.18 its threads
  /// look there until they are done, also when nobody waits for them any more.
  std::deque<ncclComm_t> places;
  std::vector<ncclComm_t> opened;
  /// That abort a communicator each: what one waits for another may hold up.
  std::vector<std::thread> aborts;
  mutable std::mutex mutex; ///< Of `first`.
  Status first;
  std::atomic<bool> hasFailed{false};
};

} // namespace hocket::comm::nccl

#endif // HOCKET_RUNTIME_COMM_NCCL_NCCLSTATE_H
