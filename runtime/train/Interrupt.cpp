//===- Interrupt.cpp - Stopping a run from the keyboard -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Interrupt.h"

#include <csignal>
#include <cstdint>
#include <ctime>
#include <mutex>

using namespace hocket;

static volatile std::sig_atomic_t signalSeen = 0;

static struct sigaction previousInterrupt, previousTerminate;

/// Objects that live; the first installs, the last restores.
static std::mutex guardsMutex;
static unsigned guards = 0;

static volatile std::sig_atomic_t timeOfFirst = 0;

/// In milliseconds, of which only differences mean something: they wrap.
static uint32_t timeNow() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return uint32_t(uint64_t(now.tv_sec) * 1000 +
                  uint64_t(now.tv_nsec) / 1000000);
}

/// Calls only what a signal's handler may call.
static void remember(int number) {
  if (!signalSeen) {
    timeOfFirst = std::sig_atomic_t(timeNow());
    signalSeen = 1;
    return;
  }
  if (timeNow() - uint32_t(timeOfFirst) < 1000)
    return;
  std::signal(number, SIG_DFL);
  ::raise(number); // Comes when this has returned.
}

InterruptGuard::InterruptGuard() {
  std::lock_guard lock(guardsMutex);
  if (guards++ > 0)
    return;
  signalSeen = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
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
