//===- Peak.cpp - The most that a role's buffers take ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/Peak.h"

#include "runtime/program/BufferCopies.h"

#include <algorithm>
#include <utility>

using namespace hocket;

/// What stands in another buffer's bytes has none of its own.
static uint64_t bytesOf(const program::Buffer &buffer) {
  return buffer.within() ? 0 : bytesOfCopies(buffer);
}

/// The first position at which the bytes that come and go are most.
static uint64_t findPeak(const program::Role &role) {
  // What comes to live at a position, and what has ended before it.
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> changes;
  for (const program::Buffer &buffer : role.buffers())
    if (!buffer.persistent()) {
      changes[buffer.first()].first += bytesOf(buffer);
      changes[buffer.last() + 1].second += bytesOf(buffer);
    }
  uint64_t live = 0, most = 0, at = 0;
  for (const auto &[position, change] : changes) {
    live = live + change.first - change.second;
    if (live > most) {
      most = live;
      at = position;
    }
  }
  return at;
}

RolePeak hocket::peakOf(const program::Role &role) {
  RolePeak peak;
  peak.position = findPeak(role);
  for (const program::Buffer &buffer : role.buffers()) {
    uint64_t copies = copiesOf(buffer);
    peak.arenaBytes =
        std::max(peak.arenaBytes, buffer.offset() + buffer.bytes() +
                                      (copies - 1) * buffer.slot_stride());
    if (!buffer.persistent() &&
        (peak.position < buffer.first() || buffer.last() < peak.position))
      continue;
    peak.liveBytes += bytesOf(buffer);
    peak.byKind[buffer.kind()] += bytesOf(buffer);
  }
  return peak;
}
