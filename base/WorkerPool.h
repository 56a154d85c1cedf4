//===- WorkerPool.h - Threads that compute together -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A fixed set of threads for fork/join work. A fork is cheap when forks follow
/// each other closely: a worker that has nothing to do spins for a short while
/// before it sleeps. The calling thread is worker 0.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_WORKERPOOL_H
#define HOCKET_BASE_WORKERPOOL_H

#include "base/Status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace hocket {

class WorkerPool {
public:
  /// Starts `count` - 1 threads; `count` is at least 1.
  explicit WorkerPool(unsigned count);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  /// HOCKET_NUM_THREADS if set (1 to 1024, else InvalidArgument), otherwise
  /// the number of cores that this process may run on.
  static StatusOr<unsigned> defaultCount();

  /// Number of workers, the caller included.
  unsigned count() const { return workerCount; }

  /// Calls work(worker) once on every worker, worker in [0, count()), and
  /// returns when all are done. A call from inside such work, or while
  /// another thread uses the pool, is correct too: the first runs all workers'
  /// shares in turn on the calling thread, the second waits.
  template <typename Work> void onEachWorker(Work &&work) {
    forkWork(work, Wait::ForAll);
  }

  /// Calls work(worker) on the caller, and once on every other worker that
  /// comes before the caller has done its share; returns when all who came are
  /// done. For work that takes its parts from a common list: on a busy machine
  /// a thread may be given no core before the others have done everything.
  template <typename Work> void onFreeWorkers(Work &&work) {
    forkWork(work, Wait::ForThoseInside);
  }

  /// Calls body(begin, end, worker) for ranges that partition [0, tasks), each
  /// of at least `grain` tasks (except the last). Ranges go to whoever is
  /// free; which worker gets which differs from run to run.
  template <typename Body>
  void parallelFor(int64_t tasks, int64_t grain, Body &&body) {
    int64_t chunk = chunkSize(tasks, grain);
    if (tasks <= 0)
      return;
    if (chunk >= tasks || workerCount == 1) {
      body(int64_t(0), tasks, 0u);
      return;
    }
    std::atomic<int64_t> next{0};
    onFreeWorkers([&](unsigned worker) {
      int64_t begin;
      while ((begin = next.fetch_add(chunk, std::memory_order_relaxed)) < tasks)
        body(begin, begin + chunk < tasks ? begin + chunk : tasks, worker);
    });
  }

  /// Gives every worker at least `bytes` of scratch memory, zero at first,
  /// aligned to 4096. Not while work runs. ResourceExhausted if there is none.
  Status reserveScratch(size_t bytes);

  /// The scratch memory of `worker`: scratchBytes() bytes that no other
  /// worker uses. Its content may change between two forks.
  void *scratch(unsigned worker) const { return scratchMemory[worker].start; }
  size_t scratchBytes() const { return scratchSize; }

private:
  using Task = void (*)(void *context, unsigned worker);

  enum class Wait { ForAll, ForThoseInside };

  template <typename Work> void forkWork(Work &work, Wait wait) {
    fork([](void *context,
            unsigned worker) { (*static_cast<Work *>(context))(worker); },
         const_cast<void *>(static_cast<const void *>(&work)), wait);
  }
  void fork(Task task, void *context, Wait wait);
  void serve(unsigned worker);
  bool enter(uint32_t &seen);
  void leave();
  void awaitNobodyInside();
  int64_t chunkSize(int64_t tasks, int64_t grain) const;

  /// Anonymous memory that the kernel hands out when it is first written.
  struct Mapping {
    void *start = nullptr;
    size_t size = 0;
    Mapping() = default;
    Mapping(Mapping &&other) noexcept;
    Mapping &operator=(Mapping &&other) noexcept;
    ~Mapping();
  };

  const unsigned workerCount;
  std::mutex callers;
  /// Of the current fork; they stay while a worker is inside.
  Task currentTask = nullptr;
  void *currentContext = nullptr;
  Wait currentWait = Wait::ForAll;
  /// Counts forks; workers wait for it to change.
  alignas(64) std::atomic<uint32_t> generation{0};
  /// The number of the fork that was opened last, whether it is closed, and how
  /// many workers are inside it, from the highest bits to the lowest.
  alignas(64) std::atomic<uint64_t> gate{closed};
  static constexpr uint64_t closed = uint64_t(1) << 31;
  static constexpr uint64_t inside = closed - 1;
  /// Workers that have not finished the current fork, if it is for all.
  alignas(64) std::atomic<uint32_t> remaining{0};
  std::atomic<bool> stopping{false};
  std::vector<Mapping> scratchMemory;
  size_t scratchSize = 0;
  std::vector<std::thread> threads;
};

} // namespace hocket

#endif // HOCKET_BASE_WORKERPOOL_H
