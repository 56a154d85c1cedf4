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

namespace hocket::emulator {

/// A stack and where on it its owner stopped.
class FiberStack {
public:
  static constexpr size_t bytes = 64 * 1024;

  FiberStack();
  ~FiberStack();
  FiberStack(const FiberStack &) = delete;

  /// Makes `entry`, which must not return, what the next change here begins.
  void begin(void (*entry)());

  /// Stops the caller, whose place goes to `from`, and goes on at `to`.
  static void change(void *&from, void *to);

  void *place = nullptr; ///< The stack pointer.

private:
  std::byte *memory;
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_FIBER_H
