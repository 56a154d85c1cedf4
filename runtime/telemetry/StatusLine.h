//===- StatusLine.h - The last line of a terminal ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lines that stay, and below them on a terminal one that is rewritten in
/// place: what a command is doing, and how long it will take. Where the output
/// is no terminal there is no such line and no control character.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_STATUSLINE_H
#define HOCKET_RUNTIME_TELEMETRY_STATUSLINE_H

#include <condition_variable>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

namespace hocket {

/// Columns of the terminal, asked each time: it may be resized. Empty: the
/// output is no terminal that can rewrite a line.
using TerminalWidth = std::function<unsigned()>;

/// Of the terminal behind `descriptor`; empty if it is none, or a dumb one.
TerminalWidth terminalWidth(int descriptor);

/// Any thread may call any function.
class StatusLine {
public:
  /// `out` must live as long as this object.
  StatusLine(std::ostream &out, TerminalWidth width)
      : out(out), width(std::move(width)) {}

  /// Clears what is shown.
  ~StatusLine();

  bool isTerminal() const { return width != nullptr; }

  /// A line that stays.
  void print(const std::string &line);

  /// Until the next print() or show(), on a terminal; an empty text clears it.
  /// What is wider than the terminal is cut.
  void show(const std::string &text);

private:
  std::ostream &out;
  TerminalWidth width;
  std::mutex mutex;
  bool isShown = false;
};

/// Where the words of a run go, as functions that any thread may call.
struct RunOutput {
  std::function<void(const std::string &)> print; ///< A line that stays.
  /// What a terminal shows for a while; empty where there is none.
  std::function<void(const std::string &)> show;
};

/// Says what is being done, if it takes longer than half a second: on a
/// terminal as the status line, with the seconds so far, and cleared at the
/// end; elsewhere as a line.
class PhaseNotice {
public:
  PhaseNotice(RunOutput output, std::string text);
  ~PhaseNotice();
  PhaseNotice(const PhaseNotice &) = delete;
  PhaseNotice &operator=(const PhaseNotice &) = delete;

private:
  void watch();

  RunOutput output;
  std::string text;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_STATUSLINE_H
