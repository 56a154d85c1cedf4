//===- FreePort.cpp - A port for a test's sockets -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/comm/FreePort.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

uint16_t hocket::test::freePort() {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto *pointer = reinterpret_cast<sockaddr *>(&address);
  EXPECT_EQ(::bind(socket, pointer, length), 0);
  EXPECT_EQ(::getsockname(socket, pointer, &length), 0);
  ::close(socket);
  return ntohs(address.sin_port);
}
