//===- KernelGeometry.cpp - Which thread computes which elements ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/KernelGeometry.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace hocket::cuda {

/// Threads of a block that has more than one row, or none in particular.
static constexpr int blockThreads = 256;
/// Steps of a row up to which inputs are kept in registers.
static constexpr int64_t mostHeldSteps = 4;
/// Bytes of consecutive columns that a block sums: one sector of the cache, or
/// where rows are cut into parts, one line.
static constexpr int64_t sectorBytes = 32, lineBytes = 128;
/// Rows of a thread from which on rows are cut into parts. Then, the blocks
/// there are to be: enough for every GPU, whose own number would make the bits
/// differ from one to the next. And the least rows of a thread.
static constexpr int64_t manyRows = 8, splitBlocks = 1024, leastRows = 4;
/// Where a kernel of rows sums them: registers for the vectors of a thread, and
/// the least rows of a block, as its sums are written and read again. Blocks
/// are as many as read `summedBytes` at a time, which is more than a GPU's
/// memory needs to be busy, within bounds.
static constexpr int64_t mostSummedRegisters = 96, leastSummedRows = 32;
static constexpr int64_t summedBytes = 8 << 20;
static constexpr int64_t leastParts = 256, mostParts = 1024;
static constexpr int64_t mostBlocks = (int64_t(1) << 31) - 1;

/// Columns of 16 bytes of the narrowest elements that vary with the column.
static int widest(const KernelPlan &plan) {
  int64_t bytes = 4;
  for (const loops::PlanBuffer &input : plan.inputs)
    if (input.access == kern::Access::Full)
      bytes = std::min(bytes, bytesOf(input.element));
  for (const loops::PlanResult &result : plan.results)
    if (result.buffer.access != kern::Access::Row)
      bytes = std::min(bytes, bytesOf(result.buffer.element));
  return static_cast<int>(16 / bytes);
}

static bool isFlat(const KernelPlan &plan) {
  if (plan.passes.size() > 1)
    return false;
  for (const loops::PlanResult &result : plan.results)
    if (result.buffer.access == kern::Access::Row || plan.isSum(result))
      return false;
  return plan.passes.empty() || plan.passes.front().reductions.empty();
}

static void layFlat(const KernelPlan &plan, Geometry &geometry) {
  geometry.form = Geometry::Form::Flat;
  geometry.block = blockThreads;
  int64_t vectors =
      plan.rows * llvm::divideCeil(plan.cols, int64_t(geometry.width));
  geometry.blocks = llvm::divideCeil(vectors, int64_t(blockThreads));
}

/// Threads of a row of so many vectors: a warp where that can hold them, as it
/// needs no barrier. Else whole warps of which the fewest threads are idle,
/// and, where as few are, of two vectors a thread: one has less under way at a
/// time, and four take so many registers that few blocks fit beside each other.
static int64_t threadsOfRow(int64_t vectors) {
  constexpr int64_t warp = 32, most = 1024;
  if (vectors <= warp * mostHeldSteps)
    return warp;
  int64_t best = most, least = std::numeric_limits<int64_t>::max();
  for (int64_t steps : {2, 1, 3, 4}) {
    int64_t threads =
        llvm::divideCeil(llvm::divideCeil(vectors, steps), warp) * warp;
    if (threads <= most && threads * steps < least)
      best = threads, least = threads * steps;
  }
  return best;
}

/// Registers for a vector of a row that is summed: its sums, what is read,
/// stored, and kept from pass to pass.
static int64_t registersOfVector(const KernelPlan &plan, int64_t width) {
  int64_t bytes = 4 * (plan.sums() + plan.caches);
  for (const loops::PlanBuffer &input : plan.inputs)
    if (input.access == kern::Access::Full)
      bytes += bytesOf(input.element);
  for (const loops::PlanResult &result : plan.results)
    if (result.buffer.access == kern::Access::Full)
      bytes += bytesOf(result.buffer.element);
  return std::max<int64_t>(bytes * width / 4, 1);
}

/// The same where rows are summed and a thread has so many registers for each
/// vector. Few blocks are there at once anyway, and each has its rows one after
/// another: what a row's reductions take of each thread, about as much as a
/// vector, counts more than idle threads.
static int64_t threadsOfSummedRow(int64_t vectors, int64_t registers) {
  constexpr int64_t warp = 32, most = 1024;
  int64_t mostSteps =
      std::clamp<int64_t>(mostSummedRegisters / registers, 1, mostHeldSteps);
  int64_t best = most, least = std::numeric_limits<int64_t>::max();
  for (int64_t steps = 1; steps <= mostSteps; ++steps) {
    int64_t threads =
        llvm::divideCeil(llvm::divideCeil(vectors, steps), warp) * warp;
    int64_t work = threads * (steps + 1);
    if (threads <= most && work <= least)
      best = threads, least = work;
  }
  return best;
}

