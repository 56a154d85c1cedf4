//===- NullDevice.cpp - A device that does nothing ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/null/NullDevice.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

using namespace hocket;
using namespace hocket::hal;

namespace {
/// Spends time as something of a certain speed would. One thread's.
class SimulatedClock {
public:
  using Clock = std::chrono::steady_clock;

  /// 0: takes no time.
  explicit SimulatedClock(double perSecond = 0) : perSecond(perSecond) {}

  void spend(double work) {
    if (perSecond == 0)
      return;
    auto taken = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(std::min(work / perSecond, 86400.0)));
    // What a sleep was too long the next one is shorter.
    Clock::time_point end = Clock::now() - overslept + taken;
    std::this_thread::sleep_until(end);
    overslept = std::max(Clock::duration::zero(), Clock::now() - end);
  }

private:
  double perSecond;
  Clock::duration overslept{};
};

class NullDevice : public Device {
public:
  /// Floating-point operations of the device, and bytes of each stream's way
  /// to other ranks, per second.
  NullDevice(double flops, double linkBytes)
      : clock(flops), linkBytes(linkBytes) {
    about.driver = "null";
    about.name = "nothing";
    about.computes = false;
    about.moduleFormats = {"elf-so"};
  }

  const DeviceProperties &properties() const override { return about; }
  void *arenaAddress() const override { return nullptr; }

protected:
  Status doAllocateArena(uint64_t) override { return okStatus(); }
  Status doCreateQueues(uint32_t streams, uint32_t) override {
    links.assign(streams, SimulatedClock(linkBytes));
    return okStatus();
  }
  Status doReserveScratch(uint64_t) override { return okStatus(); }

  Status doLoadModule(const std::string &,
                      std::span<const ModuleVariant>) override {
    return okStatus();
  }
  Status doFindKernel(ModuleId, const std::string &) override {
    return okStatus();
  }

  Status doLaunch(StreamId, const LaunchCall &) override { return okStatus(); }
  Status doGemm(StreamId, const GemmCall &call) override {
    clock.spend(2.0 * double(call.m) * double(call.n) * double(call.k));
    return okStatus();
  }
  Status doLibrary(StreamId, const LibraryCall &) override {
    return okStatus();
  }

  Status doCopy(StreamId, Range, Range) override { return okStatus(); }
  Status doFill(StreamId, Range, uint8_t) override { return okStatus(); }
  Status doCopyFromHost(StreamId, const void *, Range) override {
    return okStatus();
  }
  Status doCopyToHost(StreamId, Range from, void *to) override {
    std::memset(to, 0, from.bytes);
    return okStatus();
  }

  Status doTravelled(StreamId stream, uint64_t bytes) override {
    links[stream].spend(double(bytes));
    return okStatus();
  }
  Status doRecord(StreamId, EventId) override { return okStatus(); }
  Status doWait(StreamId, EventId) override { return okStatus(); }
  Status doSynchronize(StreamId) override { return okStatus(); }

private:
  DeviceProperties about;
  SimulatedClock clock;
  double linkBytes;
  std::vector<SimulatedClock> links; ///< By stream, each its thread's.
};

/// 10^9 times what an environment variable says, 0 without it.
StatusOr<double> speedFrom(const char *variable) {
  const char *text = std::getenv(variable);
  if (!text)
    return 0.0;
  char *end = nullptr;
  double speed = std::strtod(text, &end);
  if (end == text || *end != '\0' || !std::isfinite(speed) || speed <= 0)
    return invalidArgument(std::string(variable) + " is '" + text +
                           "', expected a positive number");
  return speed * 1e9;
}
} // namespace

StatusOr<std::unique_ptr<Device>> hal::createNullDevice() {
  HOCKET_ASSIGN_OR_RETURN(double flops, speedFrom("HOCKET_NULL_GFLOPS"));
  HOCKET_ASSIGN_OR_RETURN(double bytes, speedFrom("HOCKET_NULL_GBYTES"));
  return std::unique_ptr<Device>(new NullDevice(flops, bytes));
}
