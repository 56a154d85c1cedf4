//===- Reshard.h - From one sharding to another -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The cheapest sequence of collectives between two shardings of one tensor.
/// Sums come first, scattered where the target is split by the same axes; then
/// what only drops elements (slice); then exchanges; then what gathers, so that
/// every step moves as few bytes as it can.
///
/// Where a dim is padded, blocks of some axes need not be made of blocks of
/// more axes: 32 rows over 3 x 2 devices lie in blocks of 6, over 3 of them in
/// blocks of 11. Between two such shardings the dim is gathered further than
/// both have in common, and sliced again.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_RESHARD_H
#define HOCKET_PASSES_DIST_RESHARD_H

#include "dialects/dist/IR/Sharding.h"

namespace hocket::dist {

struct ReshardStep {
  enum class Kind { AllReduce, ReduceScatter, Slice, AllToAll, AllGather };
  Kind kind;
  Axes axes;
  int64_t dim = 0;    ///< scattered, sliced, gathered; split by AllToAll
  int64_t concat = 0; ///< of AllToAll
};

/// The steps of a tensor of `type` from `from` to `to`; empty if they are the
/// same. Fails if `to` has partial sums over an axis over which `from` has
/// none.
mlir::FailureOr<llvm::SmallVector<ReshardStep>>
planReshard(const Mesh &mesh, mlir::RankedTensorType type, const Sharding &from,
            const Sharding &to);

/// The sharding after a step.
Sharding afterStep(Sharding sharding, const ReshardStep &step);

/// Builds a step on a local value; `result` is the type of the shard after it.
mlir::Value buildStep(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value local, const ReshardStep &step,
                      mlir::RankedTensorType result, mlir::StringAttr why);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_RESHARD_H
