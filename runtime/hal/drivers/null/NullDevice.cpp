//===- NullDevice.cpp - A device that does nothing ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/null/NullDevice.h"

#include <cstring>

using namespace hocket;
using namespace hocket::hal;

namespace {
class NullDevice : public Device {
public:
  NullDevice() {
    about.driver = "null";
    about.name = "nothing";
    about.computes = false;
    about.moduleFormats = {"elf-so"};
  }

  const DeviceProperties &properties() const override { return about; }
  void *arenaAddress() const override { return nullptr; }

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
  Status doGemm(StreamId, const GemmCall &) override { return okStatus(); }
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

  Status doRecord(StreamId, EventId) override { return okStatus(); }
  Status doWait(StreamId, EventId) override { return okStatus(); }
  Status doSynchronize(StreamId) override { return okStatus(); }

private:
  DeviceProperties about;
};
} // namespace

StatusOr<std::unique_ptr<Device>> hal::createNullDevice() {
  return std::unique_ptr<Device>(new NullDevice());
}
