//===- Peak.h - The most that a role's buffers take -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_PEAK_H
#define HOCKET_RUNTIME_PROGRAM_PEAK_H

#include "runtime/program/program.pb.h"

#include <map>
#include <string>

namespace hocket {

/// What a rank of a role needs at most, from its buffers alone.
struct RolePeak {
  uint64_t arenaBytes = 0; ///< Where the last buffer ends.
  uint64_t liveBytes = 0;  ///< Of buffers that live at the peak, all slots.
  uint64_t position = 0;   ///< The first instruction at which they live.
  std::map<std::string, uint64_t> byKind; ///< Their bytes.
};

/// Wants buffers whose extents and sums do not overflow (checkBuffers()).
RolePeak peakOf(const program::Role &role);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_PEAK_H
