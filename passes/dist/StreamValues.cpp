//===- StreamValues.cpp - What is of the residual stream ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/StreamValues.h"

#include "dialects/xf/IR/HostInputs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <optional>
#include <utility>

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

/// Calls `tie` with the pairs of tensors of `op` that have the same factors.
static void forTied(Operation *op, llvm::function_ref<void(Value, Value)> tie) {
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    return tie(constrain.getInput(), constrain.getResult());
  auto shardable = dyn_cast<xf::ShardableOpInterface>(op);
  if (!shardable)
    return;
  xf::FactorRule rule = shardable.getFactorRule();
  SmallVector<std::pair<Value, const xf::TensorFactors *>> tensors;
  auto add = [&](ValueRange values, ArrayRef<xf::TensorFactors> factors) {
    for (auto [value, own] : llvm::zip(values, factors))
      if (isa<RankedTensorType>(value.getType()) && !own.empty())
        tensors.push_back({value, &own});
  };
  add(op->getOperands(), rule.operands);
  add(op->getResults(), rule.results);
  for (auto [i, tensor] : llvm::enumerate(tensors))
    for (const auto &other : llvm::drop_begin(tensors, i + 1))
      if (*tensor.second == *other.second)
        tie(tensor.first, other.first);
}

namespace {

/// The values of a module in classes of what is tied.
class Ties {
public:
  explicit Ties(ModuleOp module) : symbols(module) {
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        forTied(op, [&](Value a, Value b) { tie(a, b); });
        if (auto call = dyn_cast<func::CallOp>(op))
          tieCall(call);
      });
    for (auto step : module.getOps<xf::StepOp>())
      tieHalves(step);
  }

  void forClass(Value value, llvm::function_ref<void(Value)> visit) const {
    auto member = classes.findLeader(value.getAsOpaquePointer());
    if (member == classes.member_end())
      return visit(value);
    for (; member != classes.member_end(); ++member)
      visit(Value::getFromOpaquePointer(*member));
  }

private:
  void tie(Value a, Value b) {
    classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }

  void tieCall(func::CallOp call) {
    for (auto [here, there] : xf::valuesInCallee(call, symbols))
      tie(here, there);
  }

  void tieHalves(xf::StepOp step) {
    for (auto [value, argument] : xf::argumentsOfBackward(step, symbols))
      tie(value, argument);
  }

  SymbolTable symbols;
  llvm::EquivalenceClasses<void *> classes;
};

} // namespace

StreamValues::StreamValues(ModuleOp module) {
  std::optional<Ties> ties;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      auto place = function.getArgAttrOfType<ShardingAttr>(
          argument.getArgNumber(), "dist.stream");
      if (!place)
        continue;
      if (!ties)
        ties.emplace(module);
      shardings.push_back(Sharding::of(place));
      ties->forClass(argument, [&](Value value) {
        streams.try_emplace(value, shardings.size() - 1);
      });
    }
}

const Sharding *StreamValues::find(Value value) const {
  auto found = streams.find(value);
  return found == streams.end() ? nullptr : &shardings[found->second];
}

void StreamValues::add(Operation *op) {
  if (streams.empty())
    return;
  auto take = [&](Value from, Value to) {
    if (auto found = streams.find(from); found != streams.end())
      streams.try_emplace(to, size_t(found->second));
  };
  forTied(op, [&](Value a, Value b) {
    take(a, b);
    take(b, a);
  });
}

void StreamValues::replace(Value from, Value to) {
  auto found = streams.find(from);
  if (found == streams.end())
    return;
  size_t stream = found->second;
  streams.erase(found);
  streams[to] = stream;
}
