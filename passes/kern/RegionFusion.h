//===- RegionFusion.h - Two fused regions as one ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// When two regions may become one, why not, and how. Nothing here decides
/// whether that pays; the passes do.
///
/// Regions of equal iteration space join as they are. Beside that,
///  - a region that is elementwise in whole tensors (`isFlat`) takes any space
///    with as many elements, so that `[1 x 4096]` joins `[64 x 64]`;
///  - a region with one value a row joins one over the rows' columns;
///  - a region of one value joins any.
///
/// What one region computes for another is passed as a value: it is not
/// rounded to the element type it would have had in memory. Where that has 8
/// bits, rounding is what the tensor is for, and the regions stay apart.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_KERN_REGIONFUSION_H
#define HOCKET_PASSES_KERN_REGIONFUSION_H

#include "passes/kern/RegionBuilder.h"

#include <string>

namespace hocket::kern {

/// Either fused region, seen alike.
class RegionView {
public:
  /// Null (false) where `op` is neither `kern.rows` nor `kern.columns`.
  explicit RegionView(mlir::Operation *op);

  explicit operator bool() const { return op != nullptr; }
  mlir::Operation *getOperation() const { return op; }
  bool byColumns() const { return columns; }
  Space space() const;
  llvm::StringRef label() const;
  mlir::ValueRange inputs() const;
  mlir::ValueRange instances() const;
  mlir::ValueRange results() const;
  Access inputAccess(unsigned i) const;
  Access resultAccess(unsigned i) const;
  mlir::Block &body() const;

  /// Elementwise in whole tensors: the space's shape does not matter.
  bool isFlat() const;
  /// Whether any op of the body is an `OpTy`.
  template <typename OpTy> bool contains() const {
    return !body().getOps<OpTy>().empty();
  }

private:
  mlir::Operation *op = nullptr;
  bool columns = false;
};

struct FusionLimits {
  unsigned buffers = 16;         ///< operands and results of a kernel
  int64_t rowBytes = 192 * 1024; ///< kept of a row between its reductions
  /// Sums over rows that a region of rows may have, if any.
  unsigned sums = 0;
};

/// Whether the numbers of a tensor have 8 bits.
bool isF8(mlir::Value tensor);

/// What keeps two regions apart; empty where nothing does.
using Refusal = std::string;

/// Where `first` is the earlier of two ops of one block: may they be one? The
/// second may or may not read the first's results. Two `kern.rows` give
/// `kern.rows`; `kern.columns` as the second gives `kern.columns`, for which
/// `first` must have no other use unless it is `kern.columns` itself. With
/// `limits.sums`, one of each in either order gives `kern.rows` that sums rows
/// beside what it computes of each.
Refusal whyNotFuse(RegionView first, RegionView second,
                   const FusionLimits &limits);

/// Makes one op of two for which whyNotFuse() gave no reason with these limits.
/// Results that are still used come first in the order of `first`, then all of
/// `second`. Both ops and their views are gone afterwards.
RegionView fuse(RegionView first, RegionView second,
                const FusionLimits &limits);

/// `value` without the views that keep all of its elements.
mlir::Value sourceOf(mlir::Value value);

/// The region op that computes `value`, through views that keep all elements.
RegionView producerOf(mlir::Value value);

} // namespace hocket::kern

#endif // HOCKET_PASSES_KERN_REGIONFUSION_H
