//===- RecomputeRewrite.cpp - Has backward compute again ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/RecomputeRewrite.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

namespace {

/// What one layer does.
struct SiteChoice {
  llvm::BitVector again; ///< Results of the forward call.
  int64_t block = -1;    ///< Layers with the same one recompute together.
};

class Rewriter {
public:
  Rewriter(ModuleOp module, RecomputeModel &model)
      : symbols(module), model(model), variants(symbols),
        choices(model.sites.size()) {}

  int64_t run(const planning::RecomputePlan &plan);

private:
  void readChoices(const planning::RecomputePlan &plan);
  /// Sites of one block, ascending.
  void rewriteBlock(ArrayRef<size_t> block);
  void rewriteSite(size_t site);
  /// What the block's layer `site` returns, computed again.
  func::CallOp callAgain(size_t site, Operation *before);
  /// `value` of the forward fragment, in the backward one.
  Value available(FragmentPair &pair, Value value, Operation *before);
  void leanForward(LayerSite &site);
  void eraseUnused();

  SymbolTable symbols;
  RecomputeModel &model;
  LayerVariants variants;
  std::vector<SiteChoice> choices;
  /// Of the block at hand: sites by their forward calls, and what runs again.
  llvm::DenseMap<Operation *, size_t> inBlock;
  std::map<size_t, func::CallOp> ranAgain;
};

} // namespace

/// Whether a copy of `op` in another function computes the same: it depends on
/// nothing that flows, or is a number that depends on nothing that does.
static bool canCopy(Operation *op) {
  if (!isFree(op) && !isPure(op))
    return false;
  if (op->getNumOperands() > 0 && !isFree(op) &&
      llvm::any_of(op->getResultTypes(),
                   [](Type type) { return isa<TensorType>(type); }))
    return false;
  return llvm::all_of(op->getOperands(), [](Value operand) {
    return operand.getDefiningOp() && canCopy(operand.getDefiningOp());
  });
}

Value Rewriter::available(FragmentPair &pair, Value value, Operation *before) {
  Operation *op = value.getDefiningOp();
  if (auto found = inBlock.find(op); op && found != inBlock.end())
    return callAgain(found->second, before)
        .getResult(cast<OpResult>(value).getResultNumber());
  if (BlockArgument kept = pair.findKept(value))
    return kept;
  if (!op || !canCopy(op))
    return pair.keep(value);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, available(pair, operand, before));
  OpBuilder builder(before);
  return builder.clone(*op, mapping)
      ->getResult(cast<OpResult>(value).getResultNumber());
}

func::CallOp Rewriter::callAgain(size_t index, Operation *before) {
  func::CallOp &again = ranAgain[index];
  if (again)
    return again;
  LayerSite &site = model.sites[index];
  SmallVector<Value> operands;
  for (Value operand : site.forward.getOperands())
    operands.push_back(available(model.pairs[site.pair], operand, before));
  OpBuilder builder(before);
  func::CallOp call = builder.create<func::CallOp>(
      site.forward.getLoc(), variants.forwardAgain(site.forwardHalf), operands);
  return ranAgain[index] = call;
}

/// The backward call computes the residuals of its own layer.
void Rewriter::rewriteSite(size_t index) {
  LayerSite &site = model.sites[index];
  const llvm::BitVector &again = choices[index].again;
  if (again.none())
    return;
  const JointBackward &joint = variants.jointBackward(
      site.forwardHalf, site.backwardHalf, site.sources, again);
  SmallVector<Value> operands;
  for (unsigned i : joint.taken)
    operands.push_back(site.backward.getOperand(i));
  for (unsigned i : joint.added)
    operands.push_back(available(model.pairs[site.pair],
                                 site.forward.getOperand(i), site.backward));
  OpBuilder builder(site.backward);
  auto call = builder.create<func::CallOp>(site.backward.getLoc(),
                                           joint.function, operands);
  site.backward.replaceAllUsesWith(call);
  site.backward.erase();
  site.backward = call;
}

