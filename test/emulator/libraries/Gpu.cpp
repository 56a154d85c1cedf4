//===- Gpu.cpp - An emulated GPU ------------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/libraries/Gpu.h"

#include <algorithm>

using namespace hocket::emulator;

void Gpu::enqueue(Stream &stream, Work work) {
  stream.entries.push_back({std::move(work), nullptr, false, 0});
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

bool Gpu::canAdvance(const Stream &stream) const {
  if (stream.entries.empty())
    return false;
  const Stream::Entry &next = stream.entries.front();
  return next.work || next.records || next.event->reached >= next.ticket;
}

void Gpu::advance(Stream &stream) {
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

void Gpu::advanceUntil(const Done &done, const Stream *target) {
  order = static_cast<Order>(random() % 3);
  while (!done()) {
    Stream *next = choose(target);
    if (!next)
      return fail("streams wait for events that nobody will record");
    advance(*next);
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
