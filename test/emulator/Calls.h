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
  /// the `bits` that lane `from` gave.
  unsigned (*exchange)(unsigned lanes, unsigned bits, int from);
  /// The block's dynamic shared memory.
  void *dynamicShared;
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_CALLS_H
