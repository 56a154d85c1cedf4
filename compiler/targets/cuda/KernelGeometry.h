//===- KernelGeometry.h - Which thread computes which elements --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the iteration space of a kernel is laid over threads and blocks. All of
/// it is chosen at compile time. A thread computes `width` consecutive columns
/// at a time, so that its accesses are of 16 bytes where the shape allows:
///
///   flat     no reduction: a thread has one vector of a row and is done
///   rows     a row belongs to a warp, or to a block; each thread walks over
///            its vectors once for every pass of the plan. Where there are few
///            steps, inputs are kept in registers from pass to pass. Where rows
///            are summed as well, a block has many, one after another: a thread
///            adds what is of its columns, and so are the warps of a block,
///            then the `parts` that blocks have summed: a group of about the
///            square root of their number by the block of it that is done last,
///            and the groups by the block that is last of all, each in order
///   columns  sums over rows: a block has `lanes` vectors of columns and
///            `groups` threads for each; group g sums rows g, g + groups, ...,
///            and the sums of the groups are added in a tree. Many rows are cut
///            into `parts`, each summed by a block of its own; the block that
///            is done last adds the parts' sums the same way, in their order
///
/// Nothing depends on how blocks are scheduled, nor on how many
/// multiprocessors there are: the same kernel gives the same bits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_KERNELGEOMETRY_H
#define HOCKET_COMPILER_TARGETS_CUDA_KERNELGEOMETRY_H

#include "compiler/targets/loops/KernelPlan.h"

namespace hocket::cuda {

using loops::KernelPlan;

struct Geometry {
  enum class Form { Flat, Rows, Columns } form = Form::Flat;
  int width = 1;   ///< Columns of a vector: 1, 2, 4, 8 or 16.
  int block = 256; ///< Threads of a block.
  int64_t blocks = 1;
  int rowThreads = 32;      ///< Rows: threads of a row, 32 or the block.
  int64_t steps = 1;        ///< Rows: vectors of a thread in a row.
  bool held = false;        ///< Rows: the steps' values fit into registers.
  int64_t groupParts = 1;   ///< Rows that are summed: parts of a group.
  int lanes = 1;            ///< Columns: vectors of a block, side by side.
  int groups = 1;           ///< Columns: threads that share a vector's rows.
  int64_t parts = 1;        ///< Sums: blocks that share a vector's rows.
  int64_t partRows = 1;     ///< Sums: rows of a part, but for the last.
  int64_t sharedFloats = 0; ///< Dynamic shared memory.

  int64_t rowsOfBlock() const { return block / rowThreads; } ///< Rows: at once.
  int64_t groupsOfParts() const {
    return (parts + groupParts - 1) / groupParts;
  }
};

/// Bytes of dynamic shared memory that row buffers may take together: what
/// every architecture from sm_80 on has for a block, with room for others.
inline constexpr int64_t kRowBufferBytes = 96 * 1024;

/// Lays out `plan`. Fails with a diagnostic at the kernel where it would take
/// more blocks than a launch may have.
mlir::FailureOr<Geometry> chooseGeometry(const KernelPlan &plan);

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_KERNELGEOMETRY_H
