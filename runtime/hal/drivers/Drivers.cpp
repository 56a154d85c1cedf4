//===- Drivers.cpp - The drivers that this build has ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/Drivers.h"

#include "runtime/hal/drivers/cpu/CpuDevice.h"
#include "runtime/hal/drivers/cuda/CudaDevice.h"
#include "runtime/hal/drivers/null/NullDevice.h"

using namespace hocket;
using namespace hocket::hal;

namespace {
/// One row a driver.
struct Driver {
  const char *name;
  StatusOr<std::unique_ptr<Device>> (*create)(const DeviceShare &share);
};
} // namespace

static const Driver drivers[] = {
    {"null", [](const DeviceShare &) { return createNullDevice(); }},
    {"cpu",
     [](const DeviceShare &share) { return createCpuDevice(share.threads); }},
    {"cuda",
     [](const DeviceShare &share) { return createCudaDevice(share.index); }}};

std::vector<std::string> hal::driverNames() {
  std::vector<std::string> names;
  for (const Driver &driver : drivers)
    names.push_back(driver.name);
  return names;
}

StatusOr<std::unique_ptr<Device>> hal::createDevice(const std::string &name,
                                                    const DeviceShare &share) {
  std::string known;
  for (const Driver &driver : drivers) {
    if (name == driver.name)
      return driver.create(share);
    known += (known.empty() ? "" : ", ") + std::string(driver.name);
  }
  return invalidArgument("no driver for target '" + name +
                         "', this build has " + known);
}
