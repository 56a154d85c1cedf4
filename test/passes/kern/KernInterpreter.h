//===- KernInterpreter.h - Runs a module of kernels -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs functions of the kernel level: fused regions and GEMMs in f64, one
/// point after the other, library calls by kernels/cpu in f32 with the buffers
/// and numbers that the call states.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_PASSES_KERN_KERNINTERPRETER_H
#define HOCKET_TEST_PASSES_KERN_KERNINTERPRETER_H

#include "dialects/kern/IR/Kern.h"
#include "dialects/xf/reference/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace hocket::test {

/// The elements of a tensor, or one integer.
using Elements = std::vector<double>;

class KernInterpreter {
public:
  /// Reads and writes the variables, inputs and outputs of `context`, which
  /// says seed, step and microbatch too.
  KernInterpreter(mlir::ModuleOp module, xf::EvaluationContext &context)
      : module(module), context(context) {}

  /// Runs the schedule of `entry` on the data of its microbatches. Fails the
  /// running test where an op cannot be run.
  void run(llvm::StringRef entry, llvm::ArrayRef<xf::Microbatch> batches);

private:
  using Frame = llvm::DenseMap<mlir::Value, Elements>;

  std::vector<Elements> call(llvm::StringRef function,
                             const std::vector<Elements> &arguments);
  void visit(mlir::Operation *op, Frame &frame);
  void visit(kern::LaunchOp op, Frame &frame);
  void visit(kern::GemmOp op, Frame &frame);
  void visit(kern::LibraryOp op, Frame &frame);
  void accumulate(kern::AccumulateOp op, const Elements &value);

  mlir::ModuleOp module;
  xf::EvaluationContext &context;
};

} // namespace hocket::test

#endif // HOCKET_TEST_PASSES_KERN_KERNINTERPRETER_H
