//===- ProcessWatch.cpp - Is every process still there? -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/ProcessWatch.h"

#include "base/Format.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace hocket;
using namespace hocket::comm;
using namespace std::chrono_literals;
using Kind = WatchNote::Kind;

static double secondsSince(std::chrono::steady_clock::time_point start,
                           std::chrono::steady_clock::time_point now) {
  return std::chrono::duration<double>(now - start).count();
}

template <size_t N>
static void setText(char (&to)[N], const std::string &text) {
  size_t length = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

ProcessWatch::ProcessWatch(ProcessState &state, ChannelId channel,
                           WaitLimits limits)
    : state(state), channel(channel), limits(limits) {
  ::gethostname(own.host, sizeof(own.host) - 1);
  own.process = ::getpid();
  unsigned rank = state.transport.rank();
  unsigned last = rank == 0 ? state.transport.size() : 1;
  for (unsigned other = rank == 0 ? 1 : 0; other < last; ++other) {
    peers.push_back(std::make_unique<Peer>());
    peers.back()->rank = other;
    peers.back()->lastHeard = Clock::now();
  }
  thread = std::thread([this] { run(); });
}

ProcessWatch::~ProcessWatch() {
  closing.store(true);
  thread.join();
}

/// Until all have said farewell; after a failure, until all know of it.
bool ProcessWatch::over() const {
  bool failed = state.failed();
  return std::all_of(peers.begin(), peers.end(), [&](const auto &peer) {
    if (peer->lost)
      return true;
    if (failed)
      return peer->knows && !peer->sending;
    return peer->gone && peer->heard.kind == Kind::Farewell && !peer->sending;
  });
}

void ProcessWatch::run() {
  std::optional<Clock::time_point> closed;
  while (true) {
    step();
    Clock::time_point now = Clock::now();
    if (state.failed() && !failedAt)
      failedAt = now;
    if (closing.load() && !closed)
      closed = now;
    // A rank that has ended well waits for the others as long as they take.
    if (closed && (over() || (failedAt && secondsSince(*closed, now) > 1)))
      return;
    if (!closed && failedAt && secondsSince(*failedAt, now) > 1.5)
      endProcess();
    std::this_thread::sleep_for(closed ? 5ms : 50ms);
  }
}

void ProcessWatch::step() {
  Clock::time_point now = Clock::now();
  for (auto &peer : peers)
    listen(*peer);
  if (!state.failed())
    judge(now);
  bool regular = secondsSince(lastSpoken, now) >= 0.5;
  for (auto &peer : peers)
    if (regular || state.failed() || closing.load())
      speak(*peer);
  if (regular)
    lastSpoken = now;
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

/// What the peer did when it last said so.
static std::string lastOf(const WatchNote &note) {
  return std::string("last it was ") + (note.doing[0]
                                            ? "in " + std::string(note.doing)
                                            : "outside of the program");
}

/// Who cannot be reached has died, unless it has said farewell.
void ProcessWatch::lose(Peer &peer, const Status &status) {
  peer.lost = true;
  if (peer.heard.kind != Kind::Farewell)
    fail(formatText("rank %u has died: ", peer.rank) + status.message() + "; " +
         lastOf(peer.heard));
}

void ProcessWatch::listen(Peer &peer) {
  unsigned place = peer.rank; // The channel is the world.
  while (!peer.lost && peer.heard.kind != Kind::Farewell) {
    if (!peer.receiving) {
      auto started = state.transport.start(
          {channel, false, place, &peer.in, sizeof(peer.in), 0});
      if (!started.ok())
        return lose(peer, started.status());
      peer.receiving = *started;
    }
    auto over = state.transport.test(peer.receiving);
    if (!over.ok())
      return lose(peer, over.status());
    if (!*over)
      return;
    peer.receiving = nullptr;
    take(peer);
  }
}

void ProcessWatch::take(Peer &peer) {
  peer.in.doing[sizeof(peer.in.doing) - 1] = '\0';
  peer.in.wait[sizeof(peer.in.wait) - 1] = '\0';
  peer.in.host[sizeof(peer.in.host) - 1] = '\0';
  peer.lastHeard = Clock::now();
  peer.heard = peer.in;
  if (peer.heard.kind != Kind::Failure)
    return;
  peer.knows = true;
  state.fail(peer.heard.wait);
}

void ProcessWatch::send(Peer &peer, const WatchNote &note) {
  peer.out = note;
  auto started = state.transport.start(
      {channel, true, peer.rank, &peer.out, sizeof(peer.out), 0});
  if (!started.ok())
    return lose(peer, started.status());
  peer.sending = *started;
}

/// One note at a time: who does not listen is not sent more.
void ProcessWatch::speak(Peer &peer) {
  if (peer.lost)
    return;
  if (peer.sending) {
    auto over = state.transport.test(peer.sending);
    if (!over.ok())
      return lose(peer, over.status());
    if (!*over)
      return;
    peer.sending = nullptr;
  }
  if (peer.gone)
    return;
  WatchNote note = own;
  if (state.failed()) {
    if (peer.knows)
      return;
    peer.knows = true;
    note.kind = Kind::Failure;
    setText(note.wait, state.reason());
  } else if (closing.load()) {
    peer.gone = true;
    note.kind = Kind::Farewell;
  } else {
    note = report();
  }
  send(peer, note);
}

WatchNote ProcessWatch::report() {
  RankReport now = state.activity.report();
  WatchNote note = own;
  note.state = uint32_t(now.state);
  note.beats = now.beats;
  note.stalledSeconds = clock.update(now);
  for (unsigned rank : now.waitsFor)
    if (note.waitCount < std::size(note.waitsFor))
      note.waitsFor[note.waitCount++] = rank;
  setText(note.doing, now.doing);
  setText(note.wait, now.wait);
  return note;
}

//===----------------------------------------------------------------------===//
// Judgement
//===----------------------------------------------------------------------===//

/// Whether the peer's process is known to be gone: one of this machine that is
/// not there, or is only waited for by its parent.
bool ProcessWatch::isDead(const Peer &peer) const {
  const WatchNote &note = peer.heard;
  if (note.process == 0 || std::strcmp(note.host, own.host) != 0)
    return false;
  if (::kill(pid_t(note.process), 0) != 0)
    return errno == ESRCH;
  std::ifstream file("/proc/" + std::to_string(note.process) + "/stat");
  std::string line;
  std::getline(file, line);
  size_t name = line.rfind(") ");
  return name != std::string::npos && name + 2 < line.size() &&
         (line[name + 2] == 'Z' || line[name + 2] == 'X');
}

static RankState stateOf(const WatchNote &note) {
  RankState rank;
  rank.report.state = LaneState(std::min(note.state, 3u));
  rank.report.beats = note.beats;
  rank.report.doing = note.doing;
  rank.report.wait = note.wait;
  rank.report.waitsFor.assign(note.waitsFor,
                              note.waitsFor + std::min(note.waitCount, 16u));
  rank.stalledSeconds = note.stalledSeconds;
  return rank;
}

/// Rank 0 judges all, the others only whether rank 0 is there.
void ProcessWatch::judge(Clock::time_point now) {
  std::vector<RankState> ranks(state.transport.size());
  bool judges = state.transport.rank() == 0;
  ranks[state.transport.rank()] = stateOf(report());
  if (closing.load()) {
    if (!closedAt)
      closedAt = now;
    ranks[state.transport.rank()].endedSeconds = secondsSince(*closedAt, now);
  }
  if (!judges)
    ranks[state.transport.rank()].report = RankReport();
  for (const auto &peer : peers) {
    RankState &rank = ranks[peer->rank];
    // At the end a farewell may be under way from who is gone already.
    if (!closing.load() && peer->heard.kind != Kind::Farewell && isDead(*peer))
      return fail(formatText("rank %u has died (process %lld of %s); ",
                             peer->rank, (long long)peer->heard.process,
                             own.host) +
                  lastOf(peer->heard));
    rank = stateOf(peer->heard);
    double since = secondsSince(peer->lastHeard, now);
    if (peer->heard.kind == Kind::Farewell)
      rank.endedSeconds = since;
    else
      rank.silentSeconds = since;
    if (!judges)
      rank.report.state = LaneState::Idle;
  }
  if (auto verdict = judgeRanks(ranks, limits))
    fail(verdict->text);
}

void ProcessWatch::fail(const std::string &why) { state.fail(why); }

/// The rank's own thread has not come back: it computes for long, or hangs.
void ProcessWatch::endProcess() const {
  std::fprintf(stderr, "hocket: %s\n  rank %u ends\n", state.reason().c_str(),
               state.transport.rank());
  std::fflush(stderr);
  ::_exit(1);
}
