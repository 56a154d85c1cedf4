//===- FlowCut.cpp - Cut a function where its layers meet -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/FlowCut.h"

#include "dialects/xf/IR/Xf.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

FlowCut::FlowCut(func::FuncOp function, unsigned steps)
    : function(function), steps(steps) {
  arguments.resize(function.getNumArguments());
  llvm::append_range(order, function.getArguments());
  for (Operation &op : function.front())
    llvm::append_range(order, op.getResults());
}

void FlowCut::setCallSteps(ArrayRef<unsigned> list) {
  callSteps.assign(list.begin(), list.end());
}

void FlowCut::setHostArgument(unsigned index, int step) {
  arguments[index].isHost = true;
  arguments[index].hostStep = step;
}

void FlowCut::setArgument(unsigned index, unsigned first, unsigned last) {
  arguments[index].first = first;
  arguments[index].last = last;
}

void FlowCut::setArgumentEverywhere(unsigned index) {
  arguments[index].everywhere = true;
}

void FlowCut::setHome(StringRef name, ArrayRef<unsigned> list) {
  homes[name].assign(list.begin(), list.end());
}

//===----------------------------------------------------------------------===//
// Dealing out
//===----------------------------------------------------------------------===//

std::optional<unsigned> FlowCut::stepOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const Argument &known = arguments[argument.getArgNumber()];
    if (known.isHost || known.everywhere)
      return std::nullopt;
    return known.first;
  }
  auto found = stepOfOp.find(value.getDefiningOp());
  if (found == stepOfOp.end())
    return std::nullopt;
  return found->second;
}

unsigned FlowCut::lastStepOf(Value value) const {
  unsigned last = stepOf(value).value_or(0);
  auto found = needs.find(value);
  if (found != needs.end() && !found->second.empty())
    last = std::max(last, *found->second.rbegin());
  return last;
}

SmallVector<unsigned> FlowCut::stepsOf(Value value) const {
  auto found = needs.find(value);
  if (found == needs.end())
    return {};
  return SmallVector<unsigned>(found->second.begin(), found->second.end());
}

SmallVector<unsigned> FlowCut::readersOf(StringRef name) const {
  std::set<unsigned> readers;
  function->walk([&](xf::ReadOp read) {
    if (read.getVariable() == name)
      for (unsigned step : stepsOf(read.getResult()))
        readers.insert(step);
  });
  return SmallVector<unsigned>(readers.begin(), readers.end());
}

/// The earliest step of an op that takes `value`, as far as that value says.
std::optional<unsigned> FlowCut::operandStep(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    int step = arguments[argument.getArgNumber()].hostStep;
    if (step >= 0)
      return static_cast<unsigned>(step);
  } else if (endsAtLastStep && value.getDefiningOp() == lastCall) {
    return steps - 1;
  }
  return stepOf(value);
}

/// The variable that `op` changes, if it does.
static StringRef storedVariable(Operation *op) {
  if (auto accumulate = dyn_cast<xf::AccumulateOp>(op))
    return accumulate.getVariable();
  if (auto write = dyn_cast<xf::WriteOp>(op))
    return write.getVariable();
  return {};
}

LogicalResult FlowCut::assignOp(Operation *op) {
  std::optional<unsigned> step;
  // What is stored belongs to the layer that made it, the last one included.
  StringRef name = storedVariable(op);
  for (Value operand : op->getOperands())
    if (std::optional<unsigned> from =
            name.empty() ? operandStep(operand) : stepOf(operand))
      step = std::max(step.value_or(0), *from);
  if (!name.empty()) {
    auto home = homes.find(name);
    if (home != homes.end()) {
      auto at = llvm::lower_bound(home->second, step.value_or(0));
      if (at == home->second.end())
        return op->emitOpError("P5: what is stored here is computed after the "
                               "stage that the variable belongs to");
      step = *at;
    }
  }
  if (!step && !wouldOpBeTriviallyDead(op))
    step = 0; // What has an effect is done once.
  if (step)
    stepOfOp[op] = *step;
  return success();
}

