//===- Handshake.cpp - The first words of a connection --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/Handshake.h"

#include "base/File.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

using namespace hocket;
using namespace hocket::comm;

/// So many may be silent at once; the oldest goes when another one comes.
static constexpr size_t strangersAtOnce = 256;
static constexpr double secondsForHello = 5;

Acceptor::Acceptor(std::vector<Socket> sockets)
    : listeners(std::move(sockets)) {}

Status Acceptor::accept(const Socket &listener) {
  Socket socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  bool isFull = !socket.isOpen() && (errno == EMFILE || errno == ENFILE);
  if (isFull && strangers.empty())
    return unavailable("cannot accept a connection: " + errnoMessage(errno));
  if (isFull || strangers.size() >= strangersAtOnce)
    strangers.erase(strangers.begin());
  if (!socket.isOpen())
    return okStatus(); // It has gone again, or is accepted the next time.
  int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  strangers.push_back(
      {std::move(socket), Hello(), 0, Deadline(secondsForHello)});
  return okStatus();
}

/// Reads what has come of a Hello, and no more than that.
Acceptor::Heard Acceptor::hear(Stranger &stranger) {
  std::span<char> rest = bytesOf(stranger.hello).subspan(stranger.heard);
  ssize_t got =
      ::recv(stranger.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return Heard::Part;
  if (got <= 0)
    return Heard::Nonsense;
  stranger.heard += size_t(got);
  size_t magic = std::min(stranger.heard, sizeof(Hello::magic));
  if (std::memcmp(stranger.hello.magic, handshakeMagic, magic) != 0)
    return Heard::Nonsense;
  return stranger.heard < sizeof(Hello) ? Heard::Part : Heard::All;
}

StatusOr<std::optional<Caller>> Acceptor::next(double seconds) {
  Deadline deadline(seconds);
  do {
    std::vector<pollfd> ready;
    for (const Socket &listener : listeners)
      ready.push_back({listener.get(), POLLIN, 0});
    for (const Stranger &stranger : strangers)
      ready.push_back({stranger.socket.get(), POLLIN, 0});
    if (::poll(ready.data(), ready.size(), deadline.pollTime(0.25)) < 0)
      continue;
    // From the last, since some go.
    for (size_t i = strangers.size(); i-- > 0;) {
      Heard heard = Heard::Part;
      if (ready[listeners.size() + i].revents)
        heard = hear(strangers[i]);
      if (heard == Heard::Part && !strangers[i].patience.hasPassed())
        continue;
      Stranger ended = std::move(strangers[i]);
      strangers.erase(strangers.begin() + ptrdiff_t(i));
      if (heard == Heard::All)
        return std::optional<Caller>({std::move(ended.socket), ended.hello});
    }
    for (size_t i = 0; i < listeners.size(); ++i)
      if (ready[i].revents)
        HOCKET_RETURN_IF_ERROR(accept(listeners[i]));
  } while (!deadline.hasPassed());
  return std::optional<Caller>();
}
