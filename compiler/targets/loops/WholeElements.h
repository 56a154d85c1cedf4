//===- WholeElements.h - Elements of a shard in the whole -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The way of kernels/reference/TensorShard.h, for targets to write: from the
/// place of an element in the shard that a kernel computes to its place in the
/// whole tensor, over which random numbers are counted.
///
/// Neighbouring dims of which the inner one is whole are one dim here, so that
/// the shard [2, 8, 64] of [4, 16, 64] that is split in its first two dims has
/// runs of 8 * 64 elements that follow each other in the whole as well.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_LOOPS_WHOLEELEMENTS_H
#define HOCKET_COMPILER_TARGETS_LOOPS_WHOLEELEMENTS_H

#include "dialects/kern/IR/Kern.h"

namespace hocket::loops {

class WholeElements {
public:
  /// Its rows are elements that stand `stride` apart in the whole.
  struct Dim {
    int64_t extent, stride; ///< of the shard
    int64_t rows;           ///< of the whole
    int64_t inner;          ///< rows that a start or a part counts as one
    int start = -1;         ///< which of `at`, or -1
    int64_t part = 0;       ///< rows; 0: stored in order
    int64_t rounds = 1;     ///< that parts are dealt out in
  };

  explicit WholeElements(kern::KeepScaleOp op);

  /// Elements of the whole tensor; 0 if the kernel computes all of it.
  int64_t size() const { return total; }
  /// Innermost first; none if the kernel computes the whole.
  llvm::ArrayRef<Dim> dimensions() const { return dims; }
  /// How many elements follow each other in the shard and in the whole.
  int64_t run() const;
  /// Whether elements of the shard whose place is a multiple of 4, as is `run`,
  /// stand at multiples of 4 in the whole.
  bool keepsBlocks() const;

private:
  llvm::SmallVector<Dim, 4> dims;
  int64_t total = 0;
};

} // namespace hocket::loops

#endif // HOCKET_COMPILER_TARGETS_LOOPS_WHOLEELEMENTS_H
