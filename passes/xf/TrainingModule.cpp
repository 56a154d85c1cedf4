//===- TrainingModule.cpp - The fixed names of a training module ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/TrainingModule.h"

#include "dialects/xf/IR/HostInputs.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hocket::xf;

FailureOr<TrainingOp> hocket::xf::findTraining(ModuleOp module) {
  auto found = module.getOps<TrainingOp>();
  if (!found.empty() && std::next(found.begin()) == found.end())
    return *found.begin();
  return module.emitError("needs one xf.training");
}

FloatType hocket::xf::narrowTypeOf(TrainingOp training) {
  switch (training.getPrecision()) {
  case Precision::Fp32:
    return {};
  case Precision::Bf16:
    return BFloat16Type::get(training.getContext());
  case Precision::Fp16:
    return Float16Type::get(training.getContext());
  }
  llvm_unreachable("every precision has its case");
}

FailureOr<func::FuncOp> hocket::xf::findForward(ModuleOp module) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward || forward.isExternal())
    return module.emitError("needs a function @forward with a body");
  if (!takesMicrobatch(forward) || forward.getNumResults() != 1)
    return forward.emitOpError(
        "is not (tokens, labels and what else the host gives) -> loss");
  return forward;
}

bool hocket::xf::servesAlone(ModuleOp module) {
  return llvm::any_of(module.getOps<ServeOp>(),
                      [](ServeOp serve) { return serve.getAlone(); });
}

void hocket::xf::outputLoss(func::FuncOp function) {
  for (OutputOp output : function.getOps<OutputOp>())
    if (output.getName() == "loss")
      return;
  Operation *end = function.front().getTerminator();
  OpBuilder(end).create<OutputOp>(end->getLoc(), end->getOperand(0), "loss");
}

void hocket::xf::growArguments(func::FuncOp function) {
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  Block &body = function.front();
  attributes.resize(body.getNumArguments(),
                    DictionaryAttr::get(function.getContext()));
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             body.getArgumentTypes(),
                                             function.getResultTypes()));
  function.setAllArgAttrs(attributes);
}

VariableOp hocket::xf::parameterOf(VariableOp variable,
                                   const SymbolTable &symbols) {
  if (!variable.getOf())
    return variable;
  return symbols.lookup<VariableOp>(*variable.getOf());
}
