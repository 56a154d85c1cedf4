//===- WorkerPool.cpp - Threads that compute together ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/WorkerPool.h"

#include "base/Format.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sched.h>
#include <sys/mman.h>

using namespace hocket;

/// How long a thread polls before it sleeps. A training step forks every few
/// tens of microseconds; waking a sleeper costs about as much.
static constexpr auto spinTime = std::chrono::microseconds(60);

/// The pool whose work this thread runs now, if any.
static thread_local const WorkerPool *activePool = nullptr;

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Waits until `value` is no longer `old`: polls first, then sleeps.
static void awaitChange(std::atomic<uint32_t> &value, uint32_t old) {
  auto deadline = std::chrono::steady_clock::now() + spinTime;
  for (unsigned polls = 0;; ++polls) {
    if (value.load(std::memory_order_acquire) != old)
      return;
    relax();
    if (polls % 64 == 63 && std::chrono::steady_clock::now() > deadline)
      break;
  }
  while (value.load(std::memory_order_acquire) == old)
    value.wait(old, std::memory_order_acquire);
}

StatusOr<unsigned> WorkerPool::defaultCount() {
  if (const char *text = std::getenv("HOCKET_NUM_THREADS")) {
    char *end = nullptr;
    long count = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || count < 1 || count > 1024)
      return invalidArgument(
          formatText("HOCKET_NUM_THREADS is '%s', expected a number from 1 to "
                     "1024",
                     text));
    return unsigned(count);
  }
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
    return unsigned(std::max(1, CPU_COUNT(&mask)));
  return std::max(1u, std::thread::hardware_concurrency());
}

WorkerPool::WorkerPool(unsigned count)
    : workerCount(std::max(1u, count)), scratchMemory(workerCount) {
  for (unsigned worker = 1; worker < workerCount; ++worker)
    threads.emplace_back([this, worker] { serve(worker); });
}

WorkerPool::~WorkerPool() {
  stopping.store(true, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

/// Enters the open fork, unless it is closed or was entered before. `seen` is
/// then the number of that fork.
bool WorkerPool::enter(uint32_t &seen) {
  uint64_t at = gate.load(std::memory_order_acquire);
  while (!(at & closed) && uint32_t(at >> 32) != seen)
    if (gate.compare_exchange_weak(at, at + 1, std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
      seen = uint32_t(at >> 32);
      return true;
    }
  seen = uint32_t(at >> 32);
  return false;
}

void WorkerPool::leave() {
  // Read before the caller may go on.
  bool isForAll = currentWait == Wait::ForAll;
  if (isForAll && remaining.fetch_sub(1, std::memory_order_acq_rel) == 1)
    remaining.notify_all();
  uint64_t left = gate.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if ((left & closed) && !(left & inside))
    gate.notify_all();
}

void WorkerPool::serve(unsigned worker) {
  activePool = this;
  uint32_t seen = 0;
  while (true) {
    awaitChange(generation, seen);
    if (stopping.load(std::memory_order_relaxed))
      return;
    if (!enter(seen))
      continue; // It was done before this thread was given a core.
    currentTask(currentContext, worker);
    leave();
  }
}

/// The gate is closed.
void WorkerPool::awaitNobodyInside() {
  auto deadline = std::chrono::steady_clock::now() + spinTime;
  for (unsigned polls = 0;; ++polls) {
    uint64_t at = gate.load(std::memory_order_acquire);
    if (!(at & inside))
      return;
    relax();
    if (polls % 64 == 63 && std::chrono::steady_clock::now() > deadline)
      gate.wait(at, std::memory_order_acquire);
  }
}

void WorkerPool::fork(Task task, void *context, Wait wait) {
  if (activePool == this || workerCount == 1) {
    for (unsigned worker = 0; worker < workerCount; ++worker)
      task(context, worker);
    return;
  }
  std::lock_guard<std::mutex> lock(callers);
  const WorkerPool *outer = std::exchange(activePool, this);
  currentTask = task;
  currentContext = context;
  currentWait = wait;
  if (wait == Wait::ForAll)
    remaining.store(workerCount - 1, std::memory_order_relaxed);
  // Open before workers are woken: who finds it closed would not come again.
  uint32_t number = generation.load(std::memory_order_relaxed) + 1;
  gate.store(uint64_t(number) << 32, std::memory_order_release);
  generation.store(number, std::memory_order_release);
  generation.notify_all();
  task(context, 0);
  if (wait == Wait::ForAll)
    for (uint32_t left;
         (left = remaining.load(std::memory_order_acquire)) != 0;)
      awaitChange(remaining, left);
  if (gate.fetch_or(closed, std::memory_order_acq_rel) & inside)
    awaitNobodyInside();
  activePool = outer;
}

int64_t WorkerPool::chunkSize(int64_t tasks, int64_t grain) const {
  // Four ranges a worker even out what the machine's other users take.
  int64_t ranges = int64_t(workerCount) * 4;
  int64_t even = tasks / ranges + (tasks % ranges != 0);
  return std::max({int64_t(1), grain, even});
}

Status WorkerPool::reserveScratch(size_t bytes) {
  if (bytes <= scratchSize)
    return okStatus();
  for (Mapping &mapping : scratchMemory) {
    Mapping fresh;
    void *start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
      return resourceExhausted("cannot allocate " + formatBytes(bytes) +
                               " of scratch memory for each worker");
    fresh.start = start;
    fresh.size = bytes;
    mapping = std::move(fresh);
  }
  scratchSize = bytes;
  return okStatus();
}

WorkerPool::Mapping::Mapping(Mapping &&other) noexcept
    : start(std::exchange(other.start, nullptr)),
      size(std::exchange(other.size, 0)) {}

WorkerPool::Mapping &WorkerPool::Mapping::operator=(Mapping &&other) noexcept {
  std::swap(start, other.start);
  std::swap(size, other.size);
  return *this;
}

WorkerPool::Mapping::~Mapping() {
  if (start)
    ::munmap(start, size);
}
