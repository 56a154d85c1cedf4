//===- ProcessState.cpp - What the threads of a process share -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/ProcessState.h"

#include "runtime/comm/interfaces/FailureText.h"

#include <algorithm>
#include <sched.h>
#include <set>
#include <thread>

using namespace hocket;
using namespace hocket::comm;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool ProcessState::fail(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (failed())
    return false;
  why = reason;
  hasFailed.store(true, std::memory_order_release);
  return true;
}

std::string ProcessState::reason() const {
  std::lock_guard lock(mutex);
  return why;
}

/// In several messages, if it is too much for one.
Status MessageBatch::start(const Message &message) {
  uint64_t begin = 0;
  do {
    Message part = message;
    part.data = static_cast<char *>(message.data) + begin;
    part.bytes = std::min(messageLimit, message.bytes - begin);
    HOCKET_ASSIGN_OR_RETURN(Transport::Request request,
                            state.transport.start(part));
    pending.push_back({request, message.peer});
    begin += part.bytes;
  } while (begin < message.bytes);
  return okStatus();
}

Status MessageBatch::testAll(bool &progressed, std::optional<unsigned> &lost) {
  for (size_t i = 0; i < pending.size();) {
    lost = pending[i].peer; // If what follows fails.
    HOCKET_ASSIGN_OR_RETURN(bool over,
                            state.transport.test(pending[i].request));
    if (!over) {
      ++i;
      continue;
    }
    pending[i] = pending.back();
    pending.pop_back();
    progressed = true;
  }
  return okStatus();
}

std::string MessageBatch::waitText(const std::string &subject,
                                   const std::vector<unsigned> &ranks) const {
  std::set<unsigned> missing;
  for (const Pending &each : pending)
    missing.insert(ranks[each.peer]);
  std::string text;
  for (unsigned rank : missing)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return subject + " waits for rank " + text;
}

void MessageBatch::note(const std::string &subject,
                        const std::vector<unsigned> &ranks) {
  std::vector<unsigned> missing;
  for (const Pending &each : pending)
    missing.push_back(ranks[each.peer]);
  state.activity.beginWait(lane, waitText(subject, ranks), std::move(missing));
}

/// The watch will know better than the network what has happened.
std::string MessageBatch::whyLost(const Status &status) const {
  for (int i = 0; i < 50 && !state.failed(); ++i)
    std::this_thread::sleep_for(10ms);
  return state.failed() ? state.reason() : status.message();
}

/// Polls, with pauses that grow to half a millisecond.
Status MessageBatch::wait(const std::string &subject,
                          const std::vector<unsigned> &ranks) {
  Clock::time_point begin = Clock::now();
  bool noted = false;
  unsigned idle = 0;
  Status result;
  while (!pending.empty()) {
    bool progressed = false;
    std::optional<unsigned> lost;
    if (Status status = testAll(progressed, lost); !status.ok())
      result = waitError(whyLost(status), subject + " waits for rank " +
                                              std::to_string(ranks[*lost]));
    if (!result.ok() || pending.empty())
      break;
    if (progressed)
      idle = 0;
    else if (++idle < 64)
      ::sched_yield();
    else
      std::this_thread::sleep_for(std::min(idle - 63, 50u) * 10us);
    if (idle % 16 != 15)
      continue;
    if (state.failed()) {
      result = waitError(state.reason(), waitText(subject, ranks));
      break;
    }
    if (Clock::now() - begin > 100ms) {
      note(subject, ranks);
      noted = true;
    }
  }
  if (noted)
    state.activity.endWait(lane);
  if (!result.ok()) // What is under way is abandoned, as the world is.
    pending.clear();
  return result;
}
