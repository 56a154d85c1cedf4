//===- Block.h - A thread block as fibers -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the blocks of a launch one after another, the threads of a block as
/// fibers of the calling thread. A warp runs until it waits for the block;
/// which one runs next, and in which order its lanes run, is drawn from a seed,
/// so that a missing barrier shows up as a wrong number or as a NaN.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_BLOCK_H
#define HOCKET_TEST_EMULATOR_BLOCK_H

#include "test/emulator/Calls.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace hocket::emulator {

struct Launch {
  Index gridSize{1, 1, 1}, blockSize{1, 1, 1};
  size_t sharedBytes = 0; ///< Dynamic shared memory of a block.
  uint64_t seed = 0;      ///< Of the order of threads and blocks.
};

/// Runs `thread` for every thread of every block. `calls` is the table of the
/// module it lives in, `shared` its static shared memory. Empty, or what is
/// wrong with the kernel: threads of a block or warp that wait for each other
/// at different places.
std::string runBlocks(const Launch &launch, Calls &calls,
                      std::span<std::byte> shared,
                      const std::function<void()> &thread);

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_BLOCK_H
