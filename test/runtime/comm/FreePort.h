//===- FreePort.h - A port for a test's sockets -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_COMM_FREEPORT_H
#define HOCKET_TEST_RUNTIME_COMM_FREEPORT_H

#include <cstdint>

namespace hocket::test {

/// A port of this host that nobody listens on now.
uint16_t freePort();

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_COMM_FREEPORT_H
