//===- Calls.h - What emulated kernels ask of the emulator ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table between a compiled kernel and the emulator that runs it. Stands
/// alone, as both sides include it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_CALLS_H
#define HOCKET_TEST_EMULATOR_CALLS_H

namespace hocket::emulator {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// Where the running thread is.
struct ThreadPlace {
  Index thread, block, blockSize, gridSize;
};

struct Calls {
  const ThreadPlace *thread;
  /// Returns when every thread of the block that has not ended has called it.
  void (*syncBlock)();
  /// Returns when every lane of `lanes` that has not ended has called it. The
  /// result is all[32][bytes], the `bytes` at `mine` of each of them and zeros
  /// for others; it is there until the thread calls anything here again.
  const void *(*gather)(unsigned lanes, const void *mine, unsigned bytes);
  /// As cp.async of 16 bytes (zeros if `from` is null), of the running thread;
  /// copied at any time until waitForCopies asks for it.
  void (*copyLater)(void *to, const void *from);
  void (*commitCopies)();
  void (*waitForCopies)(int left);
  /// Lets other warps go first, or not.
  void (*hesitate)();
  // Barriers in shared memory, as TensorCopies.cuh has them.
  void (*beginBarrier)(void *barrier, unsigned arrivals);
  void (*fenceBarrierInit)();
  void (*arrive)(void *barrier, unsigned bytes);
  void (*awaitPhase)(void *barrier, unsigned parity);
  // Named barriers.
  void (*namedBarrierSync)(unsigned barrier, unsigned threads);
  void (*namedBarrierArrive)(unsigned barrier, unsigned threads);
  /// As cp.async.bulk.tensor of the box at `at` of the TensorMap `map`; until
  /// its bytes have come, those at `to` are garbage.
  void (*copyBox)(void *to, const void *map, const int *at, int rank,
                  void *barrier);
  void (*setRegisters)(unsigned count, bool raises);
  /// As fence.proxy.async: what is in dynamic shared memory, MMAs see.
  void (*fenceProxyAsync)();
  /// The block's dynamic shared memory, and what MMAs see of it: what was
  /// copied there by TMA, or shown to them.
  void *dynamicShared;
  const void *dynamicSeen;
  unsigned long dynamicBytes;
  /// Before every access to memory, where kernels are compiled to tell of
  /// them; false: it must not happen. Null: nobody listens.
  bool (*access)(const void *at, unsigned long bytes, bool writes);
  /// End the launch, and say what the running thread did; do not return.
  void (*stop)();
  void (*fail)(const char *what);
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_CALLS_H
