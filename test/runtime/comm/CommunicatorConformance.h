//===- CommunicatorConformance.h - What runs the conformance suite -*- C++ -*-//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The suite is linked with one source that says how to run a function as
/// every rank of a group.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_COMM_COMMUNICATORCONFORMANCE_H
#define HOCKET_TEST_RUNTIME_COMM_COMMUNICATORCONFORMANCE_H

#include "runtime/comm/interfaces/Communicator.h"

#include <functional>
#include <string>
#include <vector>

namespace hocket::test {

struct CommunicatorImplementation {
  std::string name; ///< Letters and digits.
  /// Calls `body` once as each rank of one group, and waits for all; or, where
  /// other processes are the other ranks, once.
  std::function<void(const std::function<void(comm::Communicator &)> &body)>
      runGroup;
};

/// The rows of the suite.
std::vector<CommunicatorImplementation> communicatorImplementations();

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_COMM_COMMUNICATORCONFORMANCE_H
