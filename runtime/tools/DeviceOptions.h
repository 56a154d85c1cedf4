//===- DeviceOptions.h - Which device a prediction is for -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_DEVICEOPTIONS_H
#define HOCKET_RUNTIME_TOOLS_DEVICEOPTIONS_H

#include "runtime/tools/reports/DeviceCosts.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds `--cluster` and the numbers of a device, of which one excludes the
/// others.
void addDeviceOptions(CLI::App &command, DeviceArguments &arguments);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_DEVICEOPTIONS_H
