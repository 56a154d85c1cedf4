//===- ShardOps.h - What an op must know of its shard -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Some ops count elements of the whole tensor: random numbers, rows of a split
/// table, columns of split logits. On a shard they are told where it starts. A
/// norm over all gradients is formed of the norms of shards.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_SHARDOPS_H
#define HOCKET_PASSES_DIST_SHARDOPS_H

#include "dialects/dist/IR/Sharding.h"
#include "dialects/xf/IR/Xf.h"

namespace hocket::dist {

/// A value, as it was before partitioning.
struct Placed {
  mlir::RankedTensorType type; ///< the whole tensor's
  Sharding sharding;
  mlir::Operation *maker = nullptr; ///< null for an argument
};

/// Null for what is no tensor.
struct GlobalTypes {
  llvm::SmallVector<mlir::RankedTensorType> operands, results;
};

struct ShardContext {
  const Mesh &mesh;
  GlobalTypes types;
  llvm::SmallVector<Sharding> operands, results;
};

/// Adds to an op, whose types are already those of shards, what it must know of
/// its place. May replace the op.
mlir::LogicalResult completeShard(mlir::Operation *op,
                                  const ShardContext &context);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_SHARDOPS_H
