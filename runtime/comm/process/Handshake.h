//===- Handshake.h - The first words of a connection ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Who connects says Hello. Rank 0 answers at once whether it may join, and
/// once more when all have come, with the places of all; ranks that connect to
/// each other after that say Hello alone. Whoever does not say Hello within
/// some seconds is turned away, and no more than a Hello is read of anybody
/// before that.
///
/// All of these have fixed sizes, so nobody makes another process allocate.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_HANDSHAKE_H
#define HOCKET_RUNTIME_COMM_PROCESS_HANDSHAKE_H

#include "runtime/comm/process/Socket.h"

#include <array>

namespace hocket::comm {

/// What rank 0 makes at random for each rendezvous: a connection that was
/// meant for another one does not have it.
using RunToken = std::array<uint8_t, 16>;

/// The bytes that all of these begin with; the last two are the version.
constexpr char handshakeMagic[9] = "hocket02";

struct Hello {
  char magic[8] = {};
  uint32_t rank = 0, size = 0;
  uint32_t port = 0;     ///< Where the caller listens.
  uint32_t hasToken = 0; ///< Otherwise it does not know it yet.
  RunToken token = {};
  /// SHA-256 of the launcher's name of the run; zero if it gives none.
  std::array<uint8_t, 32> run = {};
};

struct Answer {
  enum Verdict : uint32_t { Refused, Joined, Complete };
  char magic[8] = {};
  uint32_t verdict = Refused;
  RunToken token = {};
  char text[228] = {}; ///< Why it was refused.
};

/// Where a rank listens.
struct Place {
  char address[64] = {};
  uint32_t port = 0;
};

/// Somebody who has said Hello.
struct Caller {
  Socket socket;
  Hello hello;
};

/// Hears all who connect at once, so that nobody who is silent keeps others
/// from being heard.
class Acceptor {
public:
  explicit Acceptor(std::vector<Socket> listeners);

  /// The next caller, waiting up to `seconds`; none if none has come by then.
  /// Unavailable if no connection can be accepted.
  StatusOr<std::optional<Caller>> next(double seconds);

  /// One of the addresses it listens at.
  Endpoint endpoint() const { return localEnd(listeners.front()); }

private:
  /// Who has not said all of Hello yet.
  struct Stranger {
    Socket socket;
    Hello hello;
    size_t heard = 0; ///< Bytes of it.
    Deadline patience;
  };
  enum class Heard { Part, All, Nonsense };

  Status accept(const Socket &listener);
  static Heard hear(Stranger &stranger);

  std::vector<Socket> listeners;
  std::vector<Stranger> strangers; ///< The oldest first.
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_HANDSHAKE_H
