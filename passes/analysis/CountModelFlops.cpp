//===- CountModelFlops.cpp - The model's FLOPs for one token --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Walks the forward pass with its calls and sums the GEMMs and the scans.
//
//===----------------------------------------------------------------------===//

#include "base/ScanFlops.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/analysis/Activity.h"
#include "passes/analysis/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <string>
#include <utility>

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

/// Of all numbers of states, which every token changes and reads.
double scanFlops(xf::StateScanOp scan) {
  auto input = cast<ShapedType>(scan.getInput().getType());
  auto map = cast<ShapedType>(scan.getInMap().getType());
  return kModelScanFlops * static_cast<double>(input.getNumElements()) *
         static_cast<double>(map.getShape().back());
}

/// Zeros that fill up values are no work of the model's.
double attentionFlops(xf::AttentionOp attention) {
  double flops = attention.getCost().flops;
  auto filled = attention.getValue().getDefiningOp<xf::JoinHeadsOp>();
  if (!filled || filled.getFront())
    return flops;
  auto widthOf = [](Value heads) {
    return static_cast<double>(
        cast<ShapedType>(heads.getType()).getShape().back());
  };
  return flops *
         (1 + widthOf(filled.getInput()) / widthOf(attention.getValue())) / 2;
}

/// FLOPs of functions, forward and backward, each counted once for its active
/// arguments. A GEMM costs as much again for the gradient of each of its two
/// operands that is active; attention, which has two, costs twice as much, and
/// so does a scan.
class FlopCounter {
public:
  explicit FlopCounter(ModuleOp module) : symbols(module), activity(symbols) {}

  double count(func::FuncOp function, const llvm::BitVector &active) {
    auto [entry, isNew] =
        known.try_emplace({function, xf::Activity::textOf(active)}, 0.0);
    if (!isNew)
      return entry->second;
    llvm::DenseSet<Value> values = activity.valuesOf(function, active);
    double flops = 0;
    function.walk([&](Operation *op) {
      if (auto linear = dyn_cast<xf::LinearOp>(op))
        flops +=
            linear.getCost().flops * (1 + values.contains(linear.getInput()) +
                                      values.contains(linear.getWeight()));
      else if (auto attention = dyn_cast<xf::AttentionOp>(op))
        flops += attentionFlops(attention) *
                 (values.contains(attention.getResult()) ? 3 : 1);
      else if (auto scan = dyn_cast<xf::StateScanOp>(op))
        flops += scanFlops(scan) * (values.contains(scan.getResult()) ? 3 : 1);
      else if (auto grouped = dyn_cast<xf::GroupedLinearOp>(op))
        flops += 2 * chosenRows(function) * weightsOfExpert(grouped) *
                 (1 + values.contains(grouped.getRows()) +
                  values.contains(grouped.getWeight()));
      else if (auto call = dyn_cast<func::CallOp>(op))
        if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
          flops += count(callee, xf::Activity::operandsOf(call, values));
    });
    return entry->second = flops;
  }

private:
  SymbolTable symbols;
  xf::Activity activity;
  std::map<std::pair<Operation *, std::string>, double> known;
};

struct CountModelFlops : hocket::impl::CountModelFlopsBase<CountModelFlops> {
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward || forward.getNumArguments() == 0)
      return;
    auto tokens = dyn_cast<RankedTensorType>(forward.getArgumentTypes()[0]);
    if (!tokens || !tokens.hasStaticShape() || tokens.getNumElements() == 0)
      return;
    llvm::BitVector none(forward.getNumArguments());
    double flops = FlopCounter(getOperation()).count(forward, none) /
                   static_cast<double>(tokens.getNumElements());
    getOperation()->setAttr("hocket.flops_per_token",
                            Builder(&getContext()).getF64FloatAttr(flops));
  }
};

} // namespace
