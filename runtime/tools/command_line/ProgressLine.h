//===- ProgressLine.h - How far a command is --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A line on standard error: rewritten on a terminal, a new one every ten
/// seconds elsewhere.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_PROGRESSLINE_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_PROGRESSLINE_H

#include <chrono>
#include <functional>
#include <string>

namespace hocket {

class ProgressLine {
public:
  ProgressLine();

  /// Shows what `describe` makes of the seconds since the beginning, if it is
  /// time to.
  void show(const std::function<std::string(double)> &describe);

  /// Removes the line from a terminal.
  void clear();

  /// Since the beginning.
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point start = Clock::now();
  const bool terminal;
  bool shown = false;
  double shownAt = 0;
};

/// " 12.0 %  84.1 MB/s", with what is left behind it: "  12 s left".
std::string describeRate(uint64_t bytes, uint64_t totalBytes, double seconds,
                         const std::string &between = "");

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_PROGRESSLINE_H
