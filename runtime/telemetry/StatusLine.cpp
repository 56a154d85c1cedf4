//===- StatusLine.cpp - The last line of a terminal -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/StatusLine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ostream>
#include <string_view>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

using namespace hocket;

TerminalWidth hocket::terminalWidth(int descriptor) {
  const char *kind = std::getenv("TERM");
  if (!::isatty(descriptor) || !kind || std::string_view(kind) == "dumb")
    return nullptr;
  return [descriptor] {
    struct winsize size = {};
    bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? unsigned(size.ws_col) : 80U;
  };
}

//===----------------------------------------------------------------------===//
// StatusLine
//===----------------------------------------------------------------------===//

/// Back to the first column, and nothing to the right of it.
static constexpr std::string_view clearLine = "\r\x1b[K";

StatusLine::~StatusLine() {
  if (isShown)
    out << clearLine << std::flush;
}

void StatusLine::print(const std::string &line) {
  std::lock_guard lock(mutex);
  if (isShown)
    out << clearLine;
  isShown = false;
  out << line << std::endl;
}

void StatusLine::show(const std::string &text) {
  if (!width)
    return;
  std::lock_guard lock(mutex);
  if (text.empty() && !isShown)
    return;
  isShown = !text.empty();
  // The cursor waits at the front: what others write there, errors for
  // instance, does not begin in the middle of a line.
  out << clearLine << text.substr(0, width() - 1) << '\r' << std::flush;
}

//===----------------------------------------------------------------------===//
// PhaseNotice
//===----------------------------------------------------------------------===//

PhaseNotice::PhaseNotice(RunOutput given, std::string about)
    : output(std::move(given)), text(std::move(about)) {
  try {
    thread = std::thread([this] { watch(); });
  } catch (const std::system_error &) {
    // The phase does its work all the same.
  }
}

PhaseNotice::~PhaseNotice() {
  {
    std::lock_guard lock(mutex);
    over = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void PhaseNotice::watch() {
  using namespace std::chrono_literals;
  auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  if (changed.wait_for(lock, 500ms, [this] { return over; }))
    return;
  if (!output.show) {
    output.print(text);
    return;
  }
  output.show(text);
  while (!changed.wait_for(lock, 1s, [this] { return over; })) {
    auto taken = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::steady_clock::now() - start);
    output.show(text + " (" + std::to_string(taken.count()) + "s)");
  }
  output.show("");
}
