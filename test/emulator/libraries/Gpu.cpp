//===- Gpu.cpp - An emulated GPU ------------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/libraries/Gpu.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

using namespace hocket::emulator;

namespace {
/// All GPUs of the process.
struct Machine {
  std::mutex mutex;
  std::set<Gpu *> gpus;
} machine;
} // namespace

Gpu::Gpu(size_t memoryBytes, uint64_t seed)
    : memory(memoryBytes), random(seed) {
  std::lock_guard lock(machine.mutex);
  machine.gpus.insert(this);
}

Gpu::~Gpu() {
  std::lock_guard lock(machine.mutex);
  machine.gpus.erase(this);
}

void Gpu::enqueue(Stream &stream, Work work) {
  stream.entries.push_back({std::move(work), nullptr});
}

void Gpu::record(Stream &stream, std::shared_ptr<Event> event) {
  uint64_t ticket = ++event->recorded;
  stream.entries.push_back({nullptr, std::move(event), true, ticket});
}

/// For the last record so far; never recorded: not at all.
void Gpu::wait(Stream &stream, std::shared_ptr<Event> event) {
  uint64_t ticket = event->recorded;
  stream.entries.push_back({nullptr, std::move(event), false, ticket});
}

void Gpu::meet(Stream &stream, std::shared_ptr<Meeting> meeting) {
  stream.entries.push_back({nullptr, nullptr});
  stream.entries.back().meeting = std::move(meeting);
}

bool Gpu::isInMeeting(const Stream &stream) const {
  return !stream.entries.empty() && stream.entries.front().arrived &&
         !stream.entries.front().meeting->isOver();
}

bool Gpu::canAdvance(const Stream &stream) const {
  if (stream.entries.empty())
    return false;
  const Stream::Entry &next = stream.entries.front();
  if (next.meeting)
    return !isInMeeting(stream);
  return next.work || next.records || next.event->reached >= next.ticket;
}

void Gpu::advance(Stream &stream) {
  Stream::Entry &front = stream.entries.front();
  if (front.meeting && !front.arrived) {
    front.arrived = true;
    if (std::string error = front.meeting->arrive(); !error.empty())
      fail(error);
    return;
  }
  Stream::Entry entry = std::move(stream.entries.front());
  stream.entries.pop_front();
  if (entry.records)
    entry.event->reached = std::max(entry.event->reached, entry.ticket);
  // After an error nothing is done any more, but everything comes to its end.
  if (!entry.work || !failure.empty())
    return;
  if (std::string error = entry.work(); !error.empty())
    fail(error);
}

/// The stream that must advance so that `target` can, perhaps itself.
Stream *Gpu::neededBy(const Stream &target, size_t depth) {
  if (canAdvance(target))
    return const_cast<Stream *>(&target);
  if (target.entries.empty() || depth > streams.size())
    return nullptr;
  const Event *awaited = target.entries.front().event.get();
  if (!awaited)
    return nullptr;
  for (const auto &stream : streams)
    for (const Stream::Entry &entry : stream->entries)
      if (entry.records && entry.event.get() == awaited)
        return neededBy(*stream, depth + 1);
  return nullptr;
}

Stream *Gpu::choose(const Stream *target) {
  std::vector<Stream *> able;
  for (const auto &stream : streams)
    if (canAdvance(*stream))
      able.push_back(stream.get());
  if (able.empty())
    return nullptr;
  if (target && order == Order::Late)
    if (Stream *needed = neededBy(*target, 0))
      return needed;
  if (target && order == Order::Early)
    std::erase_if(able, [&](Stream *stream) {
      return stream == target && able.size() > 1;
    });
  return able[random() % able.size()];
}

/// Whether any other GPU has done something meanwhile.
bool Gpu::letOthersAdvance() {
  bool advanced = false;
  mutex.unlock();
  {
    std::lock_guard lock(machine.mutex);
    for (Gpu *other : machine.gpus)
      if (other != this && other->mutex.try_lock()) {
        if (Stream *next = other->choose(nullptr)) {
          other->advance(*next);
          advanced = true;
        }
        other->mutex.unlock();
      }
  }
  if (!advanced)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  mutex.lock();
  return advanced;
}

void Gpu::advanceUntil(const Done &done, const Stream *target) {
  order = static_cast<Order>(random() % 3);
  while (!done()) {
    bool late = order == Order::Late && target && isInMeeting(*target);
    if (late && letOthersAdvance())
      continue;
    // Asked before: another GPU may end a meeting at any time.
    bool meets = std::ranges::any_of(
        streams, [&](const auto &stream) { return isInMeeting(*stream); });
    if (Stream *next = choose(target))
      advance(*next);
    else if (meets)
      letOthersAdvance();
    else if (!done())
      return fail("streams wait for events that nobody will record");
  }
}

void Gpu::finish(Stream &stream) {
  advanceUntil([&] { return stream.entries.empty(); }, &stream);
}

void Gpu::finish(const Event &event) {
  const Stream *target = nullptr;
  for (const auto &stream : streams)
    for (const Stream::Entry &entry : stream->entries)
      if (entry.records && entry.event.get() == &event)
        target = stream.get();
  advanceUntil([&] { return event.reached >= event.recorded; }, target);
}

void Gpu::finish() {
  auto empty = [](const auto &stream) { return stream->entries.empty(); };
  advanceUntil([&] { return std::ranges::all_of(streams, empty); }, nullptr);
}
