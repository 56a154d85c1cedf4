//===- SocketConnections.cpp - Who is connected to whom -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/SocketConnections.h"

#include "runtime/base/File.h"
#include "runtime/base/Format.h"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace hocket;
using namespace hocket::comm;
using Clock = std::chrono::steady_clock;

Socket::Socket(Socket &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)) {}
Socket &Socket::operator=(Socket &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  return *this;
}
Socket::~Socket() {
  if (descriptor >= 0)
    ::close(descriptor);
}

namespace {
/// Until when everybody must have come.
struct Deadline {
  Clock::time_point end;
  explicit Deadline(double seconds)
      : end(Clock::now() + std::chrono::milliseconds(int64_t(seconds * 1000))) {
  }
  double left() const {
    return std::chrono::duration<double>(end - Clock::now()).count();
  }
};

/// Where a rank listens: an IPv4 or IPv6 address as text, and a port.
struct Place {
  char address[64] = {};
  uint32_t port = 0;
};

/// The first words of a connection.
struct Hello {
  char magic[8] = {'h', 'o', 'c', 'k', 'e', 't', '0', '1'};
  uint32_t rank = 0, size = 0;
  uint32_t port = 0; ///< Where the caller listens.
};
} // namespace

static Status socketError(const std::string &what) {
  return unavailable(what + ": " + errnoMessage(errno));
}

template <typename T> static std::span<char> bytesOf(T &value) {
  return {reinterpret_cast<char *>(&value), sizeof(T)};
}

Status comm::readAll(const Socket &socket, std::span<char> bytes,
                     double seconds) {
  Deadline deadline(seconds);
  while (!bytes.empty()) {
    pollfd ready{socket.get(), POLLIN, 0};
    int wait = int(std::max(0.0, deadline.left()) * 1000);
    int found = ::poll(&ready, 1, wait);
    if (found == 0)
      return unavailable("a process does not answer");
    ssize_t got =
        found < 0 ? -1 : ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return socketError("cannot receive");
    if (got == 0)
      return unavailable("the other process has closed the connection");
    bytes = bytes.subspan(size_t(got));
  }
  return okStatus();
}

Status comm::writeAll(const Socket &socket, std::span<const char> bytes) {
  while (!bytes.empty()) {
    ssize_t sent =
        ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0)
      return socketError("cannot send");
    bytes = bytes.subspan(size_t(sent));
  }
  return okStatus();
}

