//===- Interpreter.h - The reference evaluator ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs functions and whole steps of the dialect in f64 with plain loops. It is
/// the reference against which everything that is compiled is tested; it shares
/// no code with the kernels but the random generator.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_REFERENCE_INTERPRETER_H
#define HOCKET_DIALECTS_XF_REFERENCE_INTERPRETER_H

#include "dialects/xf/IR/ReferenceTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket::xf {

class StepOp;

/// Runs `function` on `arguments` (one a parameter, of its shape). Reads and
/// writes the context's variables. Fails with a diagnostic on an op that has no
/// reference evaluation, a variable without a value, or an argument of another
/// shape.
mlir::FailureOr<llvm::SmallVector<ReferenceTensor>>
interpret(mlir::func::FuncOp function,
          llvm::ArrayRef<ReferenceTensor> arguments,
          EvaluationContext &context);

/// One microbatch's data.
struct Microbatch {
  ReferenceTensor tokens, labels;
  /// What else the functions take, in order.
  llvm::SmallVector<ReferenceTensor, 2> others = {};

  llvm::SmallVector<ReferenceTensor> arguments() const {
    llvm::SmallVector<ReferenceTensor> all{tokens, labels};
    llvm::append_range(all, others);
    return all;
  }
};

/// Runs one training step: forward and backward once a microbatch, then the
/// update. `batches` has as many entries as the step has microbatches. The
/// caller sets `context.step` and the inputs; `context.outputs` is filled.
mlir::LogicalResult interpretStep(StepOp step,
                                  llvm::ArrayRef<Microbatch> batches,
                                  EvaluationContext &context);

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_REFERENCE_INTERPRETER_H
