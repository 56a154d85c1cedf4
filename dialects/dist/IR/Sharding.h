//===- Sharding.h - Where a tensor's elements live --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `#dist.sharding` and `dist.mesh` as passes reason about them.
///
/// A dim of size n that is split by axes of n1 * n2 * ... = p devices is cut
/// into p blocks of ceil(n / p) elements; the first axis of the list chooses
/// the coarsest part. Blocks beyond n are padding and hold zeros.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_DIST_IR_SHARDING_H
#define HOCKET_DIALECTS_DIST_IR_SHARDING_H

#include "base/AxisKind.h"
#include "dialects/dist/IR/Dist.h"

#include "llvm/ADT/MapVector.h"

#include <string>

namespace hocket::dist {

/// Names of mesh axes; they live as long as the MLIR context.
using Axes = llvm::SmallVector<llvm::StringRef, 2>;

/// Per dim the axes that split it, and the axes over which the shards are
/// partial sums. No axis stands twice.
struct Sharding {
  llvm::SmallVector<Axes, 4> dims;
  Axes partial;

  static Sharding whole(int64_t rank);
  static Sharding of(ShardingAttr attribute);
  ShardingAttr toAttr(mlir::FlatSymbolRefAttr mesh) const;

  bool isWhole() const;
  bool operator==(const Sharding &) const = default;

  /// For people: `[[dp], [], [tp]], partial = []`.
  std::string text() const;
};

/// The sizes of a mesh's axes, in its order.
class Mesh {
public:
  explicit Mesh(MeshOp op);

  mlir::FlatSymbolRefAttr symbol() const { return name; }
  bool contains(llvm::StringRef axis) const { return sizes.contains(axis); }
  int64_t size(llvm::StringRef axis) const { return sizes.lookup(axis); }
  int64_t product(llvm::ArrayRef<llvm::StringRef> axes) const;
  /// Of all axes.
  int64_t devices() const;
  /// The axis of `kind`, or the sub-axes into which it is cut, in the mesh's
  /// order; empty if there are neither.
  Axes parts(AxisKind kind) const;

  /// The rows of each part of a sequence that is stored out of order; 0 where
  /// none is.
  int64_t partRows() const { return parted; }
  /// In how many rounds such parts are dealt out.
  int64_t rounds() const { return dealt; }

  /// What one device holds of a tensor of `type`.
  mlir::RankedTensorType localType(mlir::RankedTensorType type,
                                   const Sharding &sharding) const;

private:
  mlir::FlatSymbolRefAttr name;
  llvm::MapVector<llvm::StringRef, int64_t,
                  llvm::DenseMap<llvm::StringRef, unsigned>>
      sizes;
  int64_t parted, dealt;
};

} // namespace hocket::dist

#endif // HOCKET_DIALECTS_DIST_IR_SHARDING_H
