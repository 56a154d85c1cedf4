//===- StreamQueues.h - Streams that communicate beside stream 0 -*- C++ -*-==//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stream 0 runs on the thread that runs the entry. Every other stream is a
/// queue that a thread of its own serves, so that what it waits for does not
/// keep stream 0 from computing. Events order them, with the meaning they have
/// on a device: a wait is for the last record that was *issued* before it.
///
/// One thread issues, in program order.
///
/// On a device that plays time a call begins when it has been issued and what
/// its stream did before is over; a wait reaches the time of its record.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_STREAMQUEUES_H
#define HOCKET_RUNTIME_EXECUTOR_STREAMQUEUES_H

#include "runtime/comm/interfaces/RankActivity.h"
#include "runtime/executor/PreparedCall.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

namespace hocket {

/// An instruction of the role.
struct InstructionPlace {
  uint32_t sequence = 0, instruction = 0;
  /// As RankActivity knows it.
  uint64_t position() const { return uint64_t(sequence) << 32 | instruction; }
  static InstructionPlace of(uint64_t position) {
    return {uint32_t(position >> 32), uint32_t(position)};
  }
};

class StreamQueues {
public:
  /// Runs one call, on whatever thread; an error ends everything.
  using Runner = std::function<Status(PreparedCall &, InstructionPlace,
                                      const RunContext &)>;

  /// Starts a thread for each stream of the device but the first.
  StreamQueues(uint32_t events, hal::Device &device,
               comm::RankActivity &activity, Runner runner);
  ~StreamQueues();
  StreamQueues(const StreamQueues &) = delete;
  StreamQueues &operator=(const StreamQueues &) = delete;

  /// Queues a call on a stream other than 0.
  void enqueue(uint32_t stream, PreparedCall &call, InstructionPlace place,
               const RunContext &context);

  /// On the device, and here, where a stream's thread may be behind: stream 0
  /// goes on when what the event stands for is done, another stream's
  /// queue when it comes there. A wait of stream 0 fails if a stream has.
  void record(uint32_t stream, uint32_t event);
  Status wait(uint32_t stream, uint32_t event);

  /// Returns when all queues are empty, or have ended because of an error,
  /// which it returns.
  Status drain();

  /// Ends the queues with an error of stream 0. The first error counts.
  void fail(const Status &status);
  Status failure() const;

private:
  struct Work {
    enum class Kind { Call, Record, Wait } kind = Kind::Call;
    PreparedCall *call = nullptr;
    InstructionPlace place;
    std::optional<RunContext> context;
    uint32_t event = 0;
    uint64_t ticket = 0;
    double issued = 0; ///< Played seconds.
  };
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Work> work;
    bool busy = false;
    std::thread thread;
  };

  void push(uint32_t stream, Work work);
  void serve(uint32_t stream);
  void run(uint32_t stream, const Work &work);
  void complete(uint32_t stream, uint32_t event, uint64_t ticket);
  void awaitTicket(uint32_t stream, uint32_t event, uint64_t ticket);
  bool failed() const { return hasFailed.load(std::memory_order_acquire); }

  hal::Device &device;
  comm::RankActivity &activity;
  Runner runner;
  std::vector<uint64_t> issued; ///< Records of each event so far.

  mutable std::mutex mutex; ///< Of what follows.
  /// Of each event: waking those who wait for another takes longer than many
  /// an instruction.
  std::vector<std::condition_variable> completed;
  std::vector<uint64_t> done; ///< Highest ticket of each event.
  /// If time is played, the time of each event's tickets since drain().
  std::vector<std::map<uint64_t, double>> times;
  Status first;
  std::atomic<bool> hasFailed{false};
  std::atomic<bool> stopping{false};

  std::vector<std::unique_ptr<Queue>> queues; ///< Of streams 1, 2, ...
};

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_STREAMQUEUES_H
