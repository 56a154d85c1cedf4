//===- TensorAxes.h - Sub-axes of tensor parallelism ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The axis `tp` is cut into sub-axes where not all that it splits is split
/// over all of it:
///
///   key heads   that are fewer than the ranks are split over the first
///               sub-axes, and are the same along the others.
///   experts     have a grid of their own (folding, arXiv 2504.14960): along
///               some sub-axes ranks hold different experts, along others
///               the same ones, whose rows they share, and along the last each
///               expert is split.
///
/// With 2 key heads, tp = 8 and each expert split in 2 these are `tp.0` and
/// `tp.1`, of 2 and 2, for different experts, and `tp.2`, of 2; key heads are
/// split over `tp.0`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_XFTODIST_TENSORAXES_H
#define HOCKET_PASSES_CONVERSION_XFTODIST_TENSORAXES_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace hocket::dist {

/// What a sub-axis is to experts.
enum class ExpertUse : uint8_t { Rows, Different, Inside };

struct TensorAxis {
  int64_t size;
  bool splitsKeyHeads;
  ExpertUse use;
};

/// How `tp` is cut; each number is at least 1.
struct TensorCut {
  int64_t ranks;      ///< all of `tp`
  int64_t keyHeads;   ///< of the model
  int64_t different;  ///< parts along `tp` of a layer's experts
  int64_t inside = 1; ///< parts of each expert; with these divides `ranks`
};

/// The sub-axes, those that split key heads first; none of size 1. The sizes
/// multiply to the ranks.
llvm::SmallVector<TensorAxis> cutTensorAxis(const TensorCut &cut);

} // namespace hocket::dist

#endif // HOCKET_PASSES_CONVERSION_XFTODIST_TENSORAXES_H
