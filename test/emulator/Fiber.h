//===- Fiber.h - Stacks that a thread changes between -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ucontext.h does, without a system call at each change: kernels change
/// between threads millions of times.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_FIBER_H
#define HOCKET_TEST_EMULATOR_FIBER_H

#include <cstddef>
#include <memory>

namespace hocket::emulator {

/// A stack. Who has it stops at a place on it, its stack pointer.
class FiberStack {
public:
  /// The lines of many stacks' ends would be in the same sets of a cache if
  /// this were a power of two.
  static constexpr size_t bytes = 64 * 1024 + 9 * 64;

  FiberStack();

  /// Where a change begins `entry`, which must not return.
  void *begin(void (*entry)());

  /// Stops the caller, whose place goes to `from`, and goes on at `to`.
  static void change(void *&from, void *to);

private:
  std::unique_ptr<std::byte[]> memory;
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_FIBER_H
