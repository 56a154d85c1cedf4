//===- Socket.cpp - TCP connections ---------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/Socket.h"

#include "base/File.h"
#include "base/Format.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace hocket;
using namespace hocket::comm;

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

double Deadline::left() const {
  return std::max(0.0,
                  std::chrono::duration<double>(end - Clock::now()).count());
}

int Deadline::pollTime(double most) const {
  return int(std::ceil(std::min(left(), most) * 1000));
}

static Status socketError(const std::string &what) {
  return unavailable(what + ": " + errnoMessage(errno));
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

Status comm::readAll(const Socket &socket, std::span<char> bytes,
                     double seconds) {
  Deadline deadline(seconds);
  while (!bytes.empty()) {
    pollfd ready{socket.get(), POLLIN, 0};
    int found = ::poll(&ready, 1, deadline.pollTime(1e6));
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

Status comm::writeAll(const Socket &socket, std::span<const char> bytes,
                      double seconds) {
  Deadline deadline(seconds);
  while (!bytes.empty()) {
    pollfd ready{socket.get(), POLLOUT, 0};
    int found = ::poll(&ready, 1, deadline.pollTime(1e6));
    if (found == 0)
      return unavailable("a process does not take what it is sent");
    ssize_t sent = found < 0 ? -1
                             : ::send(socket.get(), bytes.data(), bytes.size(),
                                      MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (sent < 0)
      return socketError("cannot send");
    bytes = bytes.subspan(size_t(sent));
  }
  return okStatus();
}

bool comm::isGone(const Socket &socket) {
  char byte = 0;
  ssize_t got = ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 ||
         (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

static StatusOr<Addresses> resolve(const std::string &host, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int failed =
      ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed)
    return unavailable(::gai_strerror(failed));
  return Addresses(found, ::freeaddrinfo);
}

static Endpoint endpointOf(const sockaddr_storage &from, socklen_t length) {
  char address[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr *>(&from), length, address,
                sizeof(address), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
  // How a socket for both kinds of addresses shows one of IPv4.
  constexpr std::string_view mapped = "::ffff:";
  std::string text = address;
  if (text.starts_with(mapped) && text.find('.') != std::string::npos)
    text = text.substr(mapped.size());
  return {text, uint16_t(std::strtoul(port, nullptr, 10))};
}

Endpoint comm::localEnd(const Socket &socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr *>(&own), &length);
  return endpointOf(own, length);
}

Endpoint comm::remoteEnd(const Socket &socket) {
  sockaddr_storage other{};
  socklen_t length = sizeof(other);
  ::getpeername(socket.get(), reinterpret_cast<sockaddr *>(&other), &length);
  return endpointOf(other, length);
}

bool Endpoint::isLoopback() const {
  return address == "::1" || address.starts_with("127.");
}

bool comm::namesLoopback(const std::string &host) {
  return host == "localhost" || Endpoint{host, 0}.isLoopback();
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

/// 0, or why it failed, as errno says it.
static int connectOnce(const Socket &socket, const addrinfo &to,
                       const Deadline &deadline) {
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0)
    return 0;
  if (errno != EINPROGRESS)
    return errno;
  pollfd ready{socket.get(), POLLOUT, 0};
  int found = 0;
  do
    found = ::poll(&ready, 1, deadline.pollTime(1e6));
  while (found < 0 && errno == EINTR);
  if (found <= 0)
    return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

StatusOr<Socket> comm::connectTo(const std::string &host, uint16_t port,
                                 double seconds) {
  Deadline deadline(seconds);
  std::string what = formatText("cannot connect to %s:%u", host.c_str(), port);
  auto addresses = resolve(host, port);
  if (!addresses.ok())
    return addresses.status().withContext(what);
  int error = ECONNREFUSED;
  for (const addrinfo *each = addresses->get(); each; each = each->ai_next) {
    Socket socket(::socket(each->ai_family,
                           SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.isOpen()) {
      error = errno;
      continue;
    }
    error = connectOnce(socket, *each, deadline);
    if (error)
      continue;
    int flags = ::fcntl(socket.get(), F_GETFL), on = 1;
    ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK);
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return socket;
  }
  return unavailable(what + ": " + errnoMessage(error));
}

//===----------------------------------------------------------------------===//
// Listening
//===----------------------------------------------------------------------===//

/// 0 and a socket that listens, or why not, as errno says it. A socket for
/// IPv6 may take IPv4, too.
static int listenOn(const sockaddr *address, socklen_t length, bool takesBoth,
                    Socket &socket) {
  socket = Socket(::socket(address->sa_family,
                           SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.isOpen())
    return errno;
  int on = 1, only = !takesBoth;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address->sa_family == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
  return ::bind(socket.get(), address, length) || ::listen(socket.get(), 1024)
             ? errno
             : 0;
}

static Status listenError(const std::string &where, int error) {
  return unavailable("cannot listen on " + where + ": " + errnoMessage(error));
}

/// IPv6 and IPv4 with one socket, where there is IPv6.
static StatusOr<std::vector<Socket>> listenEverywhere(uint16_t port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  Socket socket;
  int error =
      listenOn(reinterpret_cast<sockaddr *>(&six), sizeof(six), true, socket);
  if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)
    error = listenOn(reinterpret_cast<sockaddr *>(&four), sizeof(four), false,
                     socket);
  if (error)
    return listenError(formatText("port %u", port), error);
  std::vector<Socket> sockets;
  sockets.push_back(std::move(socket));
  return sockets;
}

StatusOr<std::vector<Socket>> comm::listenAt(const std::string &host,
                                             uint16_t port) {
  std::vector<Socket> sockets;
  if (host.empty())
    return listenEverywhere(port);
  auto addresses = resolve(host, port);
  if (!addresses.ok())
    return listenEverywhere(port);
  std::set<std::string_view> seen; // A host's table may have one twice.
  for (addrinfo *each = addresses->get(); each; each = each->ai_next) {
    std::string_view bytes(reinterpret_cast<char *>(each->ai_addr),
                           each->ai_addrlen);
    bool hasPort = port != 0 || sockets.empty(); // All of them at one port.
    if (!hasPort || !seen.insert(bytes).second)
      continue;
    Socket socket;
    int error = listenOn(each->ai_addr, each->ai_addrlen, false, socket);
    if (error == 0)
      sockets.push_back(std::move(socket));
    else if (error != EADDRNOTAVAIL && error != EAFNOSUPPORT)
      return listenError(formatText("%s:%u", host.c_str(), port), error);
  }
  if (sockets.empty())
    return listenEverywhere(port);
  return sockets;
}
