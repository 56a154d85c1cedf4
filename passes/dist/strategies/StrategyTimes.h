//===- StrategyTimes.h - What a way to split an op takes --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_STRATEGIES_STRATEGYTIMES_H
#define HOCKET_PASSES_DIST_STRATEGIES_STRATEGYTIMES_H

#include "passes/dist/OpSharding.h"
#include "runtime/cluster/OpTimes.h"

#include "llvm/ADT/DenseMap.h"

#include <tuple>

namespace hocket::dist {

/// What one device holds of a tensor, in bytes.
int64_t localBytes(const Mesh &mesh, mlir::RankedTensorType type,
                   const Sharding &sharding);

/// Whole nanoseconds, of one device, on a mesh whose last axis is that of
/// neighbours.
class StrategyTimes {
public:
  /// `mesh` and `system` outlive it.
  StrategyTimes(MeshOp op, const Mesh &mesh, const cluster::System &system);

  /// Its share of the op's work at the speed of the system's GEMMs, or the
  /// bytes of its operands and results at that of its memory, whichever takes
  /// longer. Thin shards are not slower than wide ones.
  int64_t op(mlir::Operation *op, const xf::FactorRule &rule,
             const OpSharding &strategy) const;

  /// The collectives that partitioning would write (passes/dist/Reshard.h);
  /// those that only drop elements take nothing.
  int64_t reshard(mlir::RankedTensorType type, const Sharding &from,
                  const Sharding &to);

private:
  cluster::RankGroup groupOf(const Axes &axes) const;
  /// Floating-point operations a second of ops with such operands.
  double rateOf(mlir::Operation *op) const;
  double uncachedReshard(mlir::RankedTensorType type, const Sharding &from,
                         const Sharding &to) const;

  const Mesh &mesh;
  const cluster::System &system;
  cluster::OpTimes times;
  llvm::DenseMap<llvm::StringRef, int64_t> strides; ///< By axis.
  using Key = std::tuple<mlir::Type, mlir::Attribute, mlir::Attribute>;
  llvm::DenseMap<Key, int64_t> known;
};

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_STRATEGIES_STRATEGYTIMES_H
