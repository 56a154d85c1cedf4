//===- NullDevice.cpp - A device that does nothing ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/null/NullDevice.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace hocket;
using namespace hocket::hal;

namespace {
class NullDevice : public Device {
public:
  /// Floating-point operations of the device, and bytes of each stream's way
  /// to other ranks, per second; 0: that takes no time.
  NullDevice(double flops, double linkBytes)
      : flops(flops), linkBytes(linkBytes) {
    about.driver = "null";
    about.name = "nothing";
    about.computes = false;
    about.moduleFormats = {"elf-so"};
  }

  const DeviceProperties &properties() const override { return about; }
  void *arenaAddress() const override { return nullptr; }
  bool playsTime() const override { return flops > 0 || linkBytes > 0; }

protected:
  Status doAllocateArena(uint64_t) override { return okStatus(); }
  Status doCreateQueues(uint32_t, uint32_t) override { return okStatus(); }
  Status doReserveScratch(uint64_t) override { return okStatus(); }

  Status doLoadModule(const std::string &,
                      std::span<const ModuleVariant>) override {
    return okStatus();
  }
  Status doFindKernel(ModuleId, const std::string &) override {
    return okStatus();
  }

  Status doLaunch(StreamId, const LaunchCall &) override { return okStatus(); }
  Status doGemm(StreamId stream, const GemmCall &call) override {
    if (flops > 0)
      takeTime(stream,
               2.0 * double(call.m) * double(call.n) * double(call.k) / flops);
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
    if (linkBytes > 0)
      takeTime(stream, double(bytes) / linkBytes);
    return okStatus();
  }
  Status doRecord(StreamId, EventId) override { return okStatus(); }
  Status doWait(StreamId, EventId) override { return okStatus(); }
  Status doSynchronize(StreamId) override { return okStatus(); }

private:
  DeviceProperties about;
  double flops, linkBytes;
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
