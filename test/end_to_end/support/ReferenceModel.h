//===- ReferenceModel.h - A specification, evaluated ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The same steps in the reference evaluator: plain loops in f64 over the
/// transformer dialect's ops.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_REFERENCEMODEL_H
#define HOCKET_TEST_END_TO_END_SUPPORT_REFERENCEMODEL_H

#include "dialects/xf/IR/ReferenceTensor.h"
#include "test/end_to_end/support/TrainedModel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace hocket::test {

/// How many sequences a model computes at a time: what its plan says, or one,
/// as front ends write it.
enum class Microbatch { OfPlan, OneSequence };

class ReferenceModel {
public:
  /// `text` is a module of level xf. Variables start with the values of
  /// `state`. Not `valid` if one has none there, or another size.
  ReferenceModel(const std::string &text, uint64_t seed, xf::Rounding rounding,
                 const ModelState &state,
                 Microbatch microbatch = Microbatch::OfPlan);

  StepNumbers run(uint64_t step, double learningRate,
                  const std::vector<data::Batch> &batches);
  double evaluate(const data::Batch &batch);
  /// The log-probability of each label, as the last evaluate() has found it; of
  /// a label of -1 it means nothing.
  std::vector<double> labels() const;

  /// The variables that a compiled model keeps too.
  ModelState state();

  bool valid = false;

private:
  void fill(const ModelState &state);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  xf::EvaluationContext evaluation;
};

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_REFERENCEMODEL_H
