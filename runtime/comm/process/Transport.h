//===- Transport.h - Messages between processes -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All that a world of processes needs of a library or a network: messages
/// that are started, and asked about until they are over. ProcessWorld.h makes
/// communicators of it.
///
/// A channel is a list of ranks; a rank's index there is its place. Messages of
/// one channel between the same two places with the same tag arrive in order.
/// Any thread may call anything but close(); open() is one thread's at a time.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_TRANSPORT_H
#define HOCKET_RUNTIME_COMM_PROCESS_TRANSPORT_H

#include "base/Status.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace hocket::comm {

/// A channel's number in this process; -1: the rank is not in it.
using ChannelId = int;

/// No message has more bytes: MPI counts them in an int.
constexpr uint64_t messageLimit = uint64_t(1) << 30;

/// A send or a receive; `data` must stay until it is over.
struct Message {
  ChannelId channel = -1;
  bool send = false;
  unsigned peer = 0; ///< Its place.
  void *data = nullptr;
  uint64_t bytes = 0; ///< Both ends say the same; at most messageLimit.
  uint32_t tag = 0;
};

class Transport {
public:
  virtual ~Transport() = default;

  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;

  /// The channel of the list of `lists` that this rank is in. All ranks call
  /// it, in the same order and with the same lists.
  virtual StatusOr<ChannelId>
  open(const std::vector<std::vector<unsigned>> &lists) = 0;

  /// Names a message that has been started, until it is over.
  using Request = void *;
  virtual StatusOr<Request> start(const Message &message) = 0;
  /// Whether it is over; then it may not be asked about again. Makes progress
  /// with all messages of the process.
  virtual StatusOr<bool> test(Request request) = 0;

  /// After all ranks have come to the end and no message is under way.
  virtual void close() = 0;
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_TRANSPORT_H
