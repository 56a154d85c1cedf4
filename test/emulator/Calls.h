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
  /// Returns when every lane of `lanes` that has not ended has called it:
  /// all[32][bytes] are the `bytes` at `mine` of each of them.
  void (*gather)(unsigned lanes, const void *mine, unsigned bytes, void *all);
  /// As cp.async of 16 bytes (zeros if `from` is null), of the running thread;
  /// copied at any time until waitForCopies asks for it.
  void (*copyLater)(void *to, const void *from);
  void (*commitCopies)();
  void (*waitForCopies)(int left);
  /// The block's dynamic shared memory.
  void *dynamicShared;
  /// Before every access to memory, where kernels are compiled to tell of
  /// them; false: it must not happen. Null: nobody listens.
  bool (*access)(const void *at, unsigned long bytes, bool writes);
  /// Ends the launch; does not return.
  void (*stop)();
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_CALLS_H
