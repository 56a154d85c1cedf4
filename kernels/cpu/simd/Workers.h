//===- Workers.h - Threads and scratch, lent by the caller ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels own no threads and allocate nothing: the caller lends both through
/// a Workers. A kernel cuts its work into tasks whose results do not depend on
/// who runs them or when, so that any number of workers gives the same bits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_WORKERS_H
#define HOCKET_KERNELS_CPU_SIMD_WORKERS_H

#include "kernels/cpu/simd/Isa.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace hocket::kernels {

/// What Workers::scratch must offer, per worker, 64-byte aligned. Every kernel
/// makes do with it whatever the shapes.
inline constexpr size_t kScratchBytesPerWorker = size_t(4) << 20;

/// A reference to a callable `void(int64_t task, int worker)`; two pointers,
/// no allocation. The callable must outlive the call it is passed to.
class TaskRef {
public:
  template <typename Callable>
    requires(!std::is_same_v<std::remove_const_t<Callable>, TaskRef>)
  TaskRef(Callable &callable)
      : context(const_cast<void *>(
            static_cast<const void *>(std::addressof(callable)))),
        call([](void *context, int64_t task, int worker) {
          (*static_cast<Callable *>(context))(task, worker);
        }) {}

  void operator()(int64_t task, int worker) const {
    call(context, task, worker);
  }

private:
  void *context;
  void (*call)(void *, int64_t, int);
};

/// Several threads that run the tasks of one kernel at a time.
class Workers {
public:
  virtual ~Workers() = default;

  /// How many; at least 1.
  virtual int count() const = 0;

  /// Runs fn(task, worker) once for each task in [0, tasks), in any order,
  /// and returns when all are done (what they wrote is then visible to the
  /// caller). `worker` is in [0, count()), and no two calls run at once with
  /// the same one. Kernels never nest it.
  virtual void run(int64_t tasks, TaskRef fn) = 0;

  /// kScratchBytesPerWorker bytes at least, 64-byte aligned, for `worker`
  /// while it runs a task, unless the tasks of a kernel share them out among
  /// themselves. What a run wrote stays for the runs of the same kernel that
  /// follow, whichever worker reads it.
  virtual std::span<std::byte> scratch(int worker) = 0;

  /// The instruction set to use; one that cpuSupports().
  virtual Isa isa() const { return bestIsa(); }
};

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_SIMD_WORKERS_H
