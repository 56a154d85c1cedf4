//===- StreamQueues.cpp - Streams that communicate beside stream 0 --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/StreamQueues.h"

#include <algorithm>

using namespace hocket;

StreamQueues::StreamQueues(uint32_t events, hal::Device &device,
                           comm::RankActivity &activity, Runner runner)
    : device(device), activity(activity), runner(std::move(runner)),
      issued(events), completed(events), done(events), times(events) {
  uint32_t streams = device.streams();
  activity.setLanes(std::max(1u, streams));
  for (uint32_t stream = 1; stream < streams; ++stream)
    queues.push_back(std::make_unique<Queue>());
  for (uint32_t stream = 1; stream < streams; ++stream)
    queues[stream - 1]->thread = std::thread([this, stream] { serve(stream); });
}

StreamQueues::~StreamQueues() {
  stopping.store(true);
  for (auto &queue : queues) {
    {
      std::lock_guard lock(queue->mutex);
    }
    queue->changed.notify_all();
  }
  for (auto &queue : queues)
    queue->thread.join();
}

//===----------------------------------------------------------------------===//
// Issuing
//===----------------------------------------------------------------------===//

void StreamQueues::push(uint32_t stream, Work work) {
  Queue &queue = *queues[stream - 1];
  {
    std::lock_guard lock(queue.mutex);
    queue.work.push_back(std::move(work));
  }
  queue.changed.notify_all();
}

void StreamQueues::enqueue(uint32_t stream, PreparedCall &call,
                           InstructionPlace place, const RunContext &context) {
  Work work;
  work.call = &call;
  work.place = place;
  work.context.emplace(context);
  work.issued = device.time(0);
  push(stream, std::move(work));
}

void StreamQueues::record(uint32_t stream, uint32_t event) {
  uint64_t ticket = ++issued[event];
  if (stream == 0)
    return complete(0, event, ticket);
  Work work;
  work.kind = Work::Kind::Record;
  work.event = event;
  work.ticket = ticket;
  push(stream, std::move(work));
}

Status StreamQueues::wait(uint32_t stream, uint32_t event) {
  uint64_t ticket = issued[event];
  if (stream > 0) {
    Work work;
    work.kind = Work::Kind::Wait;
    work.event = event;
    work.ticket = ticket;
    push(stream, std::move(work));
    return okStatus();
  }
  awaitTicket(0, event, ticket);
  return failed() ? failure() : okStatus();
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

void StreamQueues::complete(uint32_t stream, uint32_t event, uint64_t ticket) {
  if (queues.empty())
    return;
  // First on the device, so that whoever hears of it can wait there.
  if (Status status = device.record(stream, event); !status.ok())
    return fail(status);
  {
    std::lock_guard lock(mutex);
    done[event] = std::max(done[event], ticket);
    if (device.playsTime())
      times[event][ticket] = device.time(stream);
  }
  completed[event].notify_all();
}

void StreamQueues::awaitTicket(uint32_t stream, uint32_t event,
                               uint64_t ticket) {
  if (queues.empty())
    return;
  std::unique_lock lock(mutex);
  if (done[event] < ticket) {
    activity.idle(stream);
    completed[event].wait(lock,
                          [&] { return done[event] >= ticket || failed(); });
  }
  // A record of an earlier run of the entry is long over.
  if (auto time = times[event].find(ticket); time != times[event].end())
    device.reachTime(stream, time->second);
  lock.unlock();
  if (Status status = device.wait(stream, event); !status.ok())
    fail(status);
}

//===----------------------------------------------------------------------===//
// Serving
//===----------------------------------------------------------------------===//

void StreamQueues::run(uint32_t stream, const Work &work) {
  switch (work.kind) {
  case Work::Kind::Record:
    return complete(stream, work.event, work.ticket);
  case Work::Kind::Wait:
    return awaitTicket(stream, work.event, work.ticket);
  case Work::Kind::Call:
    activity.run(stream, work.place.position());
    device.reachTime(stream, work.issued);
    if (Status status = runner(*work.call, work.place, *work.context);
        !status.ok())
      fail(status);
    return;
  }
}

void StreamQueues::serve(uint32_t stream) {
  Queue &queue = *queues[stream - 1];
  std::unique_lock lock(queue.mutex);
  while (true) {
    if (queue.work.empty()) {
      activity.idle(stream);
      queue.changed.wait(
          lock, [&] { return !queue.work.empty() || stopping.load(); });
    }
    if (queue.work.empty())
      return;
    Work work = std::move(queue.work.front());
    queue.work.pop_front();
    queue.busy = true;
    lock.unlock();
    if (!failed())
      run(stream, work);
    lock.lock();
    queue.busy = false;
    if (queue.work.empty())
      queue.changed.notify_all();
  }
}

Status StreamQueues::drain() {
  for (auto &queue : queues) {
    std::unique_lock lock(queue->mutex);
    if (queue->work.empty() && !queue->busy)
      continue;
    activity.idle(0);
    queue->changed.wait(lock,
                        [&] { return queue->work.empty() && !queue->busy; });
  }
  device.joinTimes();
  for (auto &event : times)
    event.clear();
  return failed() ? failure() : okStatus();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void StreamQueues::fail(const Status &status) {
  {
    std::lock_guard lock(mutex);
    if (!failed())
      first = status;
    hasFailed.store(true, std::memory_order_release);
  }
  for (std::condition_variable &each : completed)
    each.notify_all();
}

Status StreamQueues::failure() const {
  std::lock_guard lock(mutex);
  return first;
}
