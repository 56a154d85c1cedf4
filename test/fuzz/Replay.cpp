//===- Replay.cpp - A target, seeds and damaged seeds ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
///   fuzz_replay TARGET [--damage COUNT] [--folder FOLDER] FILE...
///
/// Gives each file to the target, then COUNT damaged copies of it, which are
/// the same in every run. An input may take 10 seconds, and, but with
/// sanitizers, 64 MiB and twice its size of memory. Exit status 1, with what
/// the input was, where it takes more or ends the process.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "test/fuzz/Target.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using namespace hocket;

namespace {

constexpr unsigned kSeconds = 10;
constexpr uint64_t kSpareBytes = uint64_t{64} << 20, kSeedLimit = 64 << 20;

/// Which input the target has; written where only signals can be handled.
char underTest[512];

void fail(const char *why) {
  for (const char *text : {(const char *)underTest, ": ", why, "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
      break;
  _exit(1);
}

void onSignal(int signal) {
  fail(signal == SIGALRM   ? "takes more than 10 seconds"
       : signal == SIGABRT ? "aborts"
                           : "ends the process");
}

void handleSignals() {
  static char stack[1 << 16]; // That of a recursion without end is used up.
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof(stack);
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    sigaction(signal, &action, nullptr);
}

/// Of the address space that this process has, in bytes.
uint64_t mapped() {
  std::ifstream status("/proc/self/statm");
  uint64_t pages = 0;
  status >> pages;
  return pages * uint64_t(sysconf(_SC_PAGESIZE));
}

void limitMemory([[maybe_unused]] size_t inputBytes) {
#if !HOCKET_SANITIZED
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = mapped() + kSpareBytes + 2 * uint64_t(inputBytes);
  setrlimit(RLIMIT_AS, &limit);
#endif
}

void run(const fuzz::Target &target, const std::string &bytes) {
  alarm(kSeconds);
  limitMemory(bytes.size());
  try {
    target(bytes);
  } catch (const std::bad_alloc &) {
    fail("takes more than 64 MiB and twice its size");
  } catch (const std::exception &error) {
    fail(error.what());
  }
  alarm(0);
}

/// What damages files: bits, numbers, cuts, and parts twice or elsewhere.
class Damage {
public:
  explicit Damage(unsigned seed) : random(seed) {}

  void apply(std::string &bytes) {
    for (size_t count = 1 + below(3); count > 0; --count)
      once(bytes);
  }

private:
  size_t below(size_t limit) { return limit ? random() % limit : 0; }

  void once(std::string &bytes) {
    static const char *const words[] = {
        "0",   "-1",   "1e999",       "2147483648", "18446744073709551616",
        "nan", "{",    "\"",          "\\u",        "[[[[[[[[",
        "\n",  "\xff", "\xf0\x9f\x98"};
    size_t at = below(bytes.size()), count = below(bytes.size() - at);
    switch (below(7)) {
    case 0:
      if (!bytes.empty())
        bytes[at] = char(bytes[at] ^ (1 << below(8)));
      return;
    case 1:
      if (!bytes.empty())
        bytes[at] = char(random());
      return;
    case 2:
      bytes.resize(at);
      return;
    case 3:
      bytes.erase(at, std::min<size_t>(count, 1 + below(64)));
      return;
    case 4:
      bytes.insert(below(bytes.size()),
                   bytes.substr(at, std::min<size_t>(count, 256)));
      return;
    case 5:
      bytes.insert(at, words[below(std::size(words))]);
      return;
    default: // In the place of a number that is there.
      if (size_t digit = bytes.find_first_of("0123456789", at);
          digit < bytes.size())
        bytes.replace(digit, 1, words[below(std::size(words))]);
    }
  }

  std::mt19937 random;
};

int usage() {
  std::fputs("usage: fuzz_replay TARGET [--damage COUNT] [--folder FOLDER] "
             "FILE...\ntargets:",
             stderr);
  for (const auto &[name, target] : fuzz::targets())
    std::fprintf(stderr, " %s", name.c_str());
  std::fputs("\n", stderr);
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> files;
  unsigned damages = 0;
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--damage" && i + 1 < argc)
      damages = unsigned(std::atoi(argv[++i]));
    else if (word == "--folder" && i + 1 < argc)
      setenv("HOCKET_FUZZ_FOLDER", argv[++i], 1);
    else
      files.push_back(word);
  }
  auto found = fuzz::targets().find(argc > 1 ? argv[1] : "");
  if (found == fuzz::targets().end() || files.empty())
    return usage();
  handleSignals();
  for (const std::string &file : files) {
    StatusOr<std::string> seed = readFile(file, kSeedLimit);
    if (!seed.ok()) {
      std::fprintf(stderr, "%s\n", seed.status().message().c_str());
      return 2;
    }
    for (unsigned i = 0; i <= damages; ++i) {
      std::string bytes = *seed;
      if (i > 0)
        Damage(i).apply(bytes);
      std::snprintf(underTest, sizeof(underTest), "%s: %s, damage %u", argv[1],
                    file.c_str(), i);
      run(found->second, bytes);
    }
  }
  return 0;
}
