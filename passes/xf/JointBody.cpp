//===- JointBody.cpp - A body with its gradient appended ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/JointBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket::xf;

static Value castTo(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return builder.create<CastOp>(value.getLoc(), type, value);
}

namespace {
/// Walks a body backwards and collects the gradients of its values.
class GradientWalk {
public:
  GradientWalk(Differentiator &differentiator, OpBuilder builder)
      : differentiator(differentiator), builder(builder) {}

  /// Adds `gradient` to what reaches `value`, if that is active. The gradient
  /// of a variable is accumulated at once, so that it does not live longer than
  /// it must.
  void contribute(Value value, Value gradient);

  /// The sum of what reached `value`, or null.
  Value total(Value value);

  LogicalResult visit(Operation &op);

private:
  LogicalResult visitModelOp(DifferentiableOpInterface op);
  LogicalResult visitCall(func::CallOp call);

  Differentiator &differentiator;
  OpBuilder builder;
  DenseMap<Value, SmallVector<Value>> contributions;

public:
  /// Calls of forward halves, with what they are halves of.
  DenseMap<Operation *, const FunctionHalves *> calls;
  /// What gradients are built of.
  DenseSet<Value> active;
};
} // namespace

void GradientWalk::contribute(Value value, Value gradient) {
  if (!active.contains(value))
    return;
  auto read = value.getDefiningOp<ReadOp>();
  if (!read) {
    contributions[value].push_back(gradient);
    return;
  }
  VariableOp variable = differentiator.gradientOf(read);
  builder.create<AccumulateOp>(gradient.getLoc(),
                               castTo(builder, gradient, variable.getType()),
                               variable.getName());
}

Value GradientWalk::total(Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return {};
  SmallVector<Value> &parts = found->second;
  Type type = parts.front().getType();
  for (Value part : parts)
    if (getElementTypeOrSelf(part).getIntOrFloatBitWidth() >
        getElementTypeOrSelf(type).getIntOrFloatBitWidth())
      type = part.getType();
  Value sum = castTo(builder, parts.front(), type);
  for (Value part : llvm::drop_begin(parts))
    sum = builder.create<AddOp>(part.getLoc(), type, sum,
                                castTo(builder, part, type));
  parts.assign(1, sum);
  return sum;
}

LogicalResult GradientWalk::visitModelOp(DifferentiableOpInterface op) {
  SmallVector<Value> gradients;
  for (Value result : op->getResults())
    gradients.push_back(total(result));
  if (llvm::none_of(gradients, [](Value g) { return g != nullptr; }))
    return success();
  if (llvm::any_of(llvm::drop_begin(gradients), [](Value g) { return !!g; }))
    return op.emitOpError("has a gradient by its first result only");
  SmallVector<Value> operands = op.buildGradient(builder, gradients);
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operands))
    if (gradient)
      contribute(operand, gradient);
  return success();
}

LogicalResult GradientWalk::visitCall(func::CallOp call) {
  const FunctionHalves *halves = calls.lookup(call);
  if (!halves)
    return success(); // Nothing in it is trained, nor what it is given.
  SmallVector<Value> operands;
  for (unsigned index : halves->arguments)
    operands.push_back(call.getOperand(index));
  for (unsigned index : halves->residuals)
    operands.push_back(call.getResult(index));
  bool reached = false;
  unsigned gradientAt = operands.size();
  func::FuncOp callee = halves->backward;
  TypeRange types = callee.getArgumentTypes();
  for (unsigned i : halves->activeResults.set_bits()) {
    Value result = call.getResult(i);
    Type type = types[gradientAt++];
    Value gradient = total(result);
    reached |= static_cast<bool>(gradient);
    if (!gradient)
      gradient = builder.create<ConstantOp>(call.getLoc(), type,
                                            builder.getF64FloatAttr(0));
    operands.push_back(castTo(builder, gradient, type));
  }
  if (!reached)
    return success();
  auto backward =
      builder.create<func::CallOp>(call.getLoc(), halves->backward, operands);
  for (auto [operand, index] :
       llvm::zip_equal(call.getOperands(), halves->gradients))
    if (index >= 0)
      contribute(operand, backward.getResult(index));
  return success();
}

LogicalResult GradientWalk::visit(Operation &op) {
  if (auto model = dyn_cast<DifferentiableOpInterface>(op))
    return visitModelOp(model);
  if (auto call = dyn_cast<func::CallOp>(op))
    return visitCall(call);
  for (Value result : op.getResults())
    if (total(result))
      return op.emitOpError("has no gradient");
  return success();
}

/// Calls forward halves in place of the functions they are of.
static LogicalResult replaceCalls(func::FuncOp function,
                                  Differentiator &differentiator,
                                  GradientWalk &walk) {
  for (auto call :
       llvm::make_early_inc_range(function.getOps<func::CallOp>())) {
    llvm::BitVector active = Activity::operandsOf(call, walk.active);
    if (active.none())
      continue;
    const FunctionHalves *halves = differentiator.halvesOf(call, active);
    if (!halves)
      return failure();
    OpBuilder builder(call);
    auto forward = builder.create<func::CallOp>(call.getLoc(), halves->forward,
                                                call.getOperands());
    for (auto [index, result] : llvm::enumerate(call.getResults())) {
      if (walk.active.erase(result))
        walk.active.insert(forward.getResult(index));
      result.replaceAllUsesWith(forward.getResult(index));
    }
    call.erase();
    walk.calls[forward] = halves;
  }
  return success();
}

/// Erases appended ops that nothing reads, so that they ask for no residual.
static void eraseDead(JointBody &joint) {
  Operation *op = joint.function.front().getTerminator()->getPrevNode();
  while (op && joint.isAppended(op)) {
    Operation *previous = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = previous;
  }
}

FailureOr<JointBody>
hocket::xf::appendGradient(func::FuncOp function,
                           Differentiator &differentiator,
                           const llvm::BitVector &active,
                           function_ref<Value(OpBuilder &, Location)> seed) {
  Block &body = function.front();
  Operation *end = body.getTerminator();
  JointBody joint;
  joint.function = function;
  joint.numArguments = function.getNumArguments();
  joint.numResults = function.getNumResults();

  GradientWalk walk(differentiator, OpBuilder(end));
  walk.active = differentiator.activity.valuesOf(function, active);
  if (failed(replaceCalls(function, differentiator, walk)))
    return failure();
  SmallVector<Operation *> forwardOps;
  for (Operation &op : body.without_terminator())
    forwardOps.push_back(&op);

  OpBuilder builder(end);
  for (Value result : end->getOperands())
    if (seed)
      walk.contribute(result, seed(builder, end->getLoc()));
    else if (walk.active.contains(result))
      walk.contribute(result,
                      body.addArgument(result.getType(), end->getLoc()));
  for (Operation *op : llvm::reverse(forwardOps))
    if (failed(walk.visit(*op)))
      return failure();

  SmallVector<Value> returned(end->getOperands());
  for (unsigned i = 0; i < joint.numArguments; ++i) {
    joint.argumentGradients.push_back(walk.total(body.getArgument(i)));
    if (joint.argumentGradients.back())
      returned.push_back(joint.argumentGradients.back());
  }
  end->setOperands(returned);
  joint.lastForward = forwardOps.empty() ? nullptr : forwardOps.back();
  eraseDead(joint);
  return joint;
}
