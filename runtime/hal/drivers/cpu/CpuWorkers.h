//===- CpuWorkers.h - The worker pool as kernels see it ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUWORKERS_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUWORKERS_H

#include "base/WorkerPool.h"
#include "kernels/cpu/simd/Workers.h"

namespace hocket::hal {

/// Lends a WorkerPool and its scratch memory to kernels/cpu. Tasks go one by
/// one to whoever is free.
class CpuWorkers : public kernels::Workers {
public:
  /// `pool` outlives this object and has scratch memory reserved.
  CpuWorkers(WorkerPool &pool, kernels::Isa level) : pool(pool), level(level) {}

  int count() const override { return int(pool.count()); }

  void run(int64_t tasks, kernels::TaskRef fn) override {
    if (tasks <= 1 || pool.count() == 1) {
      for (int64_t task = 0; task < tasks; ++task)
        fn(task, 0);
      return;
    }
    alignas(64) std::atomic<int64_t> next{0};
    pool.onFreeWorkers([&](unsigned worker) {
      int64_t task;
      while ((task = next.fetch_add(1, std::memory_order_relaxed)) < tasks)
        fn(task, int(worker));
    });
  }

  std::span<std::byte> scratch(int worker) override {
    return {static_cast<std::byte *>(pool.scratch(unsigned(worker))),
            pool.scratchBytes()};
  }

  kernels::Isa isa() const override { return level; }

private:
  WorkerPool &pool;
  kernels::Isa level;
};

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUWORKERS_H
