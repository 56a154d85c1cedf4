//===- ProcessWatch.h - Is every process still there? -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The watching thread of a process. Notes of one size go between rank 0 and
/// every other rank on a channel of their own.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_PROCESSWATCH_H
#define HOCKET_RUNTIME_COMM_PROCESS_PROCESSWATCH_H

#include "runtime/comm/process/ProcessState.h"

#include <condition_variable>
#include <thread>

namespace hocket::comm {

/// What goes between processes.
struct WatchNote {
  enum class Kind : uint32_t { Report, Failure, Farewell } kind = Kind::Report;
  uint32_t state = 0; ///< LaneState.
  uint64_t beats = 0;
  double stalledSeconds = 0;
  uint32_t waitCount = 0;
  uint32_t waitsFor[16] = {};
  char host[64] = {};
  int64_t process = 0;
  char doing[512] = {};
  char wait[512] = {}; ///< Or why it has failed.
};

class ProcessWatch {
public:
  ProcessWatch(ProcessState &state, ChannelId channel, WaitLimits limits);
  /// Says farewell, or, after a failure, makes sure that it was heard.
  ~ProcessWatch();

private:
  using Clock = std::chrono::steady_clock;

  /// The other end of one pair.
  struct Peer {
    unsigned rank = 0;
    WatchNote in, out, heard;
    Transport::Request receiving = nullptr, sending = nullptr;
    Clock::time_point lastHeard;
    bool knows = false; ///< Of the failure.
    bool gone = false;  ///< Farewell.
    bool lost = false;  ///< No message comes or goes.
  };

  void run();
  void step();
  void listen(Peer &peer);
  void take(Peer &peer);
  void speak(Peer &peer);
  void send(Peer &peer, const WatchNote &note);
  WatchNote report();
  void judge(Clock::time_point now);
  void fail(const std::string &why);
  void lose(Peer &peer, const Status &status);
  bool isDead(const Peer &peer) const;
  bool over() const;
  void endProcess() const;

  ProcessState &state;
  ChannelId channel;
  WaitLimits limits;
  std::vector<std::unique_ptr<Peer>> peers;
  WatchNote own;
  StallClock clock;
  Clock::time_point lastSpoken;
  std::optional<Clock::time_point> failedAt, closedAt;
  std::atomic<bool> closing{false};
  std::thread thread;
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_PROCESSWATCH_H
