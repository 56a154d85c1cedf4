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

SavedAttr FragmentPair::savedOf(unsigned index) const {
  FragmentOp taker = backwardFragment;
  auto saved = dyn_cast<SavedAttr>(taker.getSources()[index]);
  return saved && saved.getKind() == FragmentKind::Forward ? saved
                                                           : SavedAttr();
}

int64_t FragmentPair::resultOf(unsigned index) const {
  SavedAttr saved = savedOf(index);
  return saved && saved.getEnd() == FragmentEnd::Result ? saved.getIndex() : -1;
}

Value FragmentPair::sourceOf(BlockArgument argument) const {
  func::FuncOp maker = forward;
  SavedAttr saved = savedOf(argument.getArgNumber());
  if (!saved)
    return {};
  int64_t index = saved.getIndex();
  if (saved.getEnd() == FragmentEnd::Argument)
    return maker.getArgument(index);
  Operation *end = endOf(forward);
  if (index < 0 || index >= static_cast<int64_t>(end->getNumOperands()))
    return {};
  return end->getOperand(index);
}

BlockArgument FragmentPair::findKept(Value value) const {
  func::FuncOp taker = backward;
  for (BlockArgument argument : taker.getArguments())
    if (sourceOf(argument) == value)
      return argument;
  return {};
}

static ArrayAttr with(ArrayAttr all, Attribute another) {
  SmallVector<Attribute> longer(all.getValue());
  longer.push_back(another);
  return ArrayAttr::get(all.getContext(), longer);
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
  Builder builder(forward.getContext());
  forwardFragment.setTargetsAttr(
      with(forwardFragment.getTargets(), builder.getUnitAttr()));
  backwardFragment.setSourcesAttr(
      with(backwardFragment.getSources(),
           SavedAttr::get(builder.getContext(), FragmentKind::Forward,
                          FragmentEnd::Result, result)));
  return backward.getArgument(index);
}

/// What `all` has where `dropped` has no bit.
static SmallVector<Attribute> without(ArrayAttr all,
                                      const llvm::BitVector &dropped) {
  SmallVector<Attribute> left;
  for (auto [i, each] : llvm::enumerate(all))
    if (!dropped.test(i))
      left.push_back(each);
  return left;
}

/// Whether `forward` returns the loss, as the only stage does, first.
static bool returnsLoss(FragmentOp fragment, func::FuncOp forward) {
  ArrayRef<Type> types = forward.getResultTypes();
  return !fragment.getCut() && !types.empty() &&
         cast<RankedTensorType>(types.front()).getRank() == 0;
}

void FragmentPair::dropUnused(bool loss) {
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
  // What is sent stays, and the loss.
  if (!loss && returnsLoss(forwardFragment, forward))
    results.reset(0);
  for (auto [i, target] : llvm::enumerate(forwardFragment.getTargets()))
    if (isa<LinkAttr>(target))
      results.reset(i);
  Builder builder(forward.getContext());
  backwardFragment.setSourcesAttr(
      builder.getArrayAttr(without(backwardFragment.getSources(), arguments)));
  backward.eraseArguments(arguments);
  eraseResults(results);
}

void FragmentPair::eraseResults(const llvm::BitVector &dropped) {
  // What is behind a result that goes moves up.
  std::vector<int64_t> moved;
  int64_t next = 0;
  for (unsigned i = 0; i < dropped.size(); ++i)
    moved.push_back(dropped.test(i) ? next : next++);
  SmallVector<Attribute> sources(backwardFragment.getSources().getValue());
  for (unsigned i = 0; i < sources.size(); ++i)
    if (int64_t result = resultOf(i); result >= 0)
      sources[i] = SavedAttr::get(forward.getContext(), FragmentKind::Forward,
                                  FragmentEnd::Result, moved[result]);
  Builder builder(forward.getContext());
  backwardFragment.setSourcesAttr(builder.getArrayAttr(sources));
  forwardFragment.setTargetsAttr(
      builder.getArrayAttr(without(forwardFragment.getTargets(), dropped)));
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
    if (fragment.getKind() == FragmentKind::Backward) {
      pair.backward = function;
      pair.backwardFragment = fragment;
    }
    if (fragment.getKind() != FragmentKind::Forward)
      continue;
    pair.forward = function;
    pair.forwardFragment = fragment;
    pair.stage = fragment.getStage();
    pair.chunk = fragment.getChunk();
    pair.rank = fragment.getRank();
  }
  std::vector<FragmentPair> found;
  for (auto &[stage, pair] : pairs)
    if (pair.forward && pair.backward)
      found.push_back(pair);
  return found;
}
