//===- ChildProcess.h - Bodies that run, and die, elsewhere -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a part of a test in a process of its own: to be killed in the middle of
/// its work, or to have its memory measured. The bodies run in a fork of the
/// test, which must have no other threads.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_CHILDPROCESS_H
#define HOCKET_TEST_RUNTIME_CHILDPROCESS_H

#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hocket::test {

/// Where a child says that it has done what it should.
inline int reportTo = -1;

/// Called in the middle of a child's body, on any thread: as if it had
/// returned.
[[noreturn]] inline void waitToBeKilled(bool succeeded = true) {
  (void)!::write(reportTo, succeeded ? "1" : "0", 1);
  while (true)
    ::pause();
}

/// A fork that runs `body` and then waits to be killed, as it is at the latest
/// by the destructor.
class WaitingChild {
public:
  explicit WaitingChild(const std::function<bool()> &body) {
    int ends[2];
    if (::pipe(ends) != 0)
      return;
    process = ::fork();
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      reportTo = ends[1];
      waitToBeKilled(body());
    }
    ::close(ends[1]);
    char said = 0;
    succeeded = ::read(ends[0], &said, 1) == 1 && said == '1';
    ::close(ends[0]);
  }
  ~WaitingChild() { kill(); }
  WaitingChild(const WaitingChild &) = delete;
  WaitingChild &operator=(const WaitingChild &) = delete;

  void kill() {
    if (process <= 0)
      return;
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    process = -1;
  }

  bool succeeded = false; ///< What the body returned.

private:
  pid_t process = -1;
};

/// Runs `body` as process 1, as a container does, and kills it. What the body
/// returned, or nullopt where this process may not make such a namespace.
inline std::optional<bool>
killedAsProcessOne(const std::function<bool()> &body) {
  pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID) != 0 &&
        ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
      ::_exit(77);
    WaitingChild inner([&] { return ::getpid() == 1 && body(); });
    bool succeeded = inner.succeeded;
    inner.kill();
    ::_exit(succeeded ? 0 : 1);
  }
  int status = 0;
  ::waitpid(outer, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 77)
    return std::nullopt;
  return WEXITSTATUS(status) == 0;
}

/// A line of /proc/self/status in bytes: "VmRSS", "VmHWM".
inline uint64_t memoryNow(const std::string &what) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == what + ":") {
      uint64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes << 10;
    }
  return 0;
}

/// The most memory, in bytes, that `body` takes beyond what was there. Under a
/// sanitizer, whose own memory that would be, 0.
inline uint64_t peakBytesOf(const std::function<void()> &body) {
#if __has_feature(address_sanitizer)
  return body(), 0;
#endif
  int ends[2];
  if (::pipe(ends) != 0)
    return 0;
  pid_t process = ::fork();
  if (process == 0) {
    uint64_t before = memoryNow("VmRSS");
    body();
    uint64_t peak = memoryNow("VmHWM");
    uint64_t taken = peak > before ? peak - before : 0;
    (void)!::write(ends[1], &taken, sizeof(taken));
    ::_exit(0);
  }
  ::close(ends[1]);
  uint64_t taken = 0;
  bool isWhole = ::read(ends[0], &taken, sizeof(taken)) == sizeof(taken);
  ::close(ends[0]);
  ::waitpid(process, nullptr, 0);
  return isWhole ? taken : UINT64_MAX;
}

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_CHILDPROCESS_H
