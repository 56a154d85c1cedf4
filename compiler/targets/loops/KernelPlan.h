//===- KernelPlan.h - How a fused region becomes loops ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The plan of one kernel, free of any instruction set: which loops, which
/// values in which loop, what is computed again and what is kept.
///
/// A row without reductions is one *pass* over the columns. Each reduction
/// ends a pass, because what depends on it needs the row again:
///
///   mean = reduce x          pass 0: x
///   var  = reduce (x-mean)^2 pass 1: x, x-mean, ...
///   y    = (x-mean)*rstd     pass 2: x, x-mean, ..., store y
///
/// A value of an earlier pass is computed again from its loads (the row is in
/// cache), unless a transcendental went into it: then the earlier pass keeps
/// it in a row buffer on the stack. Results are stored in the last pass only,
/// so that they may be written over inputs. A row may also add to sums over
/// all rows (`isSum`), in the last pass.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_LOOPS_KERNELPLAN_H
#define HOCKET_COMPILER_TARGETS_LOOPS_KERNELPLAN_H

#include "dialects/kern/IR/Kern.h"

#include <string>
#include <vector>

namespace hocket::loops {

/// What a value varies with; the union of two is their bitwise or.
enum class Level { Scalar = 0, Row = 1, Column = 2, Full = 3 };

inline Level join(Level a, Level b) {
  return static_cast<Level>(static_cast<int>(a) | static_cast<int>(b));
}

/// Element types in memory.
enum class Element { F32, BF16, F16, I32, F8E4M3, F8E5M2 };

inline int64_t bytesOf(Element element) {
  switch (element) {
  case Element::F32:
  case Element::I32:
    return 4;
  case Element::BF16:
  case Element::F16:
    return 2;
  case Element::F8E4M3:
  case Element::F8E5M2:
    return 1;
  }
  return 0;
}

/// An input or result: how its elements follow the iteration space.
struct PlanBuffer {
  Element element;
  kern::Access access;
  int64_t rows = 1; ///< Of a tiled input: after how many rows it repeats.
  uint64_t elements = 0;
};

/// A value of the region. Nodes are in an order in which operands come first.
struct PlanNode {
  enum class Kind { Input, Instance, Operation, KeepScale, Reduction, Same };
  explicit PlanNode(Kind kind) : kind(kind) {}

  Kind kind;
  mlir::Operation *op = nullptr; ///< Operation, KeepScale.
  unsigned index = 0;            ///< Input, Instance: which.
  kern::Reduction reduction = kern::Reduction::Add;
  llvm::SmallVector<unsigned, 3> operands;
  mlir::Type type; ///< In the source module's context.
  Level level = Level::Scalar;
  unsigned stage = 0; ///< First pass that can compute it; 0 without reductions.
  bool costly = false;
  bool live = false;
  int cache = -1; ///< Row buffer that keeps it, or -1.
};

/// One walk over the columns of a row.
struct PlanPass {
  llvm::SmallVector<unsigned> nodes;      ///< Vector values, in order.
  llvm::SmallVector<unsigned> reductions; ///< Nodes that this pass reduces.
  llvm::SmallVector<unsigned> fromCache;  ///< Read from row buffers.
  llvm::SmallVector<unsigned> toCache;    ///< Written to row buffers.
  unsigned weight = 0;                    ///< Operations per element.
};

/// A result and the node it takes its elements from.
struct PlanResult {
  PlanBuffer buffer;
  unsigned node;
};

struct KernelPlan {
  kern::KernelOp kernel;
  std::string symbol;
  /// Rows: a task is a row, or a chunk of one. Columns: a task is a block of
  /// `chunk` columns, summed over all rows.
  enum class Form { Rows, Columns } form = Form::Rows;
  int64_t rows = 1, cols = 1;
  int64_t chunk = 1; ///< Columns of a task; `cols` if rows are not split.
  bool accumulates = false; ///< scalars[3] is read, for sums over rows.
  bool usesRandom = false;
  llvm::SmallVector<PlanBuffer> inputs;
  llvm::SmallVector<PlanResult> results;
  std::vector<PlanNode> nodes;
  std::vector<PlanPass> passes; ///< Form::Rows; by stage.
  unsigned caches = 0;          ///< Row buffers of `cols` f32 each.

  int64_t chunksPerRow() const { return (cols + chunk - 1) / chunk; }
  int64_t tasks() const {
    return form == Form::Columns ? chunksPerRow() : rows * chunksPerRow();
  }
  int64_t points() const { return rows * cols; }
  double flops() const;
  uint64_t bytes() const;
  int64_t grain() const;
  /// Whether a kernel of rows sums `result` over all of them.
  bool isSum(const PlanResult &result) const {
    return form == Form::Rows && result.buffer.access == kern::Access::Col;
  }
  int64_t sums() const; ///< how many of these there are
  bool isVector(unsigned node) const {
    return static_cast<int>(nodes[node].level) & 2;
  }
};

/// Plans `kernel`, with row buffers of at most `rowBufferBytes` together.
/// Fails with a diagnostic for an op, type or access that no target knows.
mlir::FailureOr<KernelPlan> planKernel(kern::KernelOp kernel,
                                       int64_t rowBufferBytes);

} // namespace hocket::loops

#endif // HOCKET_COMPILER_TARGETS_LOOPS_KERNELPLAN_H
