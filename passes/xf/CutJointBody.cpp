//===- CutJointBody.cpp - Cuts a joint body into its halves ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/CutJointBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket::xf;

/// Whether `op` only moves rows between runs, of which the plan has no more
/// than one: its result is its operand.
static bool isIdentity(Operation *op, const RecomputePolicy &policy) {
  return !policy.sharesExperts &&
         isa<ExchangeRowsOp, ReturnRowsOp, ExpertSegmentsOp>(op);
}

/// What is never worth keeping: views, constants, variables (which do not
/// change within a step's microbatch), narrow values made wide, what arguments
/// are in blocks of 8 bits (weights are arguments), and norms, whose gradient
/// reads the input anyway.
static bool isNeverKept(Operation *op) {
  if (auto quantize = dyn_cast<QuantizeBlocksOp>(op))
    return isa<BlockArgument>(quantize.getInput());
  if (auto cast = dyn_cast<CastOp>(op))
    return getElementTypeOrSelf(cast.getInput()).getIntOrFloatBitWidth() <
           getElementTypeOrSelf(cast.getResult()).getIntOrFloatBitWidth();
  if (auto norm = dyn_cast<NormOp>(op))
    return getElementTypeOrSelf(norm.getInput()).isF32();
  return isView(op) || isa<ReadOp, ConstantOp, arith::ConstantOp, PositionsOp,
                           RelativeBucketsOp, DequantizeBlocksOp>(op);
}

/// Whether `value` comes of a call of a layer.
static bool comesOfLayer(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<func::CallOp>(op) ||
                llvm::any_of(op->getOperands(), comesOfLayer));
}

/// Whether layers take what `op` has made of other layers' result: that may
/// come of another stage, which has what it was made of and goes back later.
static bool isBetweenStacks(Operation *op) {
  auto isOfLayer = [](Operation *user) { return isa<func::CallOp>(user); };
  return llvm::any_of(op->getUsers(), isOfLayer) && op->getNumResults() == 1 &&
         !isa<func::CallOp>(op) && comesOfLayer(op->getResult(0));
}

namespace {
class Cutter {
public:
  Cutter(const JointBody &joint, const CutOptions &options)
      : joint(joint), options(options) {}

  FunctionHalves cut();
  CutCounts counts;

private:
  bool isForNothing(Operation *op) const {
    bool isNormBetween = isa<NormOp>(op) && isBetweenStacks(op);
    return (isNeverKept(op) && !isNormBetween) ||
           isIdentity(op, options.policy);
  }
  bool computesAgain(Operation *op) const {
    return isForNothing(op) ||
           (options.policy.computesAgain(op) && !isBetweenStacks(op));
  }
  /// Requires what `op` reads. What an identity reads beside its rows can wait:
  /// residuals stand in the order in which others ask for them.
  void requireOperands(Operation *op);

  /// Notes what the backward half needs for `value`: an argument, a residual,
  /// or the operands of what is computed again.
  void require(Value value);
  void collectRequirements();

  /// Creates the backward half's signature.
  func::FuncOp createBackward();
  /// Copies the appended ops into it.
  void fillBackward(func::FuncOp backward);
  /// Makes `value` available in it.
  void materialise(Value value, OpBuilder &builder);

  /// Leaves only the forward half in the joint function.
  void finishForward(FunctionHalves &halves);

  JointBody joint;
  const CutOptions &options;
  DenseSet<Value> seen;
  std::vector<unsigned> arguments;
  SmallVector<Value> residuals;
  SmallVector<Value> later;
  IRMapping mapping;
};
} // namespace

void Cutter::require(Value value) {
  if (!seen.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getArgNumber() < joint.numArguments)
      arguments.push_back(argument.getArgNumber());
    return;
  }
  Operation *op = value.getDefiningOp();
  if (joint.isAppended(op))
    return;
  if (!computesAgain(op)) {
    residuals.push_back(value);
    return;
  }
  requireOperands(op);
}

void Cutter::requireOperands(Operation *op) {
  if (!isIdentity(op, options.policy)) {
    for (Value operand : op->getOperands())
      require(operand);
    return;
  }
  require(op->getOperand(0));
  llvm::append_range(later, op->getOperands().drop_front());
}

void Cutter::collectRequirements() {
  Operation *end = joint.function.front().getTerminator();
  for (Operation *op = joint.firstAppended(); op != end; op = op->getNextNode())
    requireOperands(op);
  for (Value gradient : joint.argumentGradients)
    if (gradient)
      require(gradient);
  while (!later.empty())
    require(later.pop_back_val());
  if (options.allArguments) {
    arguments.resize(joint.numArguments);
    for (unsigned i = 0; i < joint.numArguments; ++i)
      arguments[i] = i;
  }
  llvm::sort(arguments);
  counts.residuals = static_cast<int64_t>(residuals.size());
}

