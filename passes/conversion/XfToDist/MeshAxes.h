//===- MeshAxes.h - The axes of a mesh that is being made -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the axes that a plan names to those of the mesh, some of which are cut
/// into sub-axes: `tp` into `tp.0`, `tp.1`, and so on, the coarsest first.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_XFTODIST_MESHAXES_H
#define HOCKET_PASSES_CONVERSION_XFTODIST_MESHAXES_H

#include "passes/conversion/XfToDist/SubAxes.h"

#include "mlir/IR/Location.h"

#include <string>
#include <utility>

namespace hocket::dist {

/// A sub-axis and its name, which lives as long as the context.
using NamedSubAxis = std::pair<llvm::StringRef, SubAxis>;

class MeshAxes {
public:
  /// Errors are reported at `loc`.
  explicit MeshAxes(mlir::Location loc) : loc(loc) {}

  /// Reads entries like `dp=4`, the slowest axis first; without any there is
  /// one device along `dp`. Names must outlive this.
  mlir::LogicalResult parse(llvm::ArrayRef<std::string> entries);

  /// Of an axis that is not there: 1.
  int64_t ranks(llvm::StringRef axis) const;

  /// Puts the sub-axes of `axis` in its place and returns them: it alone, by
  /// its name, where it is whole. Reports a cut that is not even (D20).
  mlir::FailureOr<llvm::SmallVector<NamedSubAxis>> cut(llvm::StringRef axis,
                                                       const AxisCut &cut);

  llvm::ArrayRef<llvm::StringRef> names() const { return axisNames; }
  llvm::ArrayRef<int64_t> sizes() const { return axisSizes; }

private:
  mlir::Location loc;
  llvm::SmallVector<llvm::StringRef> axisNames;
  llvm::SmallVector<int64_t> axisSizes;
};

} // namespace hocket::dist

#endif // HOCKET_PASSES_CONVERSION_XFTODIST_MESHAXES_H
