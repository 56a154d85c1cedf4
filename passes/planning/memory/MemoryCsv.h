//===- MemoryCsv.h - Buffers as rows ----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The text form of a memory problem: the CSV of MiniMalloc, whose rows are
/// buffers, with further columns for what it lacks. Columns stand in any order;
/// `id`, `size`, `lower` and `upper` are needed, the others may be left out,
/// and so may any of their cells.
///
///     id,lower,upper,size,alignment,offset,gaps,host,within,arena
///     x,0,4,1024,256,,,,,
///     y,3,9,512,,,,x,0,
///     z,0,9,1024,,2048,2-5,,,
///     w,0,9,1024,,,2-5@0:512,,,
///     h,0,9,4096,,,,,,host
///
/// Here y stands in place of x, from its first byte on; z is fixed, and not
/// needed during [2, 5), when w needs only its bytes [0, 512); h is in an arena
/// of its own.
///
/// `buffer_id` or `buffer` may stand for `id` and `start` for `lower`; `end` in
/// place of `upper` is the last moment of the lifetime, `upper` the first one
/// after it. Several gaps have blanks between them. A `hint` is not used.
/// Cells are not quoted; '#' is an ordinary character; empty lines are skipped.
/// Every error is `file:line:column: Q60: ...`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_MEMORYCSV_H
#define HOCKET_PASSES_PLANNING_MEMORY_MEMORYCSV_H

#include "passes/planning/memory/MemoryProblem.h"

#include <string_view>

namespace hocket::planning {

struct MemoryTable {
  MemoryProblem problem;
  /// Of each buffer, as it is in the file: its `id`.
  std::vector<std::string> names;
};

/// Refuses (Q60) what is no such table or no problem.
StatusOr<MemoryTable> readMemoryCsv(std::string_view file,
                                    std::string_view text);

/// `text`, which readMemoryCsv has read, with `offsets` in its column `offset`,
/// which stands last if it is new.
std::string writeMemoryCsv(std::string_view text, const MemoryOffsets &offsets);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_MEMORYCSV_H
