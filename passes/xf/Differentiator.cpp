//===- Differentiator.cpp - Reverse-mode differentiation of functions -----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/Differentiator.h"

#include "passes/xf/CutJointBody.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace hocket::xf;

VariableOp Differentiator::gradientOf(ReadOp read) {
  auto variable = symbols.lookup<VariableOp>(read.getVariable());
  VariableOp parameter = parameterOf(variable, symbols);
  std::string name = (parameter.getSymName() + ".grad").str();
  if (auto existing = symbols.lookup<VariableOp>(name))
    return existing;
  OpBuilder builder(parameter);
  builder.setInsertionPointAfter(parameter);
  auto gradient = builder.create<VariableOp>(
      parameter.getLoc(), builder.getStringAttr(name), parameter.getTypeAttr(),
      VariableKindAttr::get(builder.getContext(), VariableKind::Gradient),
      InitAttr(), builder.getI32IntegerAttr(0), UnitAttr(),
      FlatSymbolRefAttr::get(parameter.getSymNameAttr()), StringAttr(),
      TypeAttr(), ParameterRoleAttr());
  symbols.insert(gradient);
  return gradient;
}

std::string Differentiator::nameOfHalves(func::FuncOp callee) {
  std::string name = callee.getName().str();
  for (int i = 1; symbols.lookup(name + "_forward"); ++i)
    name = (callee.getName() + "_" + Twine(i)).str();
  return name;
}

const FunctionHalves *Differentiator::halvesOf(func::CallOp call,
                                               const llvm::BitVector &active) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal())
    return call.emitOpError("calls a function without a body"), nullptr;
  Key key(callee, Activity::textOf(active));
  auto found = halves.find(key);
  if (found != halves.end()) {
    if (!found->second)
      call.emitOpError("is recursive");
    return found->second.get();
  }
  halves[key] = nullptr;
  std::string name = nameOfHalves(callee);
  func::FuncOp forward = callee.clone();
  forward.setName(name + "_forward");
  symbols.insert(forward, std::next(Block::iterator(callee)));
  FailureOr<JointBody> joint = appendGradient(forward, *this, active);
  if (failed(joint))
    return nullptr;
  CutCounts counts;
  auto result = std::make_unique<FunctionHalves>(
      cutJointBody(*joint, {name + "_backward", policy, false}, counts));
  result->activeResults = activity.resultsOf(callee, active);
  symbols.insert(result->backward, std::next(Block::iterator(forward)));
  forward->setAttr("xf.backward", FlatSymbolRefAttr::get(result->backward));
  ++numFunctions;
  numResiduals += counts.residuals;
  numRecomputed += counts.recomputed;
  return (halves[key] = std::move(result)).get();
}

LogicalResult Differentiator::differentiateStep(func::FuncOp forward,
                                                StringRef seed) {
  auto buildSeed = [&](OpBuilder &builder, Location loc) -> Value {
    Type type = forward.getResultTypes()[0];
    if (seed.empty())
      return builder.create<ConstantOp>(loc, type, builder.getF64FloatAttr(1));
    return builder.create<ReadOp>(loc, type, seed);
  };
  llvm::BitVector none(forward.getNumArguments());
  FailureOr<JointBody> joint = appendGradient(forward, *this, none, buildSeed);
  if (failed(joint))
    return failure();
  advanceLossGradients(*joint);
  // A layer is recomputed from its inputs, but those inputs are kept.
  RecomputePolicy own = policy;
  if (own.recompute == plan::Recompute::Full)
    own.recompute = plan::Recompute::None;
  CutCounts counts;
  FunctionHalves step = cutJointBody(*joint, {"backward", own, true}, counts);
  symbols.insert(step.backward, std::next(Block::iterator(forward)));
  ++numFunctions;
  numResiduals += counts.residuals;
  numRecomputed += counts.recomputed;
  llvm::SmallPtrSet<Operation *, 4> erased;
  for (auto &[key, unused] : llvm::reverse(halves))
    if (!erased.contains(key.first) &&
        SymbolTable::symbolKnownUseEmpty(key.first, symbols.getOp())) {
      erased.insert(key.first);
      symbols.erase(key.first);
    }
  return success();
}
