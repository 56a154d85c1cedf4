//===- Partition.cpp - The shards that one device holds -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Rewrites the ops that dist-propagate-shardings has annotated, in place: types
// become those of shards, and operands are moved to where their op wants them.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Placement.h"
#include "passes/dist/ExpertSharding.h"
#include "passes/dist/Passes.h"
#include "passes/dist/Reshard.h"
#include "passes/dist/RowExchange.h"
#include "passes/dist/ShardOps.h"
#include "passes/dist/ValueNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <utility>

namespace hocket::dist {
#define GEN_PASS_DEF_DISTPARTITION
#include "passes/dist/Passes.h.inc"
} // namespace hocket::dist

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

/// One a value; empty for what is no tensor.
static SmallVector<Sharding> shardingsOf(ArrayAttr list) {
  SmallVector<Sharding> shardings;
  if (list)
    for (Attribute attribute : list) {
      auto sharding = dyn_cast<ShardingAttr>(attribute);
      shardings.push_back(sharding ? Sharding::of(sharding) : Sharding());
    }
  return shardings;
}

namespace {

class Partitioner {
public:
  Partitioner(ModuleOp module, MeshOp meshOp)
      : module(module), meshOp(meshOp), mesh(meshOp), experts(meshOp) {
    ValueNames names(module);
    for (auto function : module.getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments())
        if (std::string name = names.of(argument); !name.empty())
          arguments[argument] = "'" + name + "'";
  }

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(partition(function)))
        return failure();
    for (auto variable : module.getOps<xf::VariableOp>())
      partition(variable);
    // What the plan made of the axes is done.
    meshOp.removeContextStrategyAttr();
    meshOp.removeExpertsAttr();
    meshOp.removeSharingAttr();
    meshOp.removeSplitByHandAttr();
    return success();
  }

  int64_t collectives = 0;

