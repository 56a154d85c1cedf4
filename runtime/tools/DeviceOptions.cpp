//===- DeviceOptions.cpp - Which device a prediction is for ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/DeviceOptions.h"

#include "runtime/tools/command_line/OptionValues.h"

using namespace hocket;

void hocket::addDeviceOptions(CLI::App &command, DeviceArguments &arguments) {
  constexpr const char *deviceOptions = "Device options";
  constexpr uint64_t mostRanks = uint64_t(1) << 20;
  constexpr double mostSeconds = 1e6;
  DeviceModel &device = arguments.device;
  CLI::Option *cluster =
      command
          .add_option("--cluster", arguments.cluster,
                      "A shipped system (a100, b200, h100, ...) or a file "
                      "that describes one, as in h100:1024. Prices "
                      "instructions as `hocket plan` prices plans. Not "
                      "together with the numbers of a device")
          ->type_name("SYSTEM:DEVICES")
          ->group(deviceOptions);
  auto add = [&](const char *name, auto &to, const char *help) {
    return command.add_option(name, to, help)
        ->capture_default_str()
        ->excludes(cluster)
        ->group(deviceOptions);
  };
  auto positive = [&](const char *name, double &to, const char *help) {
    wantPositive(add(name, to, help), 1e30);
  };
  positive("--device-flops", device.flopsPerSecond,
           "FLOP/s that a rank's device reaches");
  positive("--memory-bandwidth", device.memoryBytesPerSecond,
           "Bytes/s of a device's memory");
  positive("--link-bandwidth", device.linkBytesPerSecond,
           "Bytes/s each way between two ranks of a machine");
  positive("--network-bandwidth", device.networkBytesPerSecond,
           "The same between machines");
  wantWhole(add("--ranks-per-node", device.ranksPerNode,
                "Ranks of a machine; 0: all"),
            0, mostRanks);
  wantNumber(add("--latency", device.messageSeconds, "Latency of a message"), 0,
             mostSeconds)
      ->type_name("SECONDS");
  wantNumber(add("--overhead", device.launchSeconds,
                 "Time to start an "
                 "instruction"),
             0, mostSeconds)
      ->type_name("SECONDS");
}
