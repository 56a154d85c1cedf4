//===- HostInputs.cpp - What entry functions are given --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/HostInputs.h"

#include "llvm/ADT/SmallSet.h"

using namespace hocket::xf;
using namespace mlir;

std::optional<HostInput> hocket::xf::hostInputOf(func::FuncOp function,
                                                 unsigned i) {
  if (auto input = function.getArgAttrOfType<HostInputAttr>(i, kHostInputAttr))
    return input.getValue();
  if (i < 2)
    return i == 0 ? HostInput::Tokens : HostInput::Labels;
  return std::nullopt;
}

void hocket::xf::setHostInput(func::FuncOp function, unsigned i,
                              HostInput input) {
  function.setArgAttr(i, kHostInputAttr,
                      HostInputAttr::get(function.getContext(), input));
}

BlockArgument hocket::xf::findHostInput(func::FuncOp function,
                                        HostInput input) {
  for (BlockArgument argument : function.getArguments())
    if (hostInputOf(function, argument.getArgNumber()) == input)
      return argument;
  return {};
}

bool hocket::xf::takesMicrobatch(func::FuncOp function) {
  llvm::SmallSet<HostInput, 4> found;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::optional<HostInput> input = hostInputOf(function, i);
    if (!input || !found.insert(*input).second)
      return false;
  }
  return found.contains(HostInput::Tokens) && found.contains(HostInput::Labels);
}

SmallVector<std::pair<Value, BlockArgument>>
hocket::xf::argumentsOfBackward(StepOp step, const SymbolTable &symbols) {
  auto forward = symbols.lookup<func::FuncOp>(step.getForward());
  auto backward = symbols.lookup<func::FuncOp>(step.getBackward());
  if (!forward || !backward || forward.isExternal() || backward.isExternal())
    return {};
  SmallVector<Value> given(forward.getArguments());
  llvm::append_range(
      given, forward.front().getTerminator()->getOperands().drop_front());
  SmallVector<std::pair<Value, BlockArgument>> pairs;
  for (auto [value, argument] : llvm::zip(given, backward.getArguments()))
    pairs.emplace_back(value, argument);
  return pairs;
}

SmallVector<std::pair<Value, Value>>
hocket::xf::valuesInCallee(func::CallOp call, const SymbolTable &symbols) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal())
    return {};
  SmallVector<std::pair<Value, Value>> pairs;
  for (auto [operand, argument] :
       llvm::zip_equal(call.getOperands(), callee.getArguments()))
    pairs.emplace_back(operand, argument);
  for (auto [result, returned] : llvm::zip_equal(
           call.getResults(), callee.front().getTerminator()->getOperands()))
    pairs.emplace_back(result, returned);
  return pairs;
}
