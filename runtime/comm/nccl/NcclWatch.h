//===- NcclWatch.h - Does what was issued end? ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The watching thread of a rank whose messages the GPU carries. Two events are
/// recorded around every operation; around those that a graph repeats, which
/// shows no events, a byte is copied to the host. While one has begun and does
/// not end, the rank is seen to wait for the others of the group, so that the
/// watch of the world (HangWatch.h) finds who keeps whom waiting, be they ranks
/// of this process or of others. Once the world has failed, or NCCL has, all
/// communicators are aborted, and whatever waits on the GPU ends.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_NCCL_NCCLWATCH_H
#define HOCKET_RUNTIME_COMM_NCCL_NCCLWATCH_H

#include "runtime/comm/interfaces/CollectiveCall.h"
#include "runtime/comm/nccl/NcclState.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <span>
#include <thread>

namespace hocket::comm::nccl {

/// What was asked for, to be told if it lasts.
struct Operation {
  CollectiveCall call;
  size_t messages = 0; ///< Of an exchange, which is no call.
  const NcclMembers *members = nullptr;
  /// "all_reduce of 64 f32 in group 'dp' of ranks 0, 2".
  std::string text() const;
};

class NcclWatch {
public:
  explicit NcclWatch(NcclState &state);
  ~NcclWatch();

  /// Around what is issued to the stream, by the thread that issues.
  Status begin(CUstream stream);
  Status end(CUstream stream, const Operation &operation);

  /// What is issued until endCapture() is captured; as CommunicatorSet's.
  StatusOr<unsigned> beginCapture(size_t operations);
  void endCapture();
  void replaying(unsigned capture);

private:
  using Clock = std::chrono::steady_clock;
  using CUevent = hal::cuda::CUevent;

  /// Something that the GPU comes to: an event, or, in a graph, a byte that
  /// becomes 1.
  struct Mark {
    CUevent event = nullptr;
    uint8_t *byte = nullptr;
  };
  struct Issued {
    Mark begun, ended;
    uint64_t number = 0; ///< From 1.
    Operation operation;
    uint64_t position = 0;                 ///< Of the rank's activity.
    std::optional<Clock::time_point> seen; ///< That it has begun.
  };

  void run();
  void step();
  Status look();
  void retire();
  Issued *oldest();
  bool isDone(const Mark &mark) const;
  StatusOr<Mark> mark(CUstream stream);
  StatusOr<CUevent> takeEvent();
  Status makeOne();

  NcclState &state;
  std::mutex mutex;
  std::vector<CUevent> spare, all;
  Mark next; ///< Begins what is about to be issued.
  std::map<CUstream, std::deque<Issued>> issued;
  uint64_t lastNumber = 0;
  uint64_t noted = 0; ///< The operation that is told; 0: none.

  struct Capture {
    std::span<uint8_t> bytes; ///< Pinned.
    size_t used = 0;
    std::map<CUstream, std::vector<Issued>> issued;
  };
  std::vector<Capture> captures;
  bool capturing = false;         ///< The last of them.
  hal::cuda::CUdeviceptr one = 0; ///< A byte of the GPU that is 1.

  std::condition_variable changed;
  bool stopping = false;
  std::thread thread;
};

} // namespace hocket::comm::nccl

#endif // HOCKET_RUNTIME_COMM_NCCL_NCCLWATCH_H
