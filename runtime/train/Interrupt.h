//===- Interrupt.h - Stopping a run from the keyboard -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_INTERRUPT_H
#define HOCKET_RUNTIME_TRAIN_INTERRUPT_H

namespace hocket {

/// While this object lives, the first SIGINT or SIGTERM is only remembered, so
/// that a step can be finished and saved. Another one ends the process as usual
/// if it comes a second or more later: launchers, and `timeout`, send theirs to
/// a process and again to its group. Ranks that are threads of one process may
/// each have one.
class InterruptGuard {
public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard &) = delete;
  InterruptGuard &operator=(const InterruptGuard &) = delete;

  /// Whether a signal has come since the first object was made.
  static bool requested();
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_INTERRUPT_H
