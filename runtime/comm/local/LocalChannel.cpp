//===- LocalChannel.cpp - Collectives among threads -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalChannel.h"

#include "base/Format.h"
#include "runtime/comm/interfaces/Reduce.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::comm;
using Op = CollectiveCall::Op;

LocalChannel::LocalChannel(std::string name, std::vector<unsigned> ranks)
    : groupName(std::move(name)), members(std::move(ranks)),
      here(members.size()), calls(members.size()) {}

//===----------------------------------------------------------------------===//
// Coming together
//===----------------------------------------------------------------------===//

WaitSubject LocalChannel::subject(const CollectiveCall &call) const {
  WaitSubject subject;
  std::string missing;
  for (unsigned place = 0; place < members.size(); ++place)
    if (!here[place]) {
      subject.ranks.push_back(members[place]);
      missing += (missing.empty() ? "" : ", ") + std::to_string(members[place]);
    }
  subject.text = callText(call) + " in " + groupText(groupName, members);
  if (!missing.empty())
    subject.text += " waits for rank " + missing;
  return subject;
}

Status LocalChannel::call(unsigned place, const CollectiveCall &call,
                          const LocalWaiter &waiter) {
  std::unique_lock lock(mutex);
  uint64_t mine = generation;
  calls[place] = call;
  here[place] = true;
  if (++arrived == members.size() && !waiter.state.failed())
    return start(lock);
  Status waited = waitLocally(
      waiter, lock, changed,
      [&] { return generation != mine || phase == Phase::Running; },
      [&] { return subject(call); });
  if (!waited.ok()) { // Nobody reads this rank's memory: not all have come,
    --arrived;        // and nobody ever will start.
    return waited;
  }
  if (generation == mine) {
    work(lock);
    // Others are at their last chunks, which nothing can stop.
    changed.wait(lock, [&] { return generation != mine; });
  }
  return outcome[mine % 2];
}

bool LocalChannel::isLarge() const {
  uint64_t elements = 0;
  for (const CollectiveChunk &chunk : chunks)
    elements += chunk.end - chunk.begin;
  uint64_t each =
      calls[0].op == Op::AllReduce || calls[0].op == Op::ReduceScatter
          ? members.size()
          : 1;
  return chunks.size() > 1 && elements * each > uint64_t(1) << 16;
}

/// The last one to come does what is small by itself.
Status LocalChannel::start(std::unique_lock<std::mutex> &lock) {
  uint64_t mine = generation;
  outcome[mine % 2] = mismatch();
  chunks.clear();
  if (outcome[mine % 2].ok())
    divide();
  next = 0;
  unfinished = chunks.size();
  phase = Phase::Running;
  if (isLarge())
    changed.notify_all();
  work(lock);
  changed.wait(lock, [&] { return generation != mine || unfinished == 0; });
  if (generation == mine) { // There was nothing to do.
    phase = Phase::Gathering;
    std::fill(here.begin(), here.end(), false);
    arrived = 0;
    ++generation;
    changed.notify_all();
  }
  return outcome[mine % 2];
}