static void sendAtOnce(const Socket &socket) {
  int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// Listens on all addresses; port 0: any, which `port` becomes.
static StatusOr<Socket> listenOn(uint32_t &port) {
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  bool v6 = socket.isOpen();
  if (!v6)
    socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int on = 1, off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in6 six{};
  sockaddr_in four{};
  socklen_t length = v6 ? sizeof(six) : sizeof(four);
  auto *address = v6 ? reinterpret_cast<sockaddr *>(&six)
                     : reinterpret_cast<sockaddr *>(&four);
  if (v6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(uint16_t(port));
  } else {
    four.sin_family = AF_INET;
    four.sin_port = htons(uint16_t(port));
  }
  if (::bind(socket.get(), address, length) || ::listen(socket.get(), 1024) ||
      ::getsockname(socket.get(), address, &length))
    return socketError("cannot listen on port " + std::to_string(port));
  port = ntohs(v6 ? six.sin6_port : four.sin_port);
  return socket;
}

/// Tries until the deadline: the other side may not listen yet.
static StatusOr<Socket> connectTo(const std::string &address, uint32_t port,
                                  const Deadline &deadline) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  std::string service = std::to_string(port);
  while (true) {
    int failed =
        ::getaddrinfo(address.c_str(), service.c_str(), &hints, &found);
    for (addrinfo *each = failed ? nullptr : found; each;
         each = each->ai_next) {
      Socket socket(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (socket.isOpen() &&
          ::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0) {
        ::freeaddrinfo(found);
        sendAtOnce(socket);
        return socket;
      }
    }
    if (!failed)
      ::freeaddrinfo(found);
    if (deadline.left() <= 0)
      return unavailable(formatText("cannot connect to %s:%u%s%s",
                                    address.c_str(), port, failed ? ": " : "",
                                    failed ? ::gai_strerror(failed) : ""));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// The next rank that calls, and from where. Strangers are turned away.
static StatusOr<Socket> acceptRank(const Socket &listener, const Launch &launch,
                                   const Deadline &deadline, Hello &hello,
                                   Place &place) {
  while (deadline.left() > 0) {
    pollfd ready{listener.get(), POLLIN, 0};
    if (::poll(&ready, 1, int(deadline.left() * 1000)) <= 0)
      continue;
    sockaddr_storage from{};
    socklen_t length = sizeof(from);
    Socket socket(::accept4(listener.get(), reinterpret_cast<sockaddr *>(&from),
                            &length, SOCK_CLOEXEC));
    if (!socket.isOpen() || !readAll(socket, bytesOf(hello), 5).ok() ||
        std::memcmp(hello.magic, Hello().magic, sizeof(hello.magic)) != 0 ||
        hello.size != launch.size || hello.rank >= launch.size)
      continue;
    ::getnameinfo(reinterpret_cast<sockaddr *>(&from), length, place.address,
                  sizeof(place.address), nullptr, 0, NI_NUMERICHOST);
    place.port = hello.port;
    sendAtOnce(socket);
    return socket;
  }
  return unavailable(formatText("rank %u: not all of %u ranks have connected",
                                launch.rank, launch.size));
}

/// Rank 0 hears where all listen, and tells them; it keeps the connections.
static Status gatherPlaces(const Launch &launch, const Deadline &deadline,
                           std::vector<Socket> &connections,
                           std::vector<Place> &places) {
  uint32_t port = launch.port;
  HOCKET_ASSIGN_OR_RETURN(Socket master, listenOn(port));
  for (unsigned come = 1; come < launch.size;) {
    Hello hello;
    Place place;
    HOCKET_ASSIGN_OR_RETURN(Socket socket,
                            acceptRank(master, launch, deadline, hello, place));
    if (hello.rank == 0 || connections[hello.rank].isOpen())
      continue;
    connections[hello.rank] = std::move(socket);
    places[hello.rank] = place;
    ++come;
  }
  std::span<const char> bytes(reinterpret_cast<const char *>(places.data()),
                              places.size() * sizeof(Place));
  for (unsigned rank = 1; rank < launch.size; ++rank)
    HOCKET_RETURN_IF_ERROR(writeAll(connections[rank], bytes));
  return okStatus();
}

/// Any other rank: calls those below it and is called by those above.
static Status meetOthers(const Launch &launch, const Deadline &deadline,
                         std::vector<Socket> &connections,
                         std::vector<Place> &places) {
  Hello own;
  own.rank = launch.rank;
  own.size = launch.size;
  HOCKET_ASSIGN_OR_RETURN(Socket listener, listenOn(own.port));
  HOCKET_ASSIGN_OR_RETURN(connections[0],
                          connectTo(launch.address, launch.port, deadline));
  HOCKET_RETURN_IF_ERROR(writeAll(connections[0], bytesOf(own)));
  HOCKET_RETURN_IF_ERROR(readAll(
      connections[0],
      {reinterpret_cast<char *>(places.data()), places.size() * sizeof(Place)},
      std::max(1.0, deadline.left())));
  for (unsigned rank = 1; rank < launch.rank; ++rank) {
    places[rank].address[sizeof(Place::address) - 1] = '\0';
    HOCKET_ASSIGN_OR_RETURN(
        connections[rank],
        connectTo(places[rank].address, places[rank].port, deadline));
    HOCKET_RETURN_IF_ERROR(writeAll(connections[rank], bytesOf(own)));
  }
  for (unsigned come = launch.rank + 1; come < launch.size;) {
    Hello hello;
    Place place;
    HOCKET_ASSIGN_OR_RETURN(
        Socket socket, acceptRank(listener, launch, deadline, hello, place));
    if (hello.rank <= launch.rank || connections[hello.rank].isOpen())
      continue;
    connections[hello.rank] = std::move(socket);
    ++come;
  }
  return okStatus();
}

StatusOr<std::vector<Socket>> comm::connectAll(const Launch &launch,
                                               double seconds) {
  Deadline deadline(seconds);
  std::vector<Socket> connections(launch.size);
  std::vector<Place> places(launch.size);
  HOCKET_RETURN_IF_ERROR(
      launch.rank == 0 ? gatherPlaces(launch, deadline, connections, places)
                       : meetOthers(launch, deadline, connections, places));
  return connections;
}
