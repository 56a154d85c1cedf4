//===- LineEditor.cpp - Lines that a person types -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/LineEditor.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <editline/readline.h>
#include <memory>
#include <poll.h>
#include <unistd.h>

using namespace hocket;

bool hocket::isConversation() {
  return ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
}

/// Of the call of readLine() that waits; libedit's hook takes no argument.
static const std::function<bool()> *waitEnds = nullptr;

static int nextByte(FILE *) {
  constexpr int milliseconds = 100;
  while (!(*waitEnds)()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    int ready = ::poll(&input, 1, milliseconds);
    if (ready < 0 && errno != EINTR)
      break;
    if (ready <= 0)
      continue;
    unsigned char byte = 0;
    ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    // What was typed before libedit took over the terminal has been through its
    // line discipline, where Ctrl-D leaves a zero byte (n_tty.c of Linux).
    // libedit would take that for the key that quotes the next one.
    constexpr unsigned char endOfFile = 4;
    if (got == 1)
      return byte == 0 ? endOfFile : byte;
    if (got == 0 || errno != EINTR)
      break;
  }
  return EOF;
}

std::optional<std::string> hocket::readLine(const std::string &prompt,
                                            const std::function<bool()> &ends) {
  waitEnds = &ends;
  rl_getc_function = nextByte;
  std::unique_ptr<char, decltype(&std::free)> line(::readline(prompt.c_str()),
                                                   &std::free);
  waitEnds = nullptr;
  if (!line)
    return std::nullopt;
  if (*line)
    ::add_history(line.get());
  return std::string(line.get());
}