void Rewriter::rewriteBlock(ArrayRef<size_t> block) {
  // 1. All but the last layer run again, where anything is of use of them.
  FragmentPair &pair = model.pairs[model.sites[block.front()].pair];
  inBlock.clear();
  ranAgain.clear();
  for (size_t site : block.drop_back())
    if (block.size() > 1)
      inBlock[model.sites[site].forward] = site;
  Operation *first = model.sites[block.back()].backward;
  for (size_t index : llvm::reverse(block)) {
    LayerSite &site = model.sites[index];
    for (OpOperand &operand : site.backward->getOpOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand.get());
      Value value = argument ? pair.sourceOf(argument) : Value();
      if (value && inBlock.contains(value.getDefiningOp()))
        operand.set(available(pair, value, first));
    }
  }
  // 2. The last computes its own residuals.
  rewriteSite(block.back());
}

void Rewriter::readChoices(const planning::RecomputePlan &plan) {
  for (auto [i, site] : llvm::enumerate(model.sites))
    choices[i].again.resize(site.forward.getNumResults());
  for (auto [rank, chosen] : llvm::enumerate(plan.ranks))
    for (auto [i, place] : llvm::enumerate(model.places[rank])) {
      SiteChoice &choice = choices[place.site];
      choice.block = chosen.blocks[i];
      if (chosen.recomputed[i] && place.results.any())
        choice.again |= place.results;
    }
}

void Rewriter::leanForward(LayerSite &site) {
  llvm::BitVector unused(site.forward.getNumResults());
  for (OpResult result : site.forward.getResults())
    if (result.use_empty())
      unused.set(result.getResultNumber());
  if (unused.none())
    return;
  func::FuncOp lean = variants.leanForward(site.forwardHalf, unused);
  OpBuilder builder(site.forward);
  auto call = builder.create<func::CallOp>(site.forward.getLoc(), lean,
                                           site.forward.getOperands());
  unsigned next = 0;
  for (OpResult result : site.forward.getResults())
    if (!unused.test(result.getResultNumber()))
      result.replaceAllUsesWith(call.getResult(next++));
  site.forward.erase();
  site.forward = call;
}

void Rewriter::eraseUnused() {
  llvm::SetVector<Operation *> halves;
  for (LayerSite &site : model.sites) {
    halves.insert(site.forwardHalf);
    halves.insert(site.backwardHalf);
  }
  llvm::DenseSet<StringAttr> called;
  symbols.getOp()->walk([&](func::CallOp call) {
    called.insert(call.getCalleeAttr().getAttr());
  });
  for (Operation *half : halves)
    if (!called.contains(SymbolTable::getSymbolName(half)))
      symbols.erase(half);
}

int64_t Rewriter::run(const planning::RecomputePlan &plan) {
  readChoices(plan);
  // 1. Backward, from the last layer to the first.
  for (size_t end = model.sites.size(); end > 0;) {
    size_t begin = end - 1;
    auto together = [&](size_t a, size_t b) {
      return choices[a].block == choices[b].block &&
             model.sites[a].pair == model.sites[b].pair;
    };
    while (begin > 0 && together(begin - 1, end - 1))
      --begin;
    SmallVector<size_t> block;
    for (size_t site = begin; site < end; ++site)
      block.push_back(site);
    rewriteBlock(block);
    end = begin;
  }
  // 2. Forward returns what is left to keep.
  for (FragmentPair &pair : model.pairs)
    pair.dropUnused();
  for (LayerSite &site : model.sites)
    leanForward(site);
  eraseUnused();
  return variants.recomputedOps;
}

int64_t hocket::pipe::rewriteRecompute(ModuleOp module, RecomputeModel &model,
                                       const planning::RecomputePlan &plan) {
  return Rewriter(module, model).run(plan);
}
