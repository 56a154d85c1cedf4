//===- XfConstraints.h - What the verifiers of the dialect share -*- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Small checks that name their constraint: every message starts with the
/// number that docs/spec.md gives it (`X3: `).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_XFCONSTRAINTS_H
#define HOCKET_DIALECTS_XF_IR_XFCONSTRAINTS_H

#include "dialects/xf/IR/XfOps.h"
#include "kernels/reference/TensorShard.h"

#include "mlir/IR/TypeUtilities.h"

#include <optional>

namespace hocket::xf {

using Shape = llvm::ArrayRef<int64_t>;

inline Shape shapeOf(mlir::Value value) {
  return llvm::cast<mlir::ShapedType>(value.getType()).getShape();
}
inline mlir::Type elementOf(mlir::Value value) {
  return mlir::getElementTypeOrSelf(value.getType());
}
/// f32 and f64.
inline bool isWide(mlir::Type type) { return type.isF32() || type.isF64(); }

/// The type of gradients and statistics that are kept in f32 at least.
mlir::Type widened(mlir::Type elementType);

/// `value` in the element type of `like`. A gradient may arrive in f32 at an op
/// that computes in bf16: the gradients of parameters are kept in f32.
mlir::Value matching(mlir::OpBuilder &builder, mlir::Value value,
                     mlir::Value like);

/// `X<number>: <what> has shape <found>, expected <expected>`.
mlir::LogicalResult checkShape(mlir::Operation *op, int number,
                               llvm::StringRef what, mlir::Value value,
                               Shape expected);

/// `what`'s element type is that of `like`.
mlir::LogicalResult checkElement(mlir::Operation *op, int number,
                                 llvm::StringRef what, mlir::Value value,
                                 mlir::Type expected);

/// As `like`, or wider.
mlir::LogicalResult checkElementOrWider(mlir::Operation *op, int number,
                                        llvm::StringRef what, mlir::Value value,
                                        mlir::Type like);

/// The whole type is `like`'s.
mlir::LogicalResult checkSameType(mlir::Operation *op, int number,
                                  llvm::StringRef what, mlir::Value value,
                                  mlir::Value like);

/// X111: what bounds the scores of attention, 0 for nothing; not with alibi.
mlir::LogicalResult checkSoftcap(mlir::Operation *op, double softcap,
                                 bool alibi);
/// X112: what bounds numbers.
mlir::LogicalResult checkCap(mlir::Operation *op, double cap);

/// X110: `gate` has a number for each row of `input`, of its type.
mlir::LogicalResult checkRowGate(mlir::Operation *op, mlir::Value input,
                                 mlir::Value gate);

/// X123: `wide`, [B, S, C], has the numbers of the choices in `narrow`,
/// [B, S, 1], and B is of whole questions of C sequences.
mlir::LogicalResult checkQuestions(mlir::Operation *op, mlir::Value narrow,
                                   mlir::Value wide);

/// X125: `chunks`, [B C, m, ...], are what `whole`, [B, C m, ...], is cut into,
/// `shift` rows behind its beginning.
mlir::LogicalResult checkChunks(mlir::Operation *op, mlir::Value whole,
                                mlir::Value chunks, int64_t shift);

/// X124: `rows`, [B, S], say which of the rows of `source`, [B N, T, h], stand
/// among those of `tokens`, [B, S, h], of the same element type. Without a
/// source, of `tokens` alone.
mlir::LogicalResult checkPlacedRows(mlir::Operation *op, mlir::Value tokens,
                                    mlir::Value rows, mlir::Value source);

/// The two 8-bit types.
inline bool isF8(mlir::Type element) {
  return llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(element);
}

/// X83: a GEMM's recipe, if it has one, puts numbers in blocks.
mlir::LogicalResult checkRecipe(mlir::Operation *op,
                                std::optional<Fp8Recipe> recipe);

/// What a recipe puts in a block along what a GEMM sums over; 0: all of it.
int64_t blockOf(Fp8Recipe recipe);

/// The blocks of a weight [out, in] (or [experts, out, in]) in the GEMM that
/// sums over its dim `along`, and those of a tensor of tokens: square ones of a
/// weight with `blockwise`, so that both GEMMs have the same codes.
llvm::SmallVector<int64_t> weightBlocks(Fp8Recipe recipe, int64_t rank,
                                        int64_t along);
llvm::SmallVector<int64_t> tokenBlocks(Fp8Recipe recipe, int64_t rank,
                                       int64_t along);

/// The largest finite number of a float type.
double largestOf(mlir::Type element);

/// `a` and `b`, the op's first two operands, are of one type and have no
/// `scales`, or of 8 bits each, not both f8E5M2, and have two.
mlir::LogicalResult checkOperandTypes(mlir::Operation *op, int number,
                                      llvm::StringRef a, llvm::StringRef b,
                                      mlir::ValueRange scales);

mlir::LogicalResult checkRank(mlir::Operation *op, int number,
                              llvm::StringRef what, mlir::Value value,
                              int64_t rank);

/// A scalar of f32 or f64.
mlir::LogicalResult checkScalar(mlir::Operation *op, int number,
                                llvm::StringRef what, mlir::Value value);

/// X0: every tensor of the op has static, positive sizes whose product is at
/// most 2^48.
mlir::LogicalResult checkStatic(mlir::Operation *op);

/// X18: `0 <= probability < 1`.
mlir::LogicalResult checkProbability(mlir::Operation *op, double probability);

/// What an op that draws random numbers for its input is a shard of.
inline kernels::ShardShape shardOf(DropoutOp op) {
  Shape shard = shapeOf(op.getInput());
  return {shard, op.getWhole().value_or(shard), op.getDims(), op.getParts(),
          static_cast<int64_t>(op.getRounds())};
}

/// X19, X36 (`number`): `positions` can be stored in parts of `part` (0: in
/// order) that are dealt out in `rounds`.
mlir::LogicalResult checkStored(mlir::Operation *op, int number,
                                int64_t positions, int64_t part,
                                int64_t rounds);

/// X38: a shard with `starts` starts is one of its whole.
mlir::LogicalResult checkShard(mlir::Operation *op,
                               const kernels::ShardShape &shard, size_t starts);

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_XFCONSTRAINTS_H
