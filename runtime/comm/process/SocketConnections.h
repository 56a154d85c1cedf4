//===- SocketConnections.h - Who is connected to whom -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_SOCKETCONNECTIONS_H
#define HOCKET_RUNTIME_COMM_PROCESS_SOCKETCONNECTIONS_H

#include "runtime/comm/process/Handshake.h"
#include "runtime/comm/process/Launch.h"

#include <functional>
#include <optional>

namespace hocket::comm {

/// How long ranks wait for each other, and who hears of it.
struct ConnectOptions {
  double seconds = 60; ///< For all to come.
  double quiet = 2;    ///< After which `say` hears who is missing.
  /// Takes a line for a person, without line feed.
  std::function<void(const std::string &)> say = [](const std::string &) {};
};

/// A connection to every other rank, by rank; the own place is not open.
/// Unavailable names the ranks that did not come.
///
/// Rank 0 listens at the launch's address and port. If these are of torchrun's
/// store instead (Launch::hasAgentStore), at any free port of the address by
/// which it reaches that, and tells the others through the store where.
StatusOr<std::vector<Socket>> connectAll(const Launch &launch,
                                         const ConnectOptions &options);

//===----------------------------------------------------------------------===//
// For the sources beside it
//===----------------------------------------------------------------------===//

/// Where rank 0 waits for the others.
struct MeetingPoint {
  std::string address;
  uint16_t port = 0;
  std::optional<RunToken> token; ///< If it is known before one is there.
};

/// The store's key for it, its value, and a value read again; nothing if it is
/// none.
std::string meetingKey(const Launch &launch);
std::string meetingText(const MeetingPoint &point);
std::optional<MeetingPoint> parseMeetingPoint(const std::string &text);

/// Where a process listens that reaches rank 0 by its own address `own`: there
/// alone. A host's name may be a loopback address on that host; if ranks may be
/// elsewhere, everywhere, which is "".
std::string hostToListenAt(const Endpoint &own, const Launch &launch);

/// What Hello::run is.
std::array<uint8_t, 32> runDigest(const Launch &launch);

/// Rank 0's part: waits for all others and tells all where they listen. Their
/// connections are in `connections`, by rank.
Status hostRanks(const Launch &launch, const ConnectOptions &options,
                 std::vector<Socket> &connections);

/// The other ranks whose connection is not open, from `first` on.
std::vector<unsigned> missingRanks(const std::vector<Socket> &connections,
                                   unsigned own, unsigned first = 0);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_SOCKETCONNECTIONS_H
