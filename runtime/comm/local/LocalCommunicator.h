//===- LocalCommunicator.h - A group of one rank ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H
#define HOCKET_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H

#include "runtime/comm/interfaces/Communicator.h"

#include <memory>

namespace hocket::comm {

/// The only rank of its group: every collective is a copy.
std::unique_ptr<Communicator> createLocalCommunicator();

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H
