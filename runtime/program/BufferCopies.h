//===- BufferCopies.h - Copies of a buffer ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_BUFFERCOPIES_H
#define HOCKET_RUNTIME_PROGRAM_BUFFERCOPIES_H

#include "runtime/program/program.pb.h"

#include <algorithm>

namespace hocket {

/// How many copies there are; at least 1.
inline uint32_t copiesOf(const program::Buffer &buffer) {
  return std::max(1u, buffer.slots());
}

/// Bytes of all copies.
inline uint64_t bytesOfCopies(const program::Buffer &buffer) {
  return buffer.bytes() * copiesOf(buffer);
}

/// The copy that a run uses. Not below copiesOf() where the run's slot does
/// not exist (V30).
inline uint32_t copyOf(const program::Buffer &buffer, uint32_t microbatch,
                       uint32_t slot) {
  if (buffer.slots() <= 1)
    return 0;
  return buffer.by_microbatch() ? microbatch % buffer.slots() : slot;
}
inline uint32_t copyOf(const program::Buffer &buffer,
                       const program::Entry::Run &run) {
  return copyOf(buffer, run.microbatch(), run.slot());
}

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_BUFFERCOPIES_H
