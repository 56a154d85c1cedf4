//===- ExpertSharding.h - How experts' ops are split ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Experts have a grid of their own: what is an axis of the model to attention
/// may be one of the data to them, and the other way about. Tokens become rows
/// of experts and back on whole tokens of the devices that share an expert, so
/// that these exchange tokens, as tensor-parallel layers do (arXiv 1909.08053,
/// 2205.05198), and not the rows, of which every token has several.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_EXPERTSHARDING_H
#define HOCKET_PASSES_DIST_EXPERTSHARDING_H

#include "passes/dist/OpSharding.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace hocket::dist {

/// The axes of a mesh that concern experts.
class ExpertAxes {
public:
  /// As the mesh has them.
  explicit ExpertAxes(MeshOp mesh);

  /// Whether `axis` splits experts, one from another or each.
  bool operator()(llvm::StringRef axis) const;
  /// Whether it splits each of them.
  bool splitsEach(llvm::StringRef axis) const;
  /// Those that split them one from another, the coarsest first.
  const Axes &splitting() const { return different; }

private:
  Axes different, rows;
};

/// Whether `op` applies experts' matrices to their rows.
bool isGrouped(mlir::Operation *op);
/// Whether `op` brings rows to the runs that hold their experts, or back, or
/// says where they lie there.
bool exchangesRows(mlir::Operation *op);
/// Whether `op` makes rows of tokens, or tokens or weights of rows.
bool movesRows(mlir::Operation *op);

/// Rows [E, B, C, h] that are sums over axes which split tokens but not
/// experts, with the rows of each expert split over these. Nothing for other
/// tensors.
std::optional<Sharding> splitRows(Sharding rows, const ExpertAxes &experts);

/// An op that moves rows, which has one result.
struct RowsSharding {
  llvm::SmallVector<Sharding, 4> operands;
  Sharding result;
  OpSharding choice; ///< By its rule, of which the two follow.
  unsigned rows;     ///< The operand that the rows are, if they are one.
  Axes sums;         ///< Over which these stay sums.
};

/// `proposals` begin with one for each operand. Rows that are sums over devices
/// that share an expert may stay sums: such an op is linear in them.
RowsSharding chooseRows(mlir::Operation *op, const xf::FactorRule &rule,
                        llvm::SmallVector<Proposal, 4> proposals,
                        const Mesh &mesh, const ExpertAxes &experts);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_EXPERTSHARDING_H
