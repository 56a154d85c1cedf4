//===- MessageTags.h - Tags that one communicator serves --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_MESSAGETAGS_H
#define HOCKET_RUNTIME_PROGRAM_MESSAGETAGS_H

#include "runtime/program/program.pb.h"

#include <map>

namespace hocket {

/// By group, of each tag the first one with whose messages its own may be
/// counted: the same ranks send it to the same, and no entry has both, so that
/// the k-th that is sent stays the k-th that is received. Training and
/// evaluating have tags of their own between the same stages.
std::map<uint32_t, std::map<uint32_t, uint32_t>>
sharedTags(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_MESSAGETAGS_H
