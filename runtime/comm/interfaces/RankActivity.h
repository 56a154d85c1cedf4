//===- RankActivity.h - What a rank is doing --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A rank has one lane a stream; the thread that serves a stream notes there
/// what it does. Others read it to say whom they wait for, and to tell a rank
/// that hangs from one that is slow (HangWatch.h).
///
/// Noting an instruction is three relaxed stores; text is made only when
/// somebody asks.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_INTERFACES_RANKACTIVITY_H
#define HOCKET_RUNTIME_COMM_INTERFACES_RANKACTIVITY_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <string>
#include <vector>

namespace hocket::comm {

/// What a lane does. A rank as a whole is Running if any lane is, else Patient,
/// else Waiting, else Idle.
enum class LaneState : uint8_t {
  Idle,    ///< Nothing: an empty queue, or waiting for another of its lanes.
  Running, ///< An instruction, which must end by itself.
  Waiting, ///< For other ranks, in a communicator.
  Patient, ///< Something that may take any time: reading files, saving.
};

/// What one rank is seen to do at one moment.
struct RankReport {
  LaneState state = LaneState::Idle;
  std::string doing;              ///< "sequence 'forward', instruction 3 (...)"
  std::string wait;               ///< "all_reduce of group 'tp' ..."
  std::vector<unsigned> waitsFor; ///< Ranks.
  uint64_t beats = 0;             ///< Changes whenever the rank progresses.
  /// That the threads of running lanes have computed for, in all.
  double cpuSeconds = 0;
};

class RankActivity {
public:
  /// Turns a position into text for people.
  using Describer = std::function<std::string(uint64_t position)>;

  /// Lane 0 is there from the start.
  RankActivity();

  /// Before any thread uses a lane other than 0.
  void setLanes(uint32_t lanes);
  /// The describer must stay callable until it is replaced.
  void setDescriber(Describer describer);

  /// Of the lane's own thread. `position` is the describer's.
  void run(uint32_t lane, uint64_t position) {
    if (lanes[lane].thread.load(std::memory_order_relaxed) != ::pthread_self())
      noteThread(lane);
    set(lane, LaneState::Running, position);
  }
  void idle(uint32_t lane) { set(lane, LaneState::Idle, nowhere); }

  /// Notes progress without saying which.
  void beat(uint32_t lane = 0) {
    auto &beats = lanes[lane].beats; // Its thread alone writes it.
    beats.store(beats.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
  }

  /// The lane waits for `ranks`, in `wait`, until endWait().
  void beginWait(uint32_t lane, std::string wait, std::vector<unsigned> ranks);
  void endWait(uint32_t lane);

  /// What was issued at `position` keeps the device waiting for `ranks`, until
  /// endDeviceWait(): a rank that runs meanwhile waits, too. One thread.
  void beginDeviceWait(uint64_t position, std::string wait,
                       std::vector<unsigned> ranks);
  void endDeviceWait();

  /// Where the lane is.
  uint64_t position(uint32_t lane) const {
    return lanes[lane].position.load(std::memory_order_relaxed);
  }

  /// Any thread.
  RankReport report() const;

  static constexpr uint64_t nowhere = ~uint64_t(0);

private:
  friend class PatientScope;
  struct alignas(64) Lane {
    std::atomic<uint64_t> position{nowhere};
    std::atomic<uint64_t> beats{0};
    std::atomic<pthread_t> thread{}; ///< That ran it last.
    /// The thread's CPU time. Unlike the thread it may be asked when that ends.
    std::atomic<clockid_t> clock{-1};
    std::atomic<LaneState> state{LaneState::Idle};
    LaneState before = LaneState::Idle; ///< The wait.
    std::string wait;
    std::vector<unsigned> waitsFor;
  };

  void noteThread(uint32_t lane);
  void set(uint32_t lane, LaneState state, uint64_t position) {
    lanes[lane].position.store(position, std::memory_order_relaxed);
    lanes[lane].state.store(state, std::memory_order_relaxed);
    beat(lane);
  }

  mutable std::mutex mutex; ///< Of the texts.
  Describer describer;
  std::string phase; ///< What a PatientScope does.
  struct DeviceWait {
    uint64_t position = nowhere;
    std::string wait;
    std::vector<unsigned> waitsFor;
  };
  std::optional<DeviceWait> deviceWait;
  uint64_t deviceBeats = 0;
  std::unique_ptr<Lane[]> lanes;
  uint32_t laneCount = 1;
};

/// While it lives, lane 0 does `phase`, which may take any time.
class PatientScope {
public:
  PatientScope(RankActivity &activity, std::string phase);
  ~PatientScope();
  PatientScope(const PatientScope &) = delete;
  PatientScope &operator=(const PatientScope &) = delete;

private:
  RankActivity &activity;
  LaneState before;
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_INTERFACES_RANKACTIVITY_H