/// Deals rows that are summed to blocks.
static void layPartsOfRows(const KernelPlan &plan, Geometry &geometry) {
  int64_t bytes = 0, rowsOfBlock = geometry.rowsOfBlock();
  for (const loops::PlanBuffer &input : plan.inputs)
    if (input.access == kern::Access::Full)
      bytes += rowsOfBlock * plan.cols * bytesOf(input.element);
  int64_t parts = std::clamp(summedBytes / std::max<int64_t>(bytes, 1),
                             leastParts, mostParts);
  parts = std::clamp<int64_t>(plan.rows / leastSummedRows, 1, parts);
  geometry.partRows =
      llvm::alignTo(llvm::divideCeil(plan.rows, parts), rowsOfBlock);
  geometry.parts = llvm::divideCeil(plan.rows, geometry.partRows);
  geometry.blocks = geometry.parts;
  while (geometry.groupParts * geometry.groupParts < geometry.parts)
    ++geometry.groupParts;
}

static void layRows(const KernelPlan &plan, Geometry &geometry) {
  geometry.form = Geometry::Form::Rows;
  int64_t vectors = llvm::divideCeil(plan.cols, int64_t(geometry.width));
  bool sums = plan.sums() > 0;
  geometry.rowThreads = static_cast<int>(
      sums
          ? threadsOfSummedRow(vectors, registersOfVector(plan, geometry.width))
          : threadsOfRow(vectors));
  geometry.steps = llvm::divideCeil(vectors, int64_t(geometry.rowThreads));
  geometry.held = geometry.steps <= mostHeldSteps;
  geometry.block = geometry.rowThreads == 32 ? 128 : geometry.rowThreads;
  geometry.blocks = llvm::divideCeil(plan.rows, geometry.rowsOfBlock());
  if (sums)
    layPartsOfRows(plan, geometry);
  if (!geometry.held)
    geometry.sharedFloats = plan.caches * plan.cols;
}

/// Lays sums over many rows out in parts.
static void layParts(const KernelPlan &plan, Geometry &geometry) {
  int64_t vectors = llvm::divideCeil(plan.cols, int64_t(geometry.width));
  int64_t lanes = lineBytes / 16;
  lanes = std::min<int64_t>(lanes, llvm::PowerOf2Ceil(vectors));
  int64_t groups = blockThreads / lanes;
  int64_t blocks = llvm::divideCeil(vectors, lanes);
  int64_t parts =
      std::min(splitBlocks / blocks, plan.rows / (groups * leastRows));
  if (parts < 2)
    return;
  geometry.partRows = llvm::divideCeil(plan.rows, parts);
  geometry.parts = llvm::divideCeil(plan.rows, geometry.partRows);
  geometry.lanes = static_cast<int>(lanes);
  geometry.groups = static_cast<int>(groups);
  geometry.block = blockThreads;
  geometry.blocks = blocks * geometry.parts;
}

static void layColumns(const KernelPlan &plan, Geometry &geometry) {
  geometry.form = Geometry::Form::Columns;
  geometry.partRows = plan.rows;
  int64_t narrowest = 16 / widest(plan);
  geometry.lanes = sectorBytes / narrowest / geometry.width;
  int64_t rows = llvm::PowerOf2Ceil(plan.rows);
  geometry.groups = std::clamp<int64_t>(rows, 1, 512 / geometry.lanes);
  while (geometry.lanes * geometry.groups < 128)
    geometry.lanes *= 2;
  geometry.block = geometry.lanes * geometry.groups;
  geometry.blocks =
      llvm::divideCeil(plan.cols, int64_t(geometry.lanes) * geometry.width);
  if (plan.rows / geometry.groups >= manyRows)
    layParts(plan, geometry);
}

FailureOr<Geometry> chooseGeometry(const KernelPlan &plan) {
  Geometry geometry;
  geometry.width = widest(plan);
  bool columns = plan.form == KernelPlan::Form::Columns;
  bool flat = !columns && isFlat(plan);
  // A tail is possible where vectors of one row need not begin like another's.
  if (!(flat && plan.rows == 1) && !columns)
    while (plan.cols % geometry.width != 0)
      geometry.width /= 2;
  if (columns)
    layColumns(plan, geometry);
  else if (flat)
    layFlat(plan, geometry);
  else
    layRows(plan, geometry);
  if (geometry.blocks > mostBlocks) {
    kern::KernelOp kernel = plan.kernel;
    return kernel.emitOpError("takes ")
           << geometry.blocks << " blocks on a GPU, but a launch has at most "
           << mostBlocks;
  }
  return geometry;
}

} // namespace hocket::cuda
