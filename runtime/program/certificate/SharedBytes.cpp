//===- SharedBytes.cpp - Bytes that several streams use -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/SharedBytes.h"

#include "runtime/program/InstructionOperands.h"

#include <algorithm>
#include <map>

using namespace hocket;
using program::Buffer;

namespace {
/// Bytes [begin, end) of the arena.
struct Bytes {
  uint64_t begin = 0, end = 0;
};

/// A set of bytes.
class ByteSet {
public:
  void add(Bytes bytes) {
    auto at = ranges.upper_bound(bytes.begin);
    if (at != ranges.begin() && std::prev(at)->second >= bytes.begin)
      --at;
    while (at != ranges.end() && at->first <= bytes.end) {
      bytes.begin = std::min(bytes.begin, at->first);
      bytes.end = std::max(bytes.end, at->second);
      at = ranges.erase(at);
    }
    ranges[bytes.begin] = bytes.end;
  }
  bool meets(Bytes bytes) const {
    auto at = ranges.lower_bound(bytes.end);
    return at != ranges.begin() && std::prev(at)->second > bytes.begin;
  }

private:
  std::map<uint64_t, uint64_t> ranges; ///< begin -> end, disjoint.
};
} // namespace

static Bytes bytesOf(const Buffer &buffer, uint32_t slot) {
  uint64_t begin = buffer.offset() + slot * buffer.slot_stride();
  return {begin, begin + buffer.bytes()};
}

/// What instructions beside stream 0 use, in any slot.
static ByteSet findShared(const program::Program &program,
                          const program::Role &role) {
  ByteSet shared;
  for (const program::Sequence &sequence : role.sequences())
    for (const program::Instruction &instruction : sequence.instructions()) {
      if (instruction.stream() == 0)
        continue;
      for (const InstructionOperand &operand :
           operandsOf(instruction, program)) {
        const Buffer &buffer = role.buffers(int(operand.buffer));
        for (uint32_t slot = 0; slot < copiesOf(buffer); ++slot)
          shared.add(bytesOf(buffer, slot));
      }
    }
  return shared;
}

SharedBytes::SharedBytes(const program::Program &program,
                         const program::Role &role)
    : ranges(size_t(role.buffers_size())) {
  ByteSet shared = findShared(program, role);
  std::vector<bool> used(size_t(role.buffers_size()));
  for (int b = 0; b < role.buffers_size(); ++b)
    for (uint32_t slot = 0; slot < copiesOf(role.buffers(b)); ++slot)
      if (Bytes bytes = bytesOf(role.buffers(b), slot); shared.meets(bytes)) {
        used[size_t(b)] = true;
        ends.insert(ends.end(), {bytes.begin, bytes.end});
      }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  auto segmentAt = [&](uint64_t end) {
    return uint32_t(std::lower_bound(ends.begin(), ends.end(), end) -
                    ends.begin());
  };
  for (int b = 0; b < role.buffers_size(); ++b)
    for (uint32_t slot = 0; used[size_t(b)] && slot < copiesOf(role.buffers(b));
         ++slot) {
      Bytes bytes = bytesOf(role.buffers(b), slot);
      bool meets = shared.meets(bytes);
      ranges[size_t(b)].push_back(
          meets ? Range{segmentAt(bytes.begin), segmentAt(bytes.end)}
                : Range());
    }
}
