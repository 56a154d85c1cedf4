//===- SubAxes.h - Axes of a mesh, cut by what they split -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tp` and `cp` are cut into sub-axes where not all that they split is split
/// over all of them:
///
///   key heads   that are fewer than the ranks along `tp` are split over its
///               first sub-axes, and are the same along the others.
///   experts     have a grid of their own (folding, arXiv 2504.14960): along
///               some sub-axes ranks hold different experts, along others the
///               same ones, whose rows they share, and along the last of `tp`
///               each expert is split.
///
/// With 2 key heads, tp = 8 and each expert split in 2 these are `tp.0` and
/// `tp.1`, of 2 and 2, for different experts, and `tp.2`, of 2; key heads are
/// split over `tp.0`. All else is split over all sub-axes together, which are
/// one group of ranks to it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_XFTODIST_SUBAXES_H
#define HOCKET_PASSES_CONVERSION_XFTODIST_SUBAXES_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace hocket::dist {

/// What a sub-axis is to experts.
enum class ExpertUse : uint8_t { Rows, Different, Inside };

struct SubAxis {
  int64_t size;
  bool splitsKeyHeads;
  ExpertUse use;
};

/// How an axis is cut; each number is at least 1.
struct AxisCut {
  int64_t ranks;         ///< all of the axis
  int64_t keyHeads = 1;  ///< of the model, where the axis splits them
  int64_t different = 1; ///< parts along the axis of a layer's experts
  int64_t inside = 1;    ///< parts of each expert

  /// Whether it can be: the parts divide the ranks.
  bool isEven() const {
    return ranks % different == 0 && ranks / different % inside == 0;
  }
};

/// The sub-axes of an even cut, those that split key heads first; none of size
/// 1. The sizes multiply to the ranks.
llvm::SmallVector<SubAxis> cutAxis(const AxisCut &cut);

} // namespace hocket::dist

#endif // HOCKET_PASSES_CONVERSION_XFTODIST_SUBAXES_H
