//===- Interpreter.cpp - The reference evaluator --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/reference/Interpreter.h"

#include "dialects/xf/IR/Xf.h"
#include "dialects/xf/IR/XfConstraints.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::xf;

namespace {
using TensorList = SmallVector<ReferenceTensor>;

/// Runs one function; each call has its own.
class FunctionRun {
public:
  FunctionRun(EvaluationContext &context, llvm::StringSet<> &accumulated)
      : context(context), accumulated(accumulated) {}

  FailureOr<TensorList> run(func::FuncOp function,
                            ArrayRef<ReferenceTensor> arguments);

private:
  LogicalResult runOp(Operation &op);
  LogicalResult runCall(func::CallOp call);
  LogicalResult runInterface(InterpretableOpInterface op);
  LogicalResult read(ReadOp op);
  LogicalResult accumulate(AccumulateOp op);
  LogicalResult input(InputOp op);

  /// Keeps the results, rounded if the context says so.
  void keep(Operation &op, TensorList results);
  TensorList valuesOf(ValueRange values);

  EvaluationContext &context;
  /// Variables that an `xf.accumulate` of this microbatch has added to.
  llvm::StringSet<> &accumulated;
  DenseMap<Value, ReferenceTensor> values;
};
} // namespace

TensorList FunctionRun::valuesOf(ValueRange range) {
  TensorList result;
  for (Value value : range)
    result.push_back(values[value]);
  return result;
}

void FunctionRun::keep(Operation &op, TensorList results) {
  for (auto [value, tensor] : llvm::zip_equal(op.getResults(), results)) {
    Type type = getElementTypeOrSelf(value.getType());
    if (context.rounding == Rounding::All ||
        (context.rounding == Rounding::Codes && isF8(type)))
      for (double &element : tensor.values)
        element = roundTo(type, element);
    values[value] = std::move(tensor);
  }
}

LogicalResult FunctionRun::runCall(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee)
    return call.emitOpError("calls no function");
  FunctionRun inner(context, accumulated);
  FailureOr<TensorList> results =
      inner.run(callee, valuesOf(call.getOperands()));
  if (failed(results))
    return failure();
  keep(*call, std::move(*results));
  return success();
}

LogicalResult FunctionRun::runInterface(InterpretableOpInterface op) {
  TensorList results;
  if (failed(op.evaluate(context, valuesOf(op->getOperands()), results)))
    return failure();
  keep(*op, std::move(results));
  return success();
}

LogicalResult FunctionRun::read(ReadOp op) {
  auto found = context.variables.find(op.getVariable());
  if (found == context.variables.end())
    return op.emitOpError("reads a variable without a value");
  keep(*op, {found->second});
  return success();
}

LogicalResult FunctionRun::accumulate(AccumulateOp op) {
  ReferenceTensor &variable = context.variables[op.getVariable()];
  const ReferenceTensor &value = values[op.getValue()];
  bool adds =
      !accumulated.insert(op.getVariable()).second || context.microbatch > 0;
  if (!adds) {
    variable = value;
    return success();
  }
  if (variable.size() != value.size())
    return op.emitOpError("adds to a variable without a value");
  for (int64_t i = 0; i < value.size(); ++i)
    variable[i] += value[i];
  return success();
}

LogicalResult FunctionRun::input(InputOp op) {
  auto found = context.inputs.find(op.getName());
  if (found == context.inputs.end())
    return op.emitOpError("reads an input without a value");
  keep(*op, {found->second});
  return success();
}

LogicalResult FunctionRun::runOp(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](InterpretableOpInterface o) { return runInterface(o); })
      .Case([&](func::CallOp o) { return runCall(o); })
      .Case([&](ReadOp o) { return read(o); })
      .Case([&](AccumulateOp o) { return accumulate(o); })
      .Case([&](InputOp o) { return input(o); })
      .Case([&](WriteOp o) {
        context.variables[o.getVariable()] = values[o.getValue()];
        return success();
      })
      .Case([&](OutputOp o) {
        context.outputs[o.getName()].push_back(values[o.getValue()]);
        return success();
      })
      .Case([&](arith::ConstantOp o) -> LogicalResult {
        auto integer = dyn_cast<IntegerAttr>(o.getValue());
        if (!integer)
          return o.emitOpError("is no integer");
        keep(*o, {ReferenceTensor(ArrayRef<int64_t>{},
                                  static_cast<double>(integer.getInt()))});
        return success();
      })
      .Default([](Operation *o) {
        return o->emitOpError("has no reference evaluation");
      });
}

FailureOr<TensorList> FunctionRun::run(func::FuncOp function,
                                       ArrayRef<ReferenceTensor> arguments) {
  if (function.isExternal())
    return function.emitOpError("has no body"), failure();
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError("takes ")
           << function.getNumArguments() << " arguments, not "
           << arguments.size();
  for (auto [parameter, tensor] :
       llvm::zip_equal(function.getArguments(), arguments)) {
    if (zerosOf(parameter.getType()).shape != tensor.shape)
      return function.emitOpError("is given [")
             << ArrayRef<int64_t>(tensor.shape) << "] for "
             << parameter.getType();
    values[parameter] = tensor;
  }
  for (Operation &op : function.front().without_terminator())
    if (failed(runOp(op)))
      return failure();
  return valuesOf(function.front().getTerminator()->getOperands());
}

FailureOr<SmallVector<ReferenceTensor>>
hocket::xf::interpret(func::FuncOp function,
                      ArrayRef<ReferenceTensor> arguments,
                      EvaluationContext &context) {
  llvm::StringSet<> accumulated;
  return FunctionRun(context, accumulated).run(function, arguments);
}

LogicalResult hocket::xf::interpretStep(StepOp step,
                                        ArrayRef<Microbatch> batches,
                                        EvaluationContext &context) {
  auto lookup = [&](StringRef name) {
    return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        step, StringAttr::get(step.getContext(), name));
  };
  if (batches.size() != static_cast<size_t>(step.getMicrobatches()))
    return step.emitOpError("runs ")
           << step.getMicrobatches() << " microbatches, not " << batches.size();
  for (auto [index, batch] : llvm::enumerate(batches)) {
    context.microbatch = static_cast<int64_t>(index);
    SmallVector<ReferenceTensor> arguments = batch.arguments();
    auto residuals = interpret(lookup(step.getForward()), arguments, context);
    if (failed(residuals))
      return failure();
    llvm::append_range(arguments, llvm::drop_begin(*residuals));
    if (failed(interpret(lookup(step.getBackward()), arguments, context)))
      return failure();
  }
  context.microbatch = 0;
  return interpret(lookup(step.getUpdate()), {}, context);
}
