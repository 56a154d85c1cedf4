//===- ReferenceModel.cpp - A specification, evaluated --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/ReferenceModel.h"

#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/Xf.h"
#include "dialects/xf/reference/Interpreter.h"
#include "passes/xf/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir;
using namespace hocket;
using namespace hocket::test;
using xf::ReferenceTensor;

ReferenceModel::ReferenceModel(const std::string &text, uint64_t seed,
                               xf::Rounding rounding, const ModelState &state,
                               Microbatch microbatch) {
  context.loadDialect<plan::PlanDialect, xf::XfDialect, func::FuncDialect,
                      arith::ArithDialect>();
  module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(bool(module));
  if (!module)
    return;
  evaluation.seed = seed;
  evaluation.rounding = rounding;
  valid = true;
  if (microbatch == Microbatch::OfPlan) {
    PassManager passes(&context);
    passes.addPass(xf::createXfSizeMicrobatch());
    valid = succeeded(passes.run(*module));
  }
  fill(state);
  if (auto prepare = module->lookupSymbol<func::FuncOp>("prepare"))
    valid &= succeeded(xf::interpret(prepare, {}, evaluation));
}

void ReferenceModel::fill(const ModelState &state) {
  for (auto variable : module->getOps<xf::VariableOp>()) {
    if (variable.getKind() == xf::VariableKind::Gradient ||
        variable.getKind() == xf::VariableKind::Working)
      continue;
    auto found = state.find(variable.getSymName().str());
    ReferenceTensor tensor = xf::zerosOf(variable.getType());
    if (found == state.end() || found->second.size() != tensor.values.size()) {
      ADD_FAILURE() << "no values for " << variable.getSymName().str();
      valid = false;
      continue;
    }
    tensor.values = found->second;
    evaluation.variables[variable.getSymName()] = tensor;
  }
}

/// `labels`: of the step over its microbatches.
static xf::Microbatch microbatchOf(const data::Batch &batch, double labels,
                                   func::FuncOp of) {
  auto tensorOf = [&](unsigned i, const std::vector<int32_t> &values) {
    ReferenceTensor tensor = xf::zerosOf(of.getArgumentTypes()[i]);
    tensor.values.assign(values.begin(), values.end());
    return tensor;
  };
  xf::Microbatch result{tensorOf(0, batch.tokens), tensorOf(1, batch.labels)};
  for (unsigned i = 2; i < of.getNumArguments(); ++i) {
    switch (xf::hostInputOf(of, i).value_or(xf::HostInput::Positions)) {
    case xf::HostInput::LabelCount:
      result.others.emplace_back(ArrayRef<int64_t>{}, labels);
      break;
    case xf::HostInput::TokenTypes:
      result.others.push_back(tensorOf(i, batch.tokenTypes));
      break;
    case xf::HostInput::KeyCounts:
      result.others.push_back(tensorOf(i, batch.keyCounts));
      break;
    case xf::HostInput::Pixels: {
      ReferenceTensor pixels = xf::zerosOf(of.getArgumentTypes()[i]);
      pixels.values.assign(batch.pixels.begin(), batch.pixels.end());
      result.others.push_back(std::move(pixels));
      break;
    }
    case xf::HostInput::ImageRows:
      result.others.push_back(tensorOf(i, batch.imageRows));
      break;
    case xf::HostInput::Neighbors:
      result.others.push_back(tensorOf(i, batch.neighbors));
      break;
    case xf::HostInput::SentenceLabels:
      result.others.push_back(tensorOf(i, batch.sentenceLabels));
      break;
    default:
      result.others.push_back(tensorOf(i, batch.positions));
    }
  }
  return result;
}

StepNumbers ReferenceModel::run(uint64_t step, double learningRate,
                                const std::vector<data::Batch> &batches) {
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  std::vector<xf::Microbatch> microbatches;
  for (const data::Batch &batch : batches)
    microbatches.push_back(microbatchOf(
        batch, double(labelsOf(batches)) / double(batches.size()), forward));
  evaluation.step = static_cast<uint32_t>(step);
  evaluation.outputs.clear();
  evaluation.inputs["learning_rate"] =
      ReferenceTensor(ArrayRef<int64_t>{}, learningRate);
  EXPECT_TRUE(succeeded(xf::interpretStep(*module->getOps<xf::StepOp>().begin(),
                                          microbatches, evaluation)));
  StepNumbers result;
  for (auto &entry : evaluation.outputs)
    for (const ReferenceTensor &value : entry.second)
      if (entry.first() == "loss")
        result.losses.push_back(value[0]);
      else
        result.numbers[entry.first().str()] = value[0];
  return result;
}

double ReferenceModel::evaluate(const data::Batch &batch) {
  auto function = module->lookupSymbol<func::FuncOp>("evaluate");
  xf::Microbatch data =
      microbatchOf(batch, double(labelsOf({batch})), function);
  evaluation.outputs.clear();
  auto results = xf::interpret(function, data.arguments(), evaluation);
  return succeeded(results) ? results->front()[0] : std::nan("");
}

std::vector<double> ReferenceModel::labels() const {
  std::vector<double> result;
  ReferenceTensor lse = evaluation.outputs.lookup("lse").front();
  ReferenceTensor picked = evaluation.outputs.lookup("picked").front();
  for (int64_t i = 0; i < lse.size(); ++i)
    result.push_back(picked[i] - lse[i]);
  return result;
}

ModelState ReferenceModel::state() {
  ModelState all;
  for (auto variable : module->getOps<xf::VariableOp>())
    if (variable.getKind() != xf::VariableKind::Gradient &&
        variable.getKind() != xf::VariableKind::Working)
      all[variable.getSymName().str()] =
          evaluation.variables.lookup(variable.getSymName()).values;
  return all;
}
