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
#include <utility>

using namespace hocket::emulator;

namespace {
/// All GPUs of the process.
struct Machine {
  std::mutex mutex;
  std::set<Gpu *> gpus;
} machine;

/// For how long nothing must happen elsewhere before a GPU stops waiting for
/// it: if somebody else might do something, as no GPU but this one waits, or
/// not.
constexpr std::chrono::milliseconds patience(40), littlePatience(3);
} // namespace

Gpu::Gpu(size_t memoryBytes, uint64_t seed, unsigned multiprocessors)
    : memory(memoryBytes), random(seed), multiprocessors(multiprocessors) {
  std::lock_guard lock(machine.mutex);
  machine.gpus.insert(this);
}

Gpu::~Gpu() {
  std::lock_guard lock(machine.mutex);
  machine.gpus.erase(this);
}

void Gpu::enqueue(Stream &stream, Work work) {
  ++deeds;
  if (stream.capture) {
    stream.capture->nodes.push_back({stream.branch, std::move(work)});
    return;
  }
  stream.entries.push_back({std::move(work), nullptr});
}

void Gpu::record(Stream &stream, std::shared_ptr<Event> event) {
  ++deeds;
  event->capture = stream.capture ? stream.capture->id : 0;
  if (stream.capture) {
    event->node = stream.capture->nodes.size();
    stream.capture->nodes.push_back({stream.branch});
    return;
  }
  uint64_t ticket = ++event->recorded;
  stream.entries.push_back({nullptr, std::move(event), true, ticket});
}

/// For the last record so far; never recorded: not at all.
bool Gpu::wait(Stream &stream, std::shared_ptr<Event> event) {
  if (Graph *graph = captureOf(*event)) {
    if (!stream.capture) {
      stream.capture = graph;
      stream.branch = graph->branches++;
    }
    stream.capture->nodes.push_back({stream.branch, nullptr, event->node});
    return true;
  }
  if (stream.capture || event->capture != 0)
    return false;
  uint64_t ticket = event->recorded;
  stream.entries.push_back({nullptr, std::move(event), false, ticket});
  return true;
}

void Gpu::meet(Stream &stream, std::shared_ptr<Meeting> meeting) {
  ++deeds;
  if (stream.capture) {
    meeting->capture();
    stream.capture->nodes.push_back({stream.branch});
    stream.capture->nodes.back().meeting = std::move(meeting);
    return;
  }
  meeting->issue();
  stream.entries.push_back({nullptr, nullptr});
  stream.entries.back().meeting = std::move(meeting);
}

void Gpu::beginCapture(Stream &stream, Graph &graph) {
  static std::atomic<uint64_t> last = 0;
  graph.id = ++last;
  stream.capture = &graph;
  stream.branch = 0;
}

void Gpu::endCapture(Graph &graph) {
  for (const auto &stream : streams)
    if (stream->capture == &graph)
      stream->capture = nullptr;
}

Graph *Gpu::captureOf(const Event &event) const {
  for (const auto &stream : streams)
    if (stream->capture && stream->capture->id == event.capture)
      return stream->capture;
  return nullptr;
}

void Gpu::launch(Graph &graph, Stream &stream) {
  while (graph.streams.size() + 1 < graph.branches) {
    streams.push_back(std::make_unique<Stream>());
    graph.streams.push_back(streams.back().get());
  }
  auto streamOf = [&](size_t branch) -> Stream & {
    return branch == 0 ? stream : *graph.streams[branch - 1];
  };
  uint64_t number = graph.launches++;
  // Of this launch alone. A branch begins by waiting for another.
  std::vector<std::shared_ptr<Event>> events(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Graph::Node &node = graph.nodes[i];
    if (node.work)
      enqueue(streamOf(node.branch), node.work);
    else if (node.meeting)
      meet(streamOf(node.branch), node.meeting->again(number));
    else if (node.awaits == Graph::none)
      record(streamOf(node.branch), events[i] = std::make_shared<Event>());
    else
      wait(streamOf(node.branch), events[node.awaits]);
  }
}

bool Gpu::isInMeeting(const Stream &stream) const {
  return !stream.entries.empty() && stream.entries.front().arrived &&
         !stream.entries.front().meeting->isOver();
}

/// What has been aborted comes to its end anyhow.
bool Gpu::canBegin(Meeting &meeting) const {
  unsigned taken = meeting.blocks();
  for (const auto &stream : streams)
    if (isInMeeting(*stream))
      taken += stream->entries.front().meeting->blocks();
  return meeting.isOver() || (taken <= multiprocessors && meeting.mayBegin());
}

