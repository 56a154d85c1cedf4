//===- BuildEvaluate.cpp - Forward without dropout ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/HostInputs.h"
#include "passes/xf/Passes.h"
#include "passes/xf/TrainingModule.h"

#include "llvm/ADT/StringMap.h"

namespace hocket::xf {
#define GEN_PASS_DEF_XFBUILDEVALUATE
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket::xf;

namespace {
/// Copies functions without their dropout, the balance of their routers and
/// what they accumulate, each once.
class EvaluateBuilder {
public:
  explicit EvaluateBuilder(ModuleOp module) : symbols(module) {}

  /// A copy of `function` named `name`.
  func::FuncOp copy(func::FuncOp function, StringRef name);

private:
  /// What to call in place of `callee`: itself if nothing in it drops, balances
  /// or accumulates.
  StringRef counterpart(func::FuncOp callee);
  bool differs(func::FuncOp function);

  SymbolTable symbols;
  llvm::StringMap<std::string> counterparts;
};
} // namespace

bool EvaluateBuilder::differs(func::FuncOp function) {
  WalkResult walk = function.walk([&](Operation *op) {
    if (isa<DropoutOp, SinkhornOp, AccumulateOp>(op))
      return WalkResult::interrupt();
    if (auto attention = dyn_cast<AttentionOp>(op))
      if (attention.getDropout().convertToDouble() > 0)
        return WalkResult::interrupt();
    if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
        if (differs(callee))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return walk.wasInterrupted();
}

StringRef EvaluateBuilder::counterpart(func::FuncOp callee) {
  auto [entry, isNew] = counterparts.try_emplace(callee.getName());
  if (!isNew)
    return entry->second;
  std::string name = callee.getName().str();
  if (differs(callee))
    name = copy(callee, name + "_evaluate").getName().str();
  return counterparts[callee.getName()] = name;
}

func::FuncOp EvaluateBuilder::copy(func::FuncOp function, StringRef name) {
  func::FuncOp result = function.clone();
  result.setName(name);
  symbols.insert(result, std::next(Block::iterator(function)));
  result.walk([&](Operation *op) {
    if (auto dropout = dyn_cast<DropoutOp>(op)) {
      dropout.getResult().replaceAllUsesWith(dropout.getInput());
      dropout.erase();
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      attention.setDropout(APFloat(0.0));
      attention.getInstanceMutable().clear();
    } else if (auto router = dyn_cast<RouterOp>(op)) {
      Value bias = router.getBias();
      auto sinkhorn = bias ? bias.getDefiningOp<SinkhornOp>() : SinkhornOp();
      if (!sinkhorn)
        return;
      router.getBiasMutable().clear();
      if (sinkhorn->use_empty())
        sinkhorn.erase();
    } else if (isa<AccumulateOp>(op)) {
      op->erase();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
        call.setCallee(counterpart(callee));
    }
  });
  return result;
}

/// Returns what the host sees as the loss: what else forward adds to it, for
/// its gradient, is nothing to evaluate.
static void returnLoss(func::FuncOp function) {
  for (OutputOp output : function.getOps<OutputOp>())
    if (output.getName() == "loss")
      function.front().getTerminator()->setOperand(0, output.getValue());
}

/// Has the host see of each label what its log-probability is made of, and,
/// where it asks for them, the logits of a position.
static void outputLabels(func::FuncOp function) {
  SmallVector<CrossEntropyOp> losses;
  for (auto loss : function.getOps<CrossEntropyOp>())
    if (loss.getLabels() == findHostInput(function, HostInput::Labels))
      losses.push_back(loss);
  if (losses.size() != 1)
    return;
  CrossEntropyOp op = losses.front();
  OpBuilder builder(op);
  Type row = op.getLse().getType();
  auto loss = builder.create<CrossEntropyOp>(
      op.getLoc(), op.getLoss().getType(), row, row, op.getLogits(),
      op.getLabels(), op.getCount(), op.getValidVocabAttr());
  builder.create<OutputOp>(op.getLoc(), op.getLogits(), "logits");
  builder.create<OutputOp>(op.getLoc(), loss.getLse(), "lse");
  builder.create<OutputOp>(op.getLoc(), loss.getPicked(), "picked");
  op.replaceAllUsesWith(loss.getResults().take_front(2));
  op.erase();
}

namespace {
struct BuildEvaluatePass
    : public hocket::xf::impl::XfBuildEvaluateBase<BuildEvaluatePass> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> forward = findForward(getOperation());
    if (failed(forward))
      return signalPassFailure();
    func::FuncOp evaluate =
        EvaluateBuilder(getOperation()).copy(*forward, "evaluate");
    outputLoss(evaluate);
    returnLoss(evaluate);
    outputLabels(evaluate);
  }
};
} // namespace