private:
  void partition(xf::VariableOp variable) {
    variable->removeAttr(kPlacementAttr);
    auto type = cast<RankedTensorType>(variable.getType());
    auto sharding = variable->getAttrOfType<ShardingAttr>("dist.sharding");
    if (!sharding || Sharding::of(sharding).isWhole())
      return;
    variable.setWholeAttr(TypeAttr::get(type));
    variable.setType(mesh.localType(type, Sharding::of(sharding)));
  }

  LogicalResult partition(func::FuncOp function) {
    if (function.isExternal())
      return success();
    // 1. Where every value is, while its type is still the whole tensor's.
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      if (auto sharding =
              function.getArgAttrOfType<ShardingAttr>(i, "dist.sharding"))
        note(argument, sharding);
      function.removeArgAttr(unsigned(i), "dist.stream");
    }
    SmallVector<Operation *> ops;
    for (Operation &op : function.front()) {
      ops.push_back(&op);
      if (ArrayAttr gives = Placement::of(&op).results)
        for (auto [result, give] : llvm::zip(op.getResults(), gives))
          if (auto sharding = dyn_cast<ShardingAttr>(give))
            note(result, sharding);
    }
    // 2. Arguments, then ops in order, so that operands are shards already.
    for (BlockArgument argument : function.getArguments())
      makeLocal(argument);
    for (Operation *op : ops)
      if (failed(partition(op)))
        return failure();
    // 3. The signature.
    Operation *end = function.front().getTerminator();
    function.setType(FunctionType::get(module.getContext(),
                                       function.front().getArgumentTypes(),
                                       end->getOperandTypes()));
    return success();
  }

  void note(Value value, ShardingAttr sharding) {
    values[value] = {cast<RankedTensorType>(value.getType()),
                     Sharding::of(sharding), value.getDefiningOp()};
  }

  void makeLocal(Value value) {
    auto found = values.find(value);
    if (found != values.end())
      value.setType(mesh.localType(found->second.type, found->second.sharding));
  }

  LogicalResult partition(Operation *op) {
    ShardContext context{mesh,
                         {},
                         shardingsOf(Placement::of(op).operands),
                         shardingsOf(Placement::of(op).results)};
    for (auto [i, sharding] : llvm::enumerate(context.operands))
      if (isa<RankedTensorType>(op->getOperand(i).getType()) &&
          failed(move(op, i, sharding)))
        return failure();
    context.types = globalTypes(op);
    op->removeAttr(kPlacementAttr);
    for (Value result : op->getResults())
      makeLocal(result);
    if (auto constrain = dyn_cast<ConstrainOp>(op)) {
      constrain.getResult().replaceAllUsesWith(constrain.getInput());
      // Its memory may become another value's.
      values.erase(constrain.getResult());
      constrain.erase();
      return success();
    }
    if (exchangesRows(op)) {
      exchangeRows(op);
      return success();
    }
    return completeShard(op, context);
  }

  /// What takes the place of a value is where that is.
  void exchangeRows(Operation *op) {
    ++collectives;
    Value exchanged = exchangeShard(op, experts.splitting());
    if (!exchanged)
      return;
    Value result = op->getResult(0);
    Placed placed = values.lookup(result);
    values.erase(result);
    values.insert({exchanged, placed});
    result.replaceAllUsesWith(exchanged);
    op->erase();
  }

  /// The whole types of an op's operands and results.
  GlobalTypes globalTypes(Operation *op) const {
    auto typeOf = [&](Value value) {
      auto found = values.find(value);
      return found == values.end() ? RankedTensorType() : found->second.type;
    };
    return {llvm::map_to_vector(op->getOperands(), typeOf),
            llvm::map_to_vector(op->getResults(), typeOf)};
  }

  /// Gives operand `i` of `op` the sharding `to`, by a value that is there or
  /// by new collectives.
  LogicalResult move(Operation *op, unsigned i, const Sharding &to) {
    Value operand = op->getOperand(i);
    auto found = values.find(operand);
    if (found == values.end() || found->second.sharding == to)
      return success();
    Placed placed = found->second; // `values` grows below
    auto steps = planReshard(mesh, placed.type, placed.sharding, to);
    if (failed(steps))
      return op->emitError("D17: operand ")
             << i << " is wanted as " << to.text() << " but is "
             << placed.sharding.text()
             << ", which are no sums over the same axes";
    OpBuilder builder(op);
    auto why = builder.getStringAttr(makerOf(operand, placed) + " gives " +
                                     placed.sharding.text() + ", " +
                                     nameOfOp(op) + " wants " + to.text());
    Value value = operand;
    for (const ReshardStep &step : *steps)
      value = moveOnce(builder, op->getLoc(), value, step, placed, why);
    op->setOperand(i, value);
    return success();
  }

  /// One step, or the value that an earlier op made by the same step.
  Value moveOnce(OpBuilder &builder, Location loc, Value value,
                 const ReshardStep &step, Placed &placed, StringAttr why) {
    placed.sharding = afterStep(std::move(placed.sharding), step);
    std::string key = std::to_string(int(step.kind)) + "/" +
                      std::to_string(step.dim) + "/" + placed.sharding.text();
    Value &known = moved[{value, builder.getStringAttr(key)}];
    if (!known) {
      known = buildStep(builder, loc, value, step,
                        mesh.localType(placed.type, placed.sharding), why);
      values.insert({known, placed});
      collectives += step.kind != ReshardStep::Kind::Slice;
    }
    return known;
  }

  /// What people call the value, or what makes it.
  std::string makerOf(Value value, const Placed &placed) const {
    if (placed.maker)
      return nameOfOp(placed.maker);
    auto name = arguments.find(value);
    return name == arguments.end() ? "an argument" : name->second;
  }

  ModuleOp module;
  MeshOp meshOp;
  Mesh mesh;
  ExpertAxes experts;
  DenseMap<Value, std::string> arguments; ///< their names
  DenseMap<Value, Placed> values;
  DenseMap<std::pair<Value, Attribute>, Value> moved;
};

struct Partition : dist::impl::DistPartitionBase<Partition> {
  void runOnOperation() override {
    auto meshes = getOperation().getOps<MeshOp>();
    if (meshes.empty() || (*meshes.begin()).getDeviceCount() == 1)
      return;
    Partitioner partitioner(getOperation(), *meshes.begin());
    if (failed(partitioner.run()))
      return signalPassFailure();
    numCollectives += partitioner.collectives;
  }
};

} // namespace
