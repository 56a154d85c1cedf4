//===- Activity.cpp - What comes of trained parameters --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/Activity.h"

using namespace mlir;
using namespace hocket::xf;

bool hocket::xf::isDifferentiable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

std::string Activity::textOf(const llvm::BitVector &bits) {
  std::string text;
  for (unsigned i = 0; i < bits.size(); ++i)
    text += bits.test(i) ? '1' : '0';
  return text;
}

bool Activity::isTrained(ReadOp read) const {
  auto variable = symbols.lookup<VariableOp>(read.getVariable());
  if (variable && variable.getOf())
    variable = symbols.lookup<VariableOp>(*variable.getOf());
  return variable && variable.getKind() == VariableKind::Parameter &&
         !variable.getFrozen();
}

llvm::BitVector Activity::operandsOf(func::CallOp call,
                                     const llvm::DenseSet<Value> &values) {
  llvm::BitVector active(call.getNumOperands());
  for (auto [i, operand] : llvm::enumerate(call.getOperands()))
    active[i] = values.contains(operand);
  return active;
}

llvm::DenseSet<Value> Activity::valuesOf(func::FuncOp function,
                                         const llvm::BitVector &active) {
  llvm::DenseSet<Value> values;
  for (unsigned i : active.set_bits())
    values.insert(function.getArgument(i));
  auto add = [&](OpResult result) {
    if (isDifferentiable(result.getType()))
      values.insert(result);
  };
  for (Operation &op : function.front().without_terminator()) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || callee.isExternal())
        continue;
      llvm::BitVector results = resultsOf(callee, operandsOf(call, values));
      for (unsigned i : results.set_bits())
        add(call->getResult(i));
      continue;
    }
    auto read = dyn_cast<ReadOp>(op);
    bool isActive = read ? isTrained(read)
                         : llvm::any_of(op.getOperands(), [&](Value operand) {
                             return values.contains(operand);
                           });
    if (isActive)
      llvm::for_each(op.getResults(), add);
  }
  return values;
}

llvm::BitVector Activity::resultsOf(func::FuncOp function,
                                    const llvm::BitVector &active) {
  std::pair<Operation *, std::string> key(function, textOf(active));
  // Of a function that calls itself, which autodiff refuses, none are.
  auto [entry, isNew] =
      known.try_emplace(key, llvm::BitVector(function.getNumResults()));
  if (!isNew)
    return entry->second;
  llvm::DenseSet<Value> values = valuesOf(function, active);
  llvm::BitVector results(function.getNumResults());
  Operation *end = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    results[i] = values.contains(value);
  known[key] = results;
  return results;
}
