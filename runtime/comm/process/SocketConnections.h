//===- SocketConnections.h - Who is connected to whom -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_SOCKETCONNECTIONS_H
#define HOCKET_RUNTIME_COMM_PROCESS_SOCKETCONNECTIONS_H

#include "runtime/comm/process/Launch.h"

#include <span>

namespace hocket::comm {

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

/// All of `bytes`; Unavailable if the other end is gone or time is over.
Status readAll(const Socket &socket, std::span<char> bytes, double seconds);
Status writeAll(const Socket &socket, std::span<const char> bytes);

/// A connection to every other rank, by rank; the own place is not open.
StatusOr<std::vector<Socket>> connectAll(const Launch &launch, double seconds);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_SOCKETCONNECTIONS_H