Status LocalChannel::mismatch() const {
  const CollectiveCall &first = calls[0];
  for (unsigned place = 1; place < members.size(); ++place) {
    const CollectiveCall &call = calls[place];
    if (call.op != first.op || call.count != first.count ||
        call.dtype != first.dtype || call.reduction != first.reduction ||
        call.root != first.root)
      return internalError(
          groupText(groupName, members) +
          formatText(": rank %u calls ", members[0]) + callText(first) +
          formatText(", rank %u ", members[place]) + callText(call));
  }
  if (first.op != Op::AllToAllV)
    return okStatus();
  for (unsigned from = 0; from < members.size(); ++from)
    for (unsigned to = 0; to < members.size(); ++to)
      if (calls[from].sends.counts[to] != calls[to].receives.counts[from])
        return internalError(formatText(
            "all_to_all_v in %s: rank %u sends %llu elements to rank %u, which "
            "expects %llu",
            groupText(groupName, members).c_str(), members[from],
            (unsigned long long)calls[from].sends.counts[to], members[to],
            (unsigned long long)calls[to].receives.counts[from]));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The work
//===----------------------------------------------------------------------===//

/// Elements from one rank to another.
static uint64_t elementsBetween(const CollectiveCall &source, unsigned target) {
  return source.op == Op::AllToAllV ? source.sends.counts[target]
                                    : source.count;
}

/// Cuts the collective into chunks of at most 128 KiB a rank.
void LocalChannel::divide() {
  const CollectiveCall &first = calls[0];
  uint64_t step =
      (uint64_t(128) << 10) / uint64_t(kernels::bytesOf(first.dtype));
  auto cut = [&](unsigned source, unsigned target, uint64_t elements) {
    for (uint64_t begin = 0; begin < elements; begin += step)
      chunks.push_back(
          {source, target, begin, std::min(elements, begin + step)});
  };
  unsigned size = unsigned(members.size());
  if (first.op == Op::Barrier)
    return;
  if (first.op == Op::AllReduce)
    return cut(0, 0, first.count);
  for (unsigned target = 0; target < size; ++target) {
    if (first.op == Op::ReduceScatter) {
      cut(0, target, first.count);
      continue;
    }
    if (first.op == Op::Broadcast) {
      if (target != first.root)
        cut(first.root, target, first.count);
      continue;
    }
    for (unsigned source = 0; source < size; ++source)
      cut(source, target, elementsBetween(calls[source], target));
  }
}

/// Does chunks until all are taken. Whoever finishes the last one ends the
/// collective.
void LocalChannel::work(std::unique_lock<std::mutex> &lock) {
  while (next < chunks.size()) {
    CollectiveChunk chunk = chunks[next++];
    lock.unlock();
    runChunk(chunk);
    lock.lock();
    if (--unfinished > 0)
      continue;
    phase = Phase::Gathering;
    std::fill(here.begin(), here.end(), false);
    arrived = 0;
    ++generation;
    changed.notify_all();
    return;
  }
}

void LocalChannel::runChunk(const CollectiveChunk &chunk) {
  const CollectiveCall &source = calls[chunk.source];
  const CollectiveCall &target = calls[chunk.target];
  uint64_t bytes = uint64_t(kernels::bytesOf(source.dtype));
  uint64_t elements = chunk.end - chunk.begin;
  auto from = [&](const CollectiveCall &call, uint64_t first) {
    return static_cast<const char *>(call.from) + (first + chunk.begin) * bytes;
  };
  auto to = [&](const CollectiveCall &call, uint64_t first) {
    return static_cast<char *>(call.to) + (first + chunk.begin) * bytes;
  };
  switch (source.op) {
  case Op::AllReduce:
  case Op::ReduceScatter: {
    bool scatter = source.op == Op::ReduceScatter;
    uint64_t first = scatter ? chunk.target * source.count : 0;
    std::vector<const void *> parts;
    for (const CollectiveCall &call : calls)
      parts.push_back(from(call, first));
    reduceParts(parts, to(target, 0), elements, source.dtype, source.reduction);
    for (unsigned other = 1; !scatter && other < members.size(); ++other)
      std::memcpy(to(calls[other], 0), to(target, 0), elements * bytes);
    return;
  }
  case Op::AllGather:
    std::memcpy(to(target, chunk.source * source.count), from(source, 0),
                elements * bytes);
    return;
  case Op::AllToAll:
    std::memcpy(to(target, chunk.source * source.count),
                from(source, chunk.target * source.count), elements * bytes);
    return;
  case Op::AllToAllV:
    std::memcpy(to(target, target.receives.offsets[chunk.source]),
                from(source, source.sends.offsets[chunk.target]),
                elements * bytes);
    return;
  case Op::Broadcast:
    std::memcpy(to(target, 0), from(source, 0), elements * bytes);
    return;
  case Op::Barrier:
    return;
  }
}
