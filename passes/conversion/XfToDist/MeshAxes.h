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

#include "base/AxisKind.h"
#include "dialects/plan/ParallelPlan.h"
#include "passes/conversion/XfToDist/SubAxes.h"

#include "mlir/IR/MLIRContext.h"

#include <utility>
#include <vector>

namespace hocket::dist {

/// A sub-axis and its name, which lives as long as the context.
using NamedSubAxis = std::pair<llvm::StringRef, SubAxis>;

class MeshAxes {
public:
  /// The slowest axis first; without any there is one device along `dp`.
  MeshAxes(mlir::MLIRContext *context, const std::vector<plan::MeshAxis> &axes);

  /// Puts the sub-axes of the axis of `kind` in its place and returns them: it
  /// alone, by its name, where it is whole; none where it is not there. The cut
  /// is even, as that of a plan that keeps its rules is.
  llvm::SmallVector<NamedSubAxis> cut(AxisKind kind, const AxisCut &cut);

  llvm::ArrayRef<llvm::StringRef> names() const { return axisNames; }
  llvm::ArrayRef<int64_t> sizes() const { return axisSizes; }

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<llvm::StringRef> axisNames;
  llvm::SmallVector<int64_t> axisSizes;
};

} // namespace hocket::dist

#endif // HOCKET_PASSES_CONVERSION_XFTODIST_MESHAXES_H
