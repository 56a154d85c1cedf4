//===- EvaluateStep.cpp - One step in the reference evaluator -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// evaluate_step MODULE.mlir INPUTS.json
///
/// Runs the first step of a module of level xf, in the microbatches of its
/// plan, in f64 and prints, as JSON,
/// {"loss": mean of the microbatches, "variables": {name: elements after it}}.
/// INPUTS.json: {"learning_rate": x, "seed": n, "variables": {name: elements},
/// "microbatches": [{input of the host, such as "tokens": elements}]}.
/// Variables that it does not name, as optimizer states, begin as zeros.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/Xf.h"
#include "dialects/xf/reference/Interpreter.h"
#include "passes/xf/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace hocket;
using xf::ReferenceTensor;

[[noreturn]] static void fail(const std::string &what) {
  std::cerr << "evaluate_step: " << what << "\n";
  std::exit(2);
}

/// The elements of `json`, of a tensor of `type`.
static ReferenceTensor tensorOf(const nlohmann::json &json, Type type,
                                StringRef name) {
  ReferenceTensor tensor = xf::zerosOf(type);
  auto elements = json.is_array() ? json.get<std::vector<double>>()
                                  : std::vector{json.get<double>()};
  if (elements.size() != tensor.values.size())
    fail((name + " has " + Twine(elements.size()) + " elements, expected " +
          Twine(tensor.values.size()))
             .str());
  tensor.values = std::move(elements);
  return tensor;
}

static void fillVariables(ModuleOp module, const nlohmann::json &given,
                          xf::EvaluationContext &evaluation) {
  for (auto variable : module.getOps<xf::VariableOp>()) {
    std::string name = variable.getSymName().str();
    evaluation.variables[name] =
        given.contains(name) ? tensorOf(given[name], variable.getType(), name)
                             : xf::zerosOf(variable.getType());
  }
}

static xf::Microbatch microbatchOf(const nlohmann::json &given,
                                   func::FuncOp forward) {
  SmallVector<ReferenceTensor> inputs;
  for (BlockArgument argument : forward.getArguments()) {
    auto input = xf::hostInputOf(forward, argument.getArgNumber());
    if (!input)
      fail("an argument of forward is no input of the host");
    StringRef name = xf::stringifyHostInput(*input);
    inputs.push_back(tensorOf(given.at(name.str()), argument.getType(), name));
  }
  return {inputs[0], inputs[1], {inputs.begin() + 2, inputs.end()}};
}

int main(int argc, char **argv) {
  if (argc != 3)
    fail("expected MODULE.mlir INPUTS.json");
  StatusOr<std::string> text = readFile(argv[2], uint64_t{1} << 30);
  if (!text.ok())
    fail(text.status().message());
  auto given = nlohmann::json::parse(*text);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<plan::PlanDialect, xf::XfDialect, func::FuncDialect,
                      arith::ArithDialect>();
  auto module = parseSourceFile<ModuleOp>(argv[1], &context);
  PassManager passes(&context);
  passes.addPass(xf::createXfSizeMicrobatch());
  if (!module || failed(passes.run(*module)))
    fail("cannot read the module");
  xf::EvaluationContext evaluation;
  evaluation.seed = given["seed"];
  evaluation.inputs["learning_rate"] =
      ReferenceTensor(ArrayRef<int64_t>{}, double(given["learning_rate"]));
  fillVariables(*module, given["variables"], evaluation);
  if (auto prepare = module->lookupSymbol<func::FuncOp>("prepare"))
    if (failed(xf::interpret(prepare, {}, evaluation)))
      fail("prepare has failed");
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  auto steps = module->getOps<xf::StepOp>();
  if (!forward || steps.empty())
    fail("the module does not train");
  std::vector<xf::Microbatch> batches;
  for (const auto &microbatch : given["microbatches"])
    batches.push_back(microbatchOf(microbatch, forward));
  if (failed(xf::interpretStep(*steps.begin(), batches, evaluation)))
    fail("the step has failed");
  nlohmann::json out;
  double loss = 0;
  for (const ReferenceTensor &part : evaluation.outputs["loss"])
    loss += part[0] / double(batches.size());
  out["loss"] = loss;
  for (auto &variable : evaluation.variables)
    out["variables"][variable.first().str()] = variable.second.values;
  std::cout << out << "\n";
}