LogicalResult FlowCut::assign() {
  auto calls = llvm::to_vector(function.front().getOps<func::CallOp>());
  if (calls.size() != callSteps.size())
    return function.emitOpError("P6: calls ")
           << calls.size() << " layers where " << callSteps.size()
           << " are expected";
  for (auto [call, step] : llvm::zip_equal(calls, callSteps))
    stepOfOp[call] = step;
  lastCall = calls.empty() ? nullptr : calls.back().getOperation();
  for (Operation &op : function.front().without_terminator())
    if (!isa<func::CallOp>(op) && failed(assignOp(&op)))
      return failure();
  for (Operation &op : function.front().without_terminator())
    if (auto step = stepOfOp.find(&op); step != stepOfOp.end())
      for (Value operand : op.getOperands())
        if (failed(require(operand, step->second)))
          return failure();
  return success();
}

LogicalResult FlowCut::require(Value value, unsigned step) {
  if (!needs[value].insert(step).second)
    return success();
  std::optional<unsigned> from = stepOf(value);
  if (!from) {
    // A copy of its own, of what it takes.
    if (Operation *op = value.getDefiningOp())
      for (Value operand : op->getOperands())
        if (failed(require(operand, step)))
          return failure();
    return success();
  }
  // An argument's own steps can be widened; see `stepsOf`.
  if (*from <= step || isa<BlockArgument>(value))
    return success();
  // So can those of what backward computes again from arguments, such as the
  // norm of the embeddings where the first layer is in the next stage.
  Operation *op = value.getDefiningOp();
  if (!wouldOpBeTriviallyDead(op))
    return emitError(value.getLoc())
           << "P5: a value of step " << *from
           << " is needed before it is computed, in step " << step;
  stepOfOp[op] = step;
  for (Value operand : op->getOperands())
    if (failed(require(operand, step)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

bool FlowCut::crosses(Value value, unsigned boundary) const {
  std::optional<unsigned> from = stepOf(value);
  if (!from)
    return false;
  unsigned last = *from;
  if (auto argument = dyn_cast<BlockArgument>(value))
    last = arguments[argument.getArgNumber()].last;
  return last <= boundary && lastStepOf(value) > boundary;
}

SmallVector<Value> FlowCut::crossing(unsigned boundary) const {
  SmallVector<Value> values;
  if (boundary + 1 < steps)
    for (Value value : order)
      if (crosses(value, boundary))
        values.push_back(value);
  return values;
}

Value FlowCut::materialise(Value value, OpBuilder &builder,
                           IRMapping &mapping) const {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    materialise(operand, builder, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

CutFunction FlowCut::build(unsigned step, StringRef name,
                           ArrayRef<Value> kept) {
  CutFunction cut;
  // 1. What it takes: arguments of the whole, then what crosses.
  for (BlockArgument argument : function.getArguments()) {
    auto found = needs.find(argument);
    bool needed = found != needs.end() && found->second.count(step);
    bool arrives = step > 0 && crosses(argument, step - 1);
    if (!arrives && (needed || crosses(argument, step) ||
                     llvm::is_contained(kept, argument)))
      cut.arguments.push_back(argument);
  }
  if (step > 0) {
    SmallVector<Value> arriving = crossing(step - 1);
    cut.received = arriving.size();
    llvm::append_range(cut.arguments, arriving);
  }
  // 2. What it returns.
  cut.results = crossing(step);
  cut.sent = cut.results.size();
  llvm::append_range(cut.results, kept);
  // 3. The body.
  cut.function = func::FuncOp::create(
      function.getLoc(), name,
      FunctionType::get(function.getContext(),
                        ValueRange(cut.arguments).getTypes(),
                        ValueRange(cut.results).getTypes()));
  Block *body = cut.function.addEntryBlock();
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(cut.arguments, body->getArguments())) {
    mapping.map(from, to);
    to.setLoc(from.getLoc());
  }
  auto builder = OpBuilder::atBlockEnd(body);
  for (Operation &op : function.front().without_terminator()) {
    auto at = stepOfOp.find(&op);
    if (at == stepOfOp.end() || at->second != step)
      continue;
    for (Value operand : op.getOperands())
      materialise(operand, builder, mapping);
    builder.clone(op, mapping);
  }
  SmallVector<Value> results;
  for (Value value : cut.results)
    results.push_back(materialise(value, builder, mapping));
  builder.create<func::ReturnOp>(function.getLoc(), results);
  return cut;
}
