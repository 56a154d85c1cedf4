//===- FragmentPair.cpp - What forward keeps for backward -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/FragmentPair.h"

#include "llvm/ADT/BitVector.h"

#include <map>

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

static Operation *endOf(func::FuncOp function) {
  return function.front().getTerminator();
}

int64_t FragmentPair::resultOf(unsigned index) const {
  func::FuncOp taker = backward, maker = forward;
  if (isCut) {
    auto saved = taker.getArgAttrOfType<SavedAttr>(index, "pipe.saved");
    return saved && saved.getKind() == FragmentKind::Forward ? saved.getIndex()
                                                             : -1;
  }
  int64_t own = maker.getNumArguments();
  return static_cast<int64_t>(index) < own
             ? -1
             : static_cast<int64_t>(index) - own + 1; // Behind the loss.
}

Value FragmentPair::sourceOf(BlockArgument argument) const {
  func::FuncOp maker = forward;
  unsigned index = argument.getArgNumber();
  if (!isCut && index < maker.getNumArguments())
    return maker.getArgument(index);
  int64_t result = resultOf(index);
  Operation *end = endOf(forward);
  if (result < 0 || result >= static_cast<int64_t>(end->getNumOperands()))
    return {};
  return end->getOperand(result);
}

BlockArgument FragmentPair::findKept(Value value) const {
  func::FuncOp taker = backward;
  for (BlockArgument argument : taker.getArguments())
    if (sourceOf(argument) == value)
      return argument;
  return {};
}

BlockArgument FragmentPair::keep(Value value) {
  if (BlockArgument kept = findKept(value))
    return kept;
  Operation *end = endOf(forward);
  unsigned result = end->getNumOperands();
  forward.insertResult(result, value.getType(), DictionaryAttr());
  end->insertOperands(result, value);
  unsigned index = backward.getNumArguments();
  backward.insertArgument(index, value.getType(), DictionaryAttr(),
                          value.getLoc());
  if (isCut)
    backward.setArgAttr(index, "pipe.saved",
                        SavedAttr::get(backward.getContext(),
                                       FragmentKind::Forward,
                                       FragmentEnd::Result, result));
  return backward.getArgument(index);
}

void FragmentPair::dropUnused() {
  llvm::BitVector arguments(backward.getNumArguments());
  llvm::BitVector results(endOf(forward)->getNumOperands(), true);
  for (unsigned i = 0; i < backward.getNumArguments(); ++i) {
    int64_t result = resultOf(i);
    if (result < 0)
      continue;
    if (backward.getArgument(i).use_empty())
      arguments.set(i);
    else
      results.reset(result);
  }
  for (unsigned i = 0; i < results.size(); ++i)
    if ((!isCut && i == 0) || forward.getResultAttr(i, "pipe.send"))
      results.reset(i);
  backward.eraseArguments(arguments);
  eraseResults(results);
}

void FragmentPair::eraseResults(const llvm::BitVector &dropped) {
  // What is behind a result that goes moves up.
  std::vector<int64_t> moved;
  int64_t next = 0;
  for (unsigned i = 0; i < dropped.size(); ++i)
    moved.push_back(dropped.test(i) ? next : next++);
  if (isCut)
    for (unsigned i = 0; i < backward.getNumArguments(); ++i)
      if (int64_t result = resultOf(i); result >= 0)
        backward.setArgAttr(i, "pipe.saved",
                            SavedAttr::get(backward.getContext(),
                                           FragmentKind::Forward,
                                           FragmentEnd::Result, moved[result]));
  endOf(forward)->eraseOperands(dropped);
  forward.eraseResults(dropped);
}

std::vector<FragmentPair> hocket::pipe::findFragmentPairs(ModuleOp module) {
  SymbolTable symbols(module);
  std::map<int64_t, FragmentPair> pairs;
  for (auto fragment : module.getOps<FragmentOp>()) {
    FragmentPair &pair = pairs[fragment.getStage()];
    auto function = symbols.lookup<func::FuncOp>(fragment.getFunction());
    if (!function || function.isExternal())
      continue;
    if (fragment.getKind() == FragmentKind::Backward)
      pair.backward = function;
    if (fragment.getKind() != FragmentKind::Forward)
      continue;
    pair.forward = function;
    pair.stage = fragment.getStage();
    pair.chunk = fragment.getChunk();
    pair.rank = fragment.getRank();
    pair.isCut = fragment.getCut();
  }
  std::vector<FragmentPair> found;
  for (auto &[stage, pair] : pairs)
    if (pair.forward && pair.backward)
      found.push_back(pair);
  return found;
}
