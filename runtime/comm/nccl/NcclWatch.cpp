//===- NcclWatch.cpp - Does what was issued end? --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclWatch.h"

#include "base/Format.h"
#include "runtime/comm/interfaces/FailureText.h"

#include <algorithm>
#include <atomic>

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
  for (const Capture &capture : captures)
    state.driver.cuMemFreeHost(capture.bytes.data());
  if (one)
    state.driver.cuMemFree(one);
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

StatusOr<NcclWatch::Mark> NcclWatch::mark(CUstream stream) {
  Mark mark;
  if (!capturing) {
    HOCKET_ASSIGN_OR_RETURN(mark.event, takeEvent());
    HOCKET_CUDA_CALL(state.driver, cuEventRecord, mark.event, stream);
    return mark;
  }
  Capture &capture = captures.back();
  if (capture.used == capture.bytes.size())
    return internalError("there is no room for a message that is captured");
  mark.byte = &capture.bytes[capture.used++];
  HOCKET_CUDA_CALL(state.driver, cuMemcpyDtoHAsync, mark.byte, one, 1, stream);
  return mark;
}

Status NcclWatch::begin(CUstream stream) {
  std::lock_guard lock(mutex);
  HOCKET_ASSIGN_OR_RETURN(next, mark(stream));
  return okStatus();
}

Status NcclWatch::end(CUstream stream, const Operation &operation) {
  std::lock_guard lock(mutex);
  HOCKET_ASSIGN_OR_RETURN(Mark ended, mark(stream));
  Issued last{next,
              ended,
              ++lastNumber,
              operation,
              state.host.activity().position(0),
              std::nullopt};
  if (capturing)
    captures.back().issued[stream].push_back(last);
  else
    issued[stream].push_back(last);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// CUDA graphs
//===----------------------------------------------------------------------===//

Status NcclWatch::makeOne() {
  if (one)
    return okStatus();
  constexpr size_t bytes = 256;
  HOCKET_CUDA_CALL(state.driver, cuMemAlloc, &one, bytes);
  HOCKET_CUDA_CALL(state.driver, cuMemsetD8Async, one, 1, bytes, nullptr);
  HOCKET_CUDA_CALL(state.driver, cuStreamSynchronize, nullptr);
  return okStatus();
}

StatusOr<unsigned> NcclWatch::beginCapture(size_t operations) {
  std::lock_guard lock(mutex);
  HOCKET_RETURN_IF_ERROR(makeOne());
  void *memory = nullptr;
  size_t bytes = 2 * operations;
  HOCKET_CUDA_CALL(state.driver, cuMemAllocHost, &memory,
                   std::max<size_t>(bytes, 1));
  captures.push_back({{static_cast<uint8_t *>(memory), bytes}, 0, {}});
  capturing = true;
  return unsigned(captures.size() - 1);
}

void NcclWatch::endCapture() {
  std::lock_guard lock(mutex);
  capturing = false;
}

void NcclWatch::replaying(unsigned capture) {
  std::lock_guard lock(mutex);
  retire(); // Those of the last replay, too, whose bytes are used again.
  Capture &again = captures[capture];
  std::ranges::fill(again.bytes, 0);
  for (const auto &[stream, operations] : again.issued)
    for (const Issued &operation : operations) {
      issued[stream].push_back(operation);
      issued[stream].back().number = ++lastNumber;
    }
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
bool NcclWatch::isDone(const Mark &mark) const {
  if (mark.byte)
    return std::atomic_ref(*mark.byte).load(std::memory_order_acquire) != 0;
  return state.driver.cuEventQuery(mark.event) != CUDA_ERROR_NOT_READY;
}

void NcclWatch::retire() {
  for (auto &[stream, queue] : issued)
    while (!queue.empty() && isDone(queue.front().ended)) {
      Issued &first = queue.front();
      if (noted == first.number) {
        state.host.activity().endDeviceWait();
        noted = 0;
      }
      for (const Mark &mark : {first.begun, first.ended})
        if (mark.event)
          spare.push_back(mark.event);
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
    if (found && noted != found->number) {
      std::vector<unsigned> others;
      for (unsigned rank : waiting.members->ranks)
        if (rank != waiting.members->ranks[waiting.members->place])
          others.push_back(rank);
      activity.beginDeviceWait(found->position, waiting.text(), others);
      noted = found->number;
    }
  }
  HOCKET_RETURN_IF_ERROR(state.checkErrors());
  Status status = state.host.check();
  if (status.ok() || !waiting.members)
    return status;
  std::string doing = activity.report().doing;
  return waitError(status.message(), (doing.empty() ? "" : doing + ": ") +
                                         waiting.text() + " does not end");
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
