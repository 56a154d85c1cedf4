//===- NcclWatch.cpp - Does what was issued end? --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclWatch.h"

#include "runtime/base/Format.h"

using namespace hocket;
using namespace hocket::comm;
using namespace hocket::comm::nccl;
using namespace hocket::hal::cuda;
using namespace std::chrono_literals;

std::string Operation::text() const {
  std::string what =
      messages > 0 ? formatText("%zu messages", messages) : callText(call);
  return what + " in " + groupText(members->group, members->ranks);
}

NcclWatch::NcclWatch(NcclState &state)
    : state(state), thread([this] { run(); }) {}

NcclWatch::~NcclWatch() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
  if (noted)
    state.host.activity().endDeviceWait();
  (void)state.use();
  for (CUevent event : all)
    state.driver.cuEventDestroy(event);
}

//===----------------------------------------------------------------------===//
// Issuing
//===----------------------------------------------------------------------===//

StatusOr<CUevent> NcclWatch::takeEvent() {
  if (spare.empty()) {
    CUevent event = nullptr;
    HOCKET_CUDA_CALL(state.driver, cuEventCreate, &event,
                     CU_EVENT_DISABLE_TIMING);
    all.push_back(event);
    spare.push_back(event);
  }
  CUevent event = spare.back();
  spare.pop_back();
  return event;
}

Status NcclWatch::begin(CUstream stream) {
  std::lock_guard lock(mutex);
  HOCKET_ASSIGN_OR_RETURN(next, takeEvent());
  HOCKET_CUDA_CALL(state.driver, cuEventRecord, next, stream);
  return okStatus();
}

Status NcclWatch::end(CUstream stream, const Operation &operation) {
  std::lock_guard lock(mutex);
  HOCKET_ASSIGN_OR_RETURN(CUevent ended, takeEvent());
  HOCKET_CUDA_CALL(state.driver, cuEventRecord, ended, stream);
  RankActivity &activity = state.host.activity();
  issued[stream].push_back(
      {next, ended, operation, activity.position(0), std::nullopt});
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Watching
//===----------------------------------------------------------------------===//

void NcclWatch::run() {
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, 50ms, [&] { return stopping; })) {
    lock.unlock();
    step();
    lock.lock();
  }
}

/// An error is told by whoever asks for what failed.
bool NcclWatch::isDone(CUevent event) const {
  return state.driver.cuEventQuery(event) != CUDA_ERROR_NOT_READY;
}

void NcclWatch::retire() {
  for (auto &[stream, queue] : issued)
    while (!queue.empty() && isDone(queue.front().ended)) {
      Issued &first = queue.front();
      if (noted == first.ended) {
        state.host.activity().endDeviceWait();
        noted = nullptr;
      }
      spare.push_back(first.begun);
      spare.push_back(first.ended);
      queue.pop_front();
    }
}

/// The operation that has been seen to wait for longest, if that is long.
NcclWatch::Issued *NcclWatch::oldest() {
  Clock::time_point now = Clock::now();
  Issued *found = nullptr;
  for (auto &[stream, queue] : issued) {
    if (queue.empty() || !isDone(queue.front().begun))
      continue;
    Issued &first = queue.front();
    if (!first.seen)
      first.seen = now;
    if (now - *first.seen > 100ms && (!found || first.seen < found->seen))
      found = &first;
  }
  return found;
}

/// Tells what the GPU waits for; the error of the world, if it has failed.
Status NcclWatch::look() {
  RankActivity &activity = state.host.activity();
  Operation waiting;
  {
    std::lock_guard lock(mutex);
    retire();
    Issued *found = oldest();
    if (found)
      waiting = found->operation;
    if (found && noted != found->ended) {
      std::vector<unsigned> others;
      for (unsigned rank : waiting.members->ranks)
        if (rank != waiting.members->ranks[waiting.members->place])
          others.push_back(rank);
      activity.beginDeviceWait(found->position, waiting.text(), others);
      noted = found->ended;
    }
  }
  HOCKET_RETURN_IF_ERROR(state.checkErrors());
  Status status = state.host.check();
  if (status.ok() || !waiting.members)
    return status;
  std::string doing = activity.report().doing;
  return unavailable((doing.empty() ? "" : doing + ": ") + waiting.text() +
                     " does not end: " + status.message());
}

void NcclWatch::step() {
  if (!state.enter().ok())
    return;
  Status status = look();
  if (status.ok())
    return;
  state.fail(status);
  state.host.fail(status);
}