func::FuncOp Cutter::createBackward() {
  Block &body = joint.function.front();
  SmallVector<Value> sources;
  for (unsigned index : arguments)
    sources.push_back(body.getArgument(index));
  llvm::append_range(sources, residuals);
  for (unsigned i = joint.numArguments; i < body.getNumArguments(); ++i)
    sources.push_back(body.getArgument(i));
  SmallVector<Type> results;
  for (Value gradient : joint.argumentGradients)
    if (gradient)
      results.push_back(gradient.getType());
  auto type = FunctionType::get(joint.function.getContext(),
                                ValueRange(sources).getTypes(), results);
  auto backward =
      func::FuncOp::create(joint.function.getLoc(), options.backwardName, type);
  backward.setVisibility(joint.function.getVisibility());
  for (auto [source, argument] :
       llvm::zip_equal(sources, backward.addEntryBlock()->getArguments()))
    mapping.map(source, argument);
  return backward;
}

void Cutter::materialise(Value value, OpBuilder &builder) {
  if (mapping.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    materialise(operand, builder);
  Operation *copy = builder.clone(*op, mapping);
  if (isForNothing(op))
    return;
  copy->setAttr("recomputed", builder.getUnitAttr());
  ++counts.recomputed;
}

void Cutter::fillBackward(func::FuncOp backward) {
  auto builder = OpBuilder::atBlockEnd(&backward.front());
  Operation *end = joint.function.front().getTerminator();
  for (Operation *op = joint.firstAppended(); op != end;
       op = op->getNextNode()) {
    for (Value operand : op->getOperands())
      materialise(operand, builder);
    builder.clone(*op, mapping);
  }
  SmallVector<Value> gradients;
  for (Value gradient : joint.argumentGradients) {
    if (!gradient)
      continue;
    materialise(gradient, builder);
    gradients.push_back(mapping.lookup(gradient));
  }
  builder.create<func::ReturnOp>(backward.getLoc(), gradients);
}

void Cutter::finishForward(FunctionHalves &halves) {
  Block &body = joint.function.front();
  Operation *end = body.getTerminator();
  SmallVector<Value> results(end->getOperands().take_front(joint.numResults));
  for (Value residual : residuals) {
    auto found = llvm::find(results, residual);
    halves.residuals.push_back(found - results.begin());
    if (found == results.end())
      results.push_back(residual);
  }
  end->setOperands(results);
  while (end->getPrevNode() && joint.isAppended(end->getPrevNode()))
    end->getPrevNode()->erase();
  body.eraseArguments(joint.numArguments,
                      body.getNumArguments() - joint.numArguments);
  joint.function.setFunctionType(
      FunctionType::get(joint.function.getContext(), body.getArgumentTypes(),
                        ValueRange(results).getTypes()));
}

FunctionHalves Cutter::cut() {
  collectRequirements();
  FunctionHalves halves;
  halves.forward = joint.function;
  halves.backward = createBackward();
  fillBackward(halves.backward);
  finishForward(halves);
  halves.arguments.assign(arguments.begin(), arguments.end());
  int index = 0;
  for (Value gradient : joint.argumentGradients)
    halves.gradients.push_back(gradient ? index++ : -1);
  return halves;
}

FunctionHalves hocket::xf::cutJointBody(const JointBody &joint,
                                        const CutOptions &options,
                                        CutCounts &counts) {
  Cutter cutter(joint, options);
  FunctionHalves halves = cutter.cut();
  counts = cutter.counts;
  return halves;
}

/// Adds `op` and the appended ops that it needs to `needed`, operands first.
/// Fails where those are more than a few numbers.
static LogicalResult collectNumbers(const JointBody &joint, Operation *op,
                                    SmallVectorImpl<Operation *> &needed) {
  for (Value operand : op->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (!definition || !joint.isAppended(definition) ||
        llvm::is_contained(needed, definition))
      continue;
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    bool mayMove = isPure(definition) || isa<ReadOp>(definition);
    if (!type || type.getNumElements() != 1 || !mayMove ||
        failed(collectNumbers(joint, definition, needed)))
      return failure();
  }
  needed.push_back(op);
  return success();
}

void hocket::xf::advanceLossGradients(JointBody &joint) {
  SmallVector<CrossEntropyGradientOp> gradients;
  for (auto gradient : joint.function.front().getOps<CrossEntropyGradientOp>())
    gradients.push_back(gradient);
  for (CrossEntropyGradientOp gradient : gradients) {
    // Wide logits of narrow ones are not kept, and their gradient would be.
    Operation *logits = gradient.getLogits().getDefiningOp();
    if (isa_and_present<CastOp>(logits) && isNeverKept(logits))
      continue;
    SmallVector<Operation *> needed;
    if (failed(collectNumbers(joint, gradient, needed)))
      continue;
    Operation *loss = gradient.getLse().getDefiningOp();
    for (Operation *op : needed) {
      bool isEarlier =
          loss && llvm::all_of(op->getOperands(), [&](Value value) {
            Operation *definition = value.getDefiningOp();
            return !definition || definition->isBeforeInBlock(loss);
          });
      if (isEarlier) {
        op->moveBefore(loss);
        continue;
      }
      op->moveAfter(joint.lastForward);
      joint.lastForward = op;
    }
  }
}
