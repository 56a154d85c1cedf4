//===- SharedBytes.h - Bytes that several streams use -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CERTIFICATE_SHAREDBYTES_H
#define HOCKET_RUNTIME_PROGRAM_CERTIFICATE_SHAREDBYTES_H

#include "runtime/program/BufferCopies.h"

#include <cstdint>
#include <vector>

namespace hocket {

/// The arena of a role as far as an instruction beside stream 0 uses it, cut
/// into segments at every end of a buffer's copy: two copies share bytes
/// exactly if they share a segment.
class SharedBytes {
public:
  /// Segments [first, last).
  struct Range {
    uint32_t first = 0, last = 0;
  };

  /// Wants sound buffers and operands.
  SharedBytes(const program::Program &program, const program::Role &role);

  uint32_t segments() const {
    return uint32_t(ends.empty() ? 0 : ends.size() - 1);
  }
  /// Of a copy of a buffer; empty if nothing beside stream 0 uses a byte of
  /// the buffer.
  Range of(uint32_t buffer, uint32_t copy) const {
    const std::vector<Range> &copies = ranges[buffer];
    return copies.empty() ? Range() : copies[copy];
  }

private:
  std::vector<uint64_t> ends;             ///< Of segments, ascending.
  std::vector<std::vector<Range>> ranges; ///< By buffer and copy.
};

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CERTIFICATE_SHAREDBYTES_H
