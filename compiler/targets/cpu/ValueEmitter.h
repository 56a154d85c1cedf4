//===- ValueEmitter.h - The values of a kernel ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Computes the nodes of a plan where the loops need them: scalars once per
/// function, row values once per row, the others as vectors of consecutive
/// columns, several vectors at a time.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_VALUEEMITTER_H
#define HOCKET_COMPILER_TARGETS_CPU_VALUEEMITTER_H

#include "compiler/targets/cpu/LoopBuilder.h"

namespace hocket::cpu {

/// Consecutive columns that are computed together: `vectors` vectors beginning
/// at `column`, the last of which may be cut by `mask`.
struct Strip {
  mlir::Value column;
  unsigned vectors = 1;
  Mask mask;
};

class ValueEmitter {
public:
  /// `buffers` and `scalars` are the kernel's arguments. Loads pointers and
  /// everything that is the same for all elements.
  ValueEmitter(LoopBuilder &builder, const KernelPlan &plan,
               mlir::Value buffers, mlir::Value scalars);

  /// Begins row `row`: computes its values that need no reduction.
  void beginRow(mlir::Value row);
  /// Computes the row values that need `stage` reductions.
  void emitRowValues(unsigned stage);

  /// Prepares row values that `nodes` use for use in vectors. To be called in
  /// the row, before the loop over columns.
  void spread(llvm::ArrayRef<unsigned> nodes);
  /// Forgets all vectors and computes those of `nodes`.
  void emitVectors(llvm::ArrayRef<unsigned> nodes, const Strip &strip);
  /// As emitVectors, keeping what is there.
  void addVectors(llvm::ArrayRef<unsigned> nodes, const Strip &strip);

  /// A node's value: a scalar, or vector `i` of the strip.
  mlir::Value scalar(unsigned node) { return scalars.lookup(node); }
  mlir::Value vector(unsigned node, unsigned i);
  /// Defines what a reduction gave.
  void define(unsigned node, mlir::Value value) { scalars[node] = value; }

  /// Vector `i` of a row buffer, and the keeping of a node's vectors there.
  void readCache(llvm::ArrayRef<unsigned> nodes, const Strip &strip);
  void writeCache(llvm::ArrayRef<unsigned> nodes, const Strip &strip);

  /// Stores results. storeRow: those of one element a row. storeStrip: full
  /// ones. storeColumns: sums, added to the buffer where scalars[3] says so.
  void storeRow();
  void storeStrip(const Strip &strip);
  void storeColumns(llvm::ArrayRef<mlir::Value> sums, const Strip &strip);

private:
  mlir::Value emitOperation(const PlanNode &node,
                            llvm::ArrayRef<mlir::Value> operands, bool vector);
  mlir::Value emitScalar(const PlanNode &node);
  mlir::Value emitRandom(const PlanNode &node, mlir::Value words);
  void emitKeepScale(unsigned id, const Strip &strip);
  void emitInput(unsigned id, const Strip &strip);
  void prefetchRowsAhead(const PlanBuffer &buffer, mlir::Value address,
                         unsigned vectors);
  mlir::Value rowBase(const PlanBuffer &buffer, mlir::Value base);
  mlir::Value columnOf(const Strip &strip, unsigned i);
  Mask maskOf(const Strip &strip, unsigned i);

  LoopBuilder &b;
  const KernelPlan &plan;
  mlir::Value scalarArguments;
  llvm::SmallVector<mlir::Value> inputs, results; ///< Base pointers.
  llvm::SmallVector<mlir::Value> caches;
  mlir::Value seedLow, seedHigh, step, microbatch; ///< If random.
  mlir::Value addsUp;                              ///< scalars[3] != 0.
  mlir::Value row;
  llvm::DenseMap<unsigned, mlir::Value> scalars;
  llvm::DenseMap<unsigned, mlir::Value> spreads;
  llvm::DenseMap<unsigned, llvm::SmallVector<mlir::Value, 4>> vectors;
};

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_VALUEEMITTER_H
