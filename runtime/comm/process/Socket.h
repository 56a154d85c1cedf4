//===- Socket.h - TCP connections -------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ranks need of TCP. Every call that waits has an end: a number of
/// seconds, or a Deadline.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_SOCKET_H
#define HOCKET_RUNTIME_COMM_PROCESS_SOCKET_H

#include "base/Status.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::comm {

/// For what another process answers at once if it is there at all.
inline constexpr double kSecondsForAnswer = 10;

/// A file descriptor that is closed with its owner.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept;
  Socket &operator=(Socket &&other) noexcept;
  ~Socket();
  int get() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }

private:
  int descriptor = -1;
};

/// Until when something must have come.
class Deadline {
public:
  explicit Deadline(double seconds)
      : end(Clock::now() + std::chrono::milliseconds(int64_t(seconds * 1000))) {
  }
  /// In seconds; 0 when it has passed.
  double left() const;
  bool hasPassed() const { return left() <= 0; }
  /// What poll() takes: `left()`, but at most `most` seconds, in milliseconds.
  int pollTime(double most) const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end;
};

template <typename T> std::span<char> bytesOf(T &value) {
  return {reinterpret_cast<char *>(&value), sizeof(T)};
}

/// All of `bytes`; Unavailable if the other end is gone or time is over.
Status readAll(const Socket &socket, std::span<char> bytes, double seconds);
Status writeAll(const Socket &socket, std::span<const char> bytes);
/// As writeAll(), but Unavailable if the other end has not taken it in time.
Status writeAll(const Socket &socket, std::span<const char> bytes,
                double seconds);

/// Whether the other end has closed, or failed; reads nothing.
bool isGone(const Socket &socket);

/// One attempt, of at most `seconds`, to connect to any of the host's
/// addresses. Unavailable says why not.
StatusOr<Socket> connectTo(const std::string &host, uint16_t port,
                           double seconds);

/// One end of a connection, or where a socket listens.
struct Endpoint {
  std::string address; ///< An IPv4 or IPv6 address.
  uint16_t port = 0;
  bool isLoopback() const;
};
Endpoint localEnd(const Socket &socket);
Endpoint remoteEnd(const Socket &socket);

/// Whether `host` says "this machine", wherever it is read: "localhost", or a
/// loopback address.
bool namesLoopback(const std::string &host);

/// Listens on every address that `host` has here, port 0: at one that is free.
/// If this machine has none of them, as where one stands for several machines,
/// or if `host` is empty: on all addresses. Unavailable if the port is taken.
StatusOr<std::vector<Socket>> listenAt(const std::string &host, uint16_t port);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_SOCKET_H
