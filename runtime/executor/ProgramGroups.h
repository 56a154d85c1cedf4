//===- ProgramGroups.h - Communicators that a program needs -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_PROGRAMGROUPS_H
#define HOCKET_RUNTIME_EXECUTOR_PROGRAMGROUPS_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/program/program.pb.h"

namespace hocket {

/// The groups of a checked program, each with the streams and tags that any
/// role uses it with. The same on every rank.
comm::GroupTable groupTableOf(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_PROGRAMGROUPS_H
