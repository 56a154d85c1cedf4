//===- DimRatios.cpp - Sizes that change together -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/DimRatios.h"

#include "dialects/xf/IR/HostInputs.h"

#include "mlir/IR/TypeUtilities.h"

#include <utility>

using namespace mlir;
using namespace hocket::xf;

DimRatios::DimRatios(ModuleOp module) : module(module), symbols(module) {}

static unsigned rankOf(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  return shaped ? static_cast<unsigned>(shaped.getRank()) : 0;
}

static LogicalResult merge(MutableArrayRef<Ratio> dims, unsigned dim,
                           Ratio ratio, Operation *op) {
  if (ratio.isOne() || dims[dim] == ratio)
    return success();
  if (!dims[dim].isOne())
    return op->emitError("X116: the plan's sizes make dim ")
           << dim << " of a tensor here " << dims[dim].up << "/"
           << dims[dim].down << " and " << ratio.up << "/" << ratio.down
           << " times as long";
  dims[dim] = ratio;
  return success();
}

LogicalResult DimRatios::note(Dims &dims, unsigned dim, Ratio ratio,
                              Operation *op) {
  changed |= !ratio.isOne() && dims[dim].isOne();
  return merge(dims, dim, ratio, op);
}

LogicalResult DimRatios::set(Value value, unsigned dim, Ratio ratio,
                             Operation *op) {
  if (ratio.isOne())
    return success();
  Dims &dims = values[value];
  dims.resize(rankOf(value.getType()));
  return note(dims, dim, ratio, op);
}

Ratio DimRatios::get(Value value, unsigned dim) const {
  auto found = values.find(value);
  return found == values.end() ? Ratio() : found->second[dim];
}

LogicalResult DimRatios::link(Value a, Value b, unsigned count, Operation *op) {
  for (unsigned dim = 0; dim < count; ++dim)
    if (failed(set(a, dim, get(b, dim), op)) ||
        failed(set(b, dim, get(a, dim), op)))
      return failure();
  return success();
}

/// A dim changes with the slowest varying of its factors: the others are what
/// is in each step of that one.
LogicalResult DimRatios::carryRule(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable)
    return success();
  FactorRule rule = shardable.getFactorRule();
  Dims factors(rule.factors.size());
  auto eachDim = [&](auto fn) -> LogicalResult {
    auto each = [&](ValueRange list,
                    ArrayRef<TensorFactors> tensors) -> LogicalResult {
      for (auto [value, dims] : llvm::zip(list, tensors))
        for (auto [dim, parts] : llvm::enumerate(dims))
          if (!parts.empty() && failed(fn(value, unsigned(dim), parts)))
            return failure();
      return success();
    };
    if (failed(each(op->getOperands(), rule.operands)))
      return failure();
    return each(op->getResults(), rule.results);
  };
  if (failed(eachDim([&](Value value, unsigned dim, const DimFactors &parts) {
        return merge(factors, unsigned(parts.front()), get(value, dim), op);
      })))
    return failure();
  return eachDim(
      [&](Value value, unsigned dim, const DimFactors &parts) -> LogicalResult {
        for (int64_t inner : ArrayRef<int64_t>(parts).drop_front())
          if (!factors[size_t(inner)].isOne())
            return op->emitError("X116: the plan's sizes change dim ")
                   << dim << " of a tensor here in its inner part";
        return set(value, dim, factors[size_t(parts.front())], op);
      });
}

LogicalResult DimRatios::carryCall(func::CallOp call) {
  for (auto [here, there] : valuesInCallee(call, symbols))
    if (failed(link(here, there, rankOf(here.getType()), call)))
      return failure();
  return success();
}

LogicalResult DimRatios::carryVariable(Value value, StringRef name,
                                       Operation *op) {
  auto variable = symbols.lookup<VariableOp>(name);
  if (!variable)
    return success();
  Dims &dims = variables[variable];
  dims.resize(rankOf(value.getType()));
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    if (failed(note(dims, dim, get(value, dim), op)) ||
        failed(set(value, dim, dims[dim], op)))
      return failure();
  return success();
}

LogicalResult DimRatios::carryHalves(StepOp step) {
  for (auto [from, to] : argumentsOfBackward(step, symbols))
    if (failed(link(from, to, rankOf(from.getType()), step)))
      return failure();
  return success();
}

LogicalResult DimRatios::carryOp(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return carryCall(call);
  if (auto step = dyn_cast<StepOp>(op))
    return carryHalves(step);
  if (auto read = dyn_cast<ReadOp>(op))
    return carryVariable(read.getResult(), read.getVariable(), op);
  if (auto write = dyn_cast<WriteOp>(op))
    return carryVariable(write.getValue(), write.getVariable(), op);
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return carryVariable(accumulate.getValue(), accumulate.getVariable(), op);
  return carryRule(op);
}

LogicalResult DimRatios::carry(
    llvm::function_ref<std::optional<LogicalResult>(Operation *)> visit) {
  do {
    changed = false;
    WalkResult walk = module.walk([&](Operation *op) {
      std::optional<LogicalResult> own = visit(op);
      return failed(own ? *own : carryOp(op)) ? WalkResult::interrupt()
                                              : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  } while (changed);
  return success();
}

/// `type` with dims that change by `ratios`.
static FailureOr<Type> resized(Type type, ArrayRef<Ratio> ratios,
                               Operation *op) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, ratio] : llvm::zip_equal(shape, ratios)) {
    std::optional<int64_t> changedSize = ratio.apply(size);
    if (!changedSize)
      return op->emitError("X116: the plan's sizes make a dim of ")
             << size << " in " << type << " " << ratio.up << "/" << ratio.down
             << " times as long, which is no size";
    size = *changedSize;
  }
  return Type(tensor.clone(shape));
}

LogicalResult DimRatios::apply() {
  for (auto &[value, ratios] : values) {
    Operation *place = value.getDefiningOp();
    if (!place)
      place = value.getParentBlock()->getParentOp();
    FailureOr<Type> type = resized(value.getType(), ratios, place);
    if (failed(type))
      return failure();
    value.setType(*type);
  }
  for (auto &[op, ratios] : variables) {
    auto variable = cast<VariableOp>(op);
    bool changes = llvm::any_of(ratios, [](Ratio r) { return !r.isOne(); });
    if (changes && variable.getKind() != VariableKind::Cache)
      return variable.emitOpError(
          "X116: has a dim that the plan's sizes change; "
          "only a cache has one for each text");
    FailureOr<Type> type = resized(variable.getType(), ratios, op);
    if (failed(type))
      return failure();
    variable.setType(*type);
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Block &body = function.front();
    function.setFunctionType(FunctionType::get(
        module.getContext(), body.getArgumentTypes(),
        ValueRange(body.getTerminator()->getOperands()).getTypes()));
  }
  values.clear();
  variables.clear();
  return success();
}
