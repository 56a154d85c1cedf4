//===- NcclMeeting.cpp - What ranks of a communicator do together ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/libraries/NcclMeeting.h"

#include "runtime/comm/interfaces/Reduce.h"

#include <algorithm>
#include <cstring>
#include <shared_mutex>

using namespace hocket;
using namespace hocket::emulator;
using comm::CollectiveCall;
using Op = CollectiveCall::Op;

static uint64_t bytesOf(const CollectiveCall &call) {
  return call.count * uint64_t(kernels::bytesOf(call.dtype));
}

uint64_t emulator::bytesFrom(const CollectiveCall &call, unsigned ranks) {
  if (!call.from)
    return 0;
  return bytesOf(call) * (call.op == Op::ReduceScatter ? ranks : 1);
}

uint64_t emulator::bytesTo(const CollectiveCall &call, unsigned ranks) {
  if (!call.to)
    return 0;
  return bytesOf(call) * (call.op == Op::AllGather ? ranks : 1);
}

std::string SharedWork::mismatch() const {
  const CollectiveCall &first = *calls.front();
  for (const auto &call : calls)
    if (call->op != first.op || call->count != first.count ||
        call->dtype != first.dtype || call->reduction != first.reduction ||
        call->root != first.root)
      return "ranks do not ask for the same: " + comm::callText(first) + ", " +
             comm::callText(*call);
  return "";
}

/// Results are made aside, as sides may work in place.
void SharedWork::perform() {
  const CollectiveCall &call = *calls.front();
  uint64_t bytes = bytesOf(call);
  if (bytes == 0)
    return;
  if (isMessage) {
    std::memmove(calls[1]->to, calls[0]->from, bytes);
    return;
  }
  std::vector<const void *> parts;
  for (const auto &each : calls)
    parts.push_back(each->from);
  auto ranks = unsigned(parts.size());
  bool sums = call.op == Op::AllReduce || call.op == Op::ReduceScatter;
  std::vector<char> result(call.op == Op::AllReduce || call.op == Op::Broadcast
                               ? bytes
                               : bytes * ranks);
  if (sums)
    comm::reduceParts(parts, result.data(),
                      result.size() / uint64_t(kernels::bytesOf(call.dtype)),
                      call.dtype, call.reduction);
  for (unsigned rank = 0; call.op == Op::AllGather && rank < ranks; ++rank)
    std::memcpy(result.data() + rank * bytes, parts[rank], bytes);
  if (call.op == Op::Broadcast)
    std::memcpy(result.data(), parts[call.root], bytes);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    bool own = call.op == Op::ReduceScatter;
    std::memcpy(calls[rank]->to, result.data() + (own ? rank * bytes : 0),
                own ? bytes : result.size());
  }
}

void emulator::spoilResult(const CollectiveCall &call, unsigned ranks) {
  uint64_t written = bytesTo(call, ranks), read = bytesFrom(call, ranks);
  auto *to = static_cast<char *>(call.to);
  const auto *from = static_cast<const char *>(call.from);
  bool apart = !from || from + read <= to || to + written <= from;
  if (to && apart)
    std::memset(to, 0xFF, written);
}

/// Held by all that reads and writes the memory of ranks, and by who aborts one
/// alone.
static std::shared_mutex performing;

void emulator::abortMember(const AbortFlag &flag) {
  std::unique_lock lock(performing);
  flag->store(true);
}

std::string SharedWork::arrive(unsigned side, const CollectiveCall &call,
                               const AbortFlag &aborted) {
  std::lock_guard lock(mutex);
  calls[side] = call;
  ends[side] = aborted;
  spoilResult(call, unsigned(calls.size()));
  if (++arrived < calls.size())
    return "";
  std::shared_lock alive(performing);
  if (std::ranges::any_of(
          ends, [](const AbortFlag &end) { return end && end->load(); }))
    return ""; // It never ends; who waits for it is aborted, too.
  std::string error = mismatch();
  if (error.empty())
    perform();
  over.store(true);
  return error;
}

void LaunchOrder::add(std::shared_ptr<NcclMeeting> meeting) {
  std::lock_guard lock(mutex);
  // Several parts of one meeting may be of one order.
  if (meetings.empty() || meetings.back() != meeting)
    meetings.push_back(std::move(meeting));
}

bool LaunchOrder::isNext(const NcclMeeting &meeting) {
  std::lock_guard lock(mutex);
  while (!meetings.empty() && meetings.front().get() != &meeting &&
         meetings.front()->isOver())
    meetings.pop_front();
  return meetings.empty() || meetings.front().get() == &meeting;
}

/// Kernels of several communicators on one stream follow each other.
unsigned NcclMeeting::blocks() const {
  unsigned most = 0;
  for (const Part &part : parts)
    most = std::max(most, part.blocks);
  return most;
}

void NcclMeeting::issue() {
  for (const Part &part : parts)
    part.order->add(shared_from_this());
}

bool NcclMeeting::mayBegin() {
  return std::ranges::all_of(
      parts, [&](const Part &part) { return part.order->isNext(*this); });
}

std::string NcclMeeting::arrive() {
  std::string error;
  for (const Part &part : parts)
    if (!part.aborted->load())
      if (std::string one =
              part.work->arrive(part.side, part.call, part.aborted);
          error.empty())
        error = one;
  return error;
}

bool NcclMeeting::isOver() const {
  return std::ranges::all_of(parts, [](const Part &part) {
    return part.aborted->load() || part.work->isOver();
  });
}

std::shared_ptr<JointWork> SharedWork::again(uint64_t launch) {
  std::lock_guard lock(mutex);
  Launched &entry = launched[launch];
  if (!entry.work)
    entry.work =
        std::make_shared<SharedWork>(isMessage, unsigned(calls.size()));
  std::shared_ptr<SharedWork> work = entry.work;
  if (++entry.taken == calls.size())
    launched.erase(launch);
  return work;
}

void NcclMeeting::capture() {
  for (const Part &part : parts)
    held.push_back(part.captures.lock());
}

std::shared_ptr<Meeting> NcclMeeting::again(uint64_t launch) {
  std::vector<Part> anew = parts;
  for (Part &part : anew)
    part.work = part.work->again(launch);
  return std::make_shared<NcclMeeting>(std::move(anew));
}