bool Gpu::canAdvance(const Stream &stream) const {
  if (stream.entries.empty())
    return false;
  const Stream::Entry &next = stream.entries.front();
  if (next.meeting)
    return next.arrived ? next.meeting->isOver() : canBegin(*next.meeting);
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
  if (entry.records) {
    entry.event->reached = std::max(entry.event->reached, entry.ticket);
    entry.event->micros = micros;
  }
  // After an error nothing is done any more, but everything comes to its end.
  if (!entry.work || !failure.empty())
    return;
  if (std::string error = entry.work(); !error.empty())
    fail(error);
}

/// The stream that must advance so that `target` can, perhaps itself, though it
/// may be in a meeting.
Stream *Gpu::neededBy(const Stream &target, size_t depth) {
  if (canAdvance(target) || isInMeeting(target))
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

/// The stream that the order would have advance next, or null; it may be in a
/// meeting.
Stream *Gpu::wanted(const Stream *target) {
  if (!target || order == Order::Any)
    return nullptr;
  if (order == Order::Late)
    return neededBy(*target, 0);
  std::vector<Stream *> able, meeting;
  for (const auto &stream : streams)
    if (stream.get() != target) {
      if (canAdvance(*stream))
        able.push_back(stream.get());
      else if (order == Order::Early && isInMeeting(*stream) &&
               stream->entries.front().meeting != givenUp)
        meeting.push_back(stream.get());
    }
  std::vector<Stream *> &choice = able.empty() ? meeting : able;
  return choice.empty() ? nullptr : choice[random() % choice.size()];
}

/// A stream that can go on, the wanted one if it can; null: none can.
Stream *Gpu::choose(const Stream *target) {
  if (Stream *next = wanted(target); next && canAdvance(*next))
    return next;
  std::vector<Stream *> able;
  for (const auto &stream : streams)
    if (canAdvance(*stream))
      able.push_back(stream.get());
  return able.empty() ? nullptr : able[random() % able.size()];
}

/// What the others were told or did so far, and whether all of them wait.
std::pair<uint64_t, bool> Gpu::lookAtOthers() const {
  std::lock_guard lock(machine.mutex);
  uint64_t sum = 0;
  bool allWait = true;
  for (const Gpu *other : machine.gpus)
    if (other != this) {
      sum += other->deeds.load();
      allWait &= other->waits.load();
    }
  return {sum, allWait};
}

/// Whether other GPUs do anything while this one is patient. Once they have not
/// it is so again when they have.
bool Gpu::othersGoOn() {
  uint64_t before = lookAtOthers().first;
  if (before == deedsOfOthers)
    return false;
  waits.store(true);
  mutex.unlock();
  auto begin = std::chrono::steady_clock::now();
  bool goOn = false, isPatient = true;
  while (!goOn && isPatient) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    auto [now, allWait] = lookAtOthers();
    goOn = now != before;
    isPatient = std::chrono::steady_clock::now() - begin <
                (allWait ? littlePatience : patience);
  }
  mutex.lock();
  waits.store(false);
  if (!goOn)
    deedsOfOthers = before;
  return goOn;
}

/// Whether nothing should happen but on other GPUs.
bool Gpu::holdsBack(const Stream *target) {
  Stream *next = wanted(target);
  if (!next || !isInMeeting(*next))
    return false;
  std::shared_ptr<Meeting> meeting = next->entries.front().meeting;
  if (meeting == givenUp)
    return false;
  if (othersGoOn())
    return true;
  givenUp = meeting;
  return false;
}

void Gpu::letOthersAdvance() {
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
}

void Gpu::advanceUntil(const Done &done, const Stream *target) {
  constexpr Order orders[] = {Order::Any,   Order::Late,  Order::Late,
                              Order::Early, Order::Early, Order::Amid};
  if (random() % 2) // Else as before: what one began another may go on with.
    order = orders[random() % std::size(orders)];
  while (!done()) {
    if (holdsBack(target))
      continue;
    // Asked before: another GPU may end a meeting at any time.
    bool meets = std::ranges::any_of(
        streams, [&](const auto &stream) { return isInMeeting(*stream); });
    if (Stream *next = choose(target)) {
      ++deeds;
      advance(*next);
    } else if (meets) {
      if (!othersGoOn())
        letOthersAdvance();
    } else if (!done())
      return fail("streams wait for events that nobody will record");
  }
}

void Gpu::goOn() {
  if (Stream *next = choose(nullptr)) {
    ++deeds;
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
