//===- ProgressLine.cpp - How far a command is ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/ProgressLine.h"

#include "base/Format.h"

#include <algorithm>
#include <iostream>
#include <unistd.h>

using namespace hocket;

ProgressLine::ProgressLine() : terminal(isatty(STDERR_FILENO)) {}

void ProgressLine::show(const std::function<std::string(double)> &describe) {
  double now = seconds(), interval = terminal ? 0.2 : 10.0;
  if (now - shownAt < interval)
    return;
  shownAt = now;
  std::cerr << (terminal ? "\r\033[K" : "") << describe(now)
            << (terminal ? "" : "\n") << std::flush;
  shown = true;
}

void ProgressLine::clear() {
  if (terminal && shown)
    std::cerr << "\r\033[K" << std::flush;
}

std::string hocket::describeRate(uint64_t bytes, uint64_t totalBytes,
                                 double seconds, const std::string &between) {
  double rate = double(bytes) / std::max(seconds, 1e-9);
  double left = double(totalBytes - bytes) / rate;
  return formatText("%5.1f %%  %.1f MB/s",
                    100.0 * double(bytes) /
                        double(std::max<uint64_t>(totalBytes, 1)),
                    rate / 1e6) +
         between + "  " + formatDuration(left) + " left";
}
