//===- CountModelFlops.cpp - The model's FLOPs for one token --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Walks the forward pass with its calls and sums the GEMMs.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Xf.h"
#include "passes/analysis/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket {
#define GEN_PASS_DEF_COUNTMODELFLOPS
#include "passes/analysis/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;

namespace {

/// How many (token, expert) pairs a layer's router chooses. Rows that a
/// capacity leaves empty or drops are no work of the model's.
double chosenRows(func::FuncOp layer) {
  double rows = 0;
  layer.walk([&](xf::ExpertOrderOp order) {
    rows = static_cast<double>(
        cast<ShapedType>(order.getChoice().getType()).getNumElements());
  });
  return rows;
}

double weightsOfExpert(xf::GroupedLinearOp op) {
  auto weight = cast<ShapedType>(op.getWeight().getType());
  return static_cast<double>(weight.getDimSize(1)) *
         static_cast<double>(weight.getDimSize(2));
}

/// FLOPs of functions, each counted once however often it is called.
class FlopCounter {
public:
  explicit FlopCounter(ModuleOp module) : symbols(module) {}

  double count(func::FuncOp function) {
    auto [entry, isNew] = known.try_emplace(function, 0.0);
    if (!isNew)
      return entry->second;
    double flops = 0;
    function.walk([&](Operation *op) {
      if (isa<xf::LinearOp, xf::AttentionOp>(op))
        flops += cast<xf::CostOpInterface>(op).getCost().flops;
      else if (auto grouped = dyn_cast<xf::GroupedLinearOp>(op))
        flops += 2 * chosenRows(function) * weightsOfExpert(grouped);
      else if (auto call = dyn_cast<func::CallOp>(op))
        if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
          flops += count(callee);
    });
    return known[function] = flops;
  }

private:
  SymbolTable symbols;
  llvm::DenseMap<Operation *, double> known;
};

struct CountModelFlops : hocket::impl::CountModelFlopsBase<CountModelFlops> {
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward || forward.getNumArguments() == 0)
      return;
    auto tokens = dyn_cast<RankedTensorType>(forward.getArgumentTypes()[0]);
    if (!tokens || !tokens.hasStaticShape() || tokens.getNumElements() == 0)
      return;
    double flops = 3 * FlopCounter(getOperation()).count(forward) /
                   static_cast<double>(tokens.getNumElements());
    getOperation()->setAttr("hocket.flops_per_token",
                            Builder(&getContext()).getF64FloatAttr(flops));
  }
};

} // namespace
