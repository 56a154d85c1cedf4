//===- Interrupt.cpp - Stopping a run from the keyboard -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Interrupt.h"

#include <csignal>
#include <mutex>

using namespace hocket;

static volatile std::sig_atomic_t signalSeen = 0;

static struct sigaction previousInterrupt, previousTerminate;

/// Objects that live; the first installs, the last restores.
static std::mutex guardsMutex;
static unsigned guards = 0;

static void remember(int) { signalSeen = 1; }

InterruptGuard::InterruptGuard() {
  std::lock_guard lock(guardsMutex);
  if (guards++ > 0)
    return;
  signalSeen = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  // The second signal finds the system's own handler again.
  action.sa_flags = int(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &previousInterrupt);
  ::sigaction(SIGTERM, &action, &previousTerminate);
}

InterruptGuard::~InterruptGuard() {
  std::lock_guard lock(guardsMutex);
  if (--guards > 0)
    return;
  ::sigaction(SIGINT, &previousInterrupt, nullptr);
  ::sigaction(SIGTERM, &previousTerminate, nullptr);
}

bool InterruptGuard::requested() { return signalSeen != 0; }
