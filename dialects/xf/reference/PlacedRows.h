//===- PlacedRows.h - Rows that stand in the place of tokens ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_REFERENCE_PLACEDROWS_H
#define HOCKET_DIALECTS_XF_REFERENCE_PLACEDROWS_H

#include "dialects/xf/IR/XfOps.h"

namespace hocket::xf {

/// Of `rows` [B, S] calls `take(token, source)` for each token that a row
/// stands in the place of: its number among all, and that row's among all
/// sequences' sources. An error of `op` where a sequence has not so many.
template <typename Op, typename Take>
mlir::LogicalResult eachPlacedRow(Op op, const ReferenceTensor &rows,
                                  const ReferenceTensor &source, Take take) {
  int64_t sources = source.size() / source.dim(-1) / rows.dim(0);
  for (int64_t token = 0; token < rows.size(); ++token) {
    auto row = static_cast<int64_t>(rows[token]);
    if (row >= sources)
      return op.emitOpError("is given the row ")
             << row << " of " << sources << " of a sequence";
    if (row >= 0)
      take(token, token / rows.dim(1) * sources + row);
  }
  return mlir::success();
}

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_REFERENCE_PLACEDROWS_H
