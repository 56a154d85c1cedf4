//===- VerifyStepOps.cpp - Constraints of variables, update and step ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/BatchSizes.h"
#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/XfConstraints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace hocket;
using namespace hocket::xf;

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef kind, FloatAttr value) {
  bool spread = kind == "normal" || kind == "uniform";
  bool logarithmic = kind == "log_uniform" || kind == "time_step";
  bool valued = spread || logarithmic || kind == "constant";
  if (!valued && kind != "zeros" && kind != "ones")
    return emitError()
           << "X41: an initial value is normal, uniform, log_uniform, "
              "time_step, zeros, ones or constant, not "
           << kind;
  if (valued != static_cast<bool>(value))
    return emitError() << "X41: " << kind
                       << (valued ? " needs a value" : " takes no value");
  if (value && !std::isfinite(value.getValueAsDouble()))
    return emitError() << "X41: the value of " << kind << " is not finite";
  if (spread && value.getValueAsDouble() < 0)
    return emitError() << "X41: a "
                       << (kind == "normal" ? "standard deviation" : "bound")
                       << " of " << value.getValueAsDouble() << " is negative";
  double least = kind == "log_uniform" ? 1 : 0;
  if (logarithmic && value.getValueAsDouble() <= least)
    return emitError() << "X41: the value of " << kind << ", "
                       << value.getValueAsDouble() << ", is not above "
                       << least;
  return success();
}

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
    return emitOpError("X42: has type ")
           << getType() << ", expected a static tensor of floats";
  bool owned = getKind() == VariableKind::Gradient ||
               getKind() == VariableKind::OptimizerState ||
               getKind() == VariableKind::Working;
  if (owned != getOf().has_value())
    return emitOpError("X43: a ")
           << stringifyVariableKind(getKind())
           << (owned ? " names its parameter in `of`" : " has no `of`");
  if ((getKind() == VariableKind::OptimizerState) != getSlot().has_value())
    return emitOpError("X43: optimizer state, and nothing else, has a `slot`");
  if (getRole() && getKind() != VariableKind::Parameter &&
      getKind() != VariableKind::Cache)
    return emitOpError("X39: a ")
           << stringifyVariableKind(getKind())
           << " has no role of its own; only a parameter or a cache has one";
  if (getRole() && isOfExperts(*getRole()) && type.getRank() != 3)
    return emitOpError("X39: ")
           << stringifyParameterRole(*getRole())
           << " is a matrix of each expert, [experts, out, in], not " << type;
  if (getFrozen() && getKind() != VariableKind::Parameter)
    return emitOpError("X91: a ")
           << stringifyVariableKind(getKind())
           << " is not trained; only a parameter is `frozen`";
  return success();
}

/// Whether `role` is that of a layer's linear ops, or of its experts'.
static bool isLinear(ParameterRole role) {
  using enum ParameterRole;
  return llvm::is_contained({Query, Key, Value, AttentionOutput, Gate, Up, Down,
                             ExpertGate, ExpertUp, ExpertDown},
                            role);
}

LogicalResult LowRankOp::verify() {
  double alpha = getAlpha().convertToDouble();
  double dropout = getDropout().convertToDouble();
  if (static_cast<int64_t>(getRank()) < 1)
    return emitOpError("X92: a rank of ")
           << static_cast<int64_t>(getRank()) << " is not positive";
  if (!std::isfinite(alpha) || alpha <= 0)
    return emitOpError("X92: an alpha of ")
           << alpha << " is not positive and finite";
  if (!(dropout >= 0 && dropout < 1))
    return emitOpError("X92: a probability of ")
           << dropout << " is not in [0, 1)";
  if (getTargets().empty())
    return emitOpError("X92: names no target");
  for (auto role : getTargets().getAsRange<ParameterRoleAttr>())
    if (!isLinear(role.getValue()))
      return emitOpError("X92: ") << stringifyParameterRole(role.getValue())
                                  << " is no role of a layer's linear ops";
  return success();
}

bool hocket::xf::isOfExperts(ParameterRole role) {
  return role == ParameterRole::ExpertGate || role == ParameterRole::ExpertUp ||
         role == ParameterRole::ExpertDown;
}

std::optional<ParameterRole> VariableOp::findRole(const SymbolTable &symbols) {
  if (!getOf())
    return getRole();
  auto parameter = symbols.lookup<VariableOp>(*getOf());
  return parameter ? parameter.getRole() : std::nullopt;
}

/// X43: `of` names a parameter of the same shape.
LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getOf())
    return success();
  auto parameter =
      tables.lookupNearestSymbolFrom<VariableOp>(*this, getOfAttr().getAttr());
  if (!parameter || parameter.getKind() != VariableKind::Parameter)
    return emitOpError("X43: names no parameter: ") << getOfAttr();
  if (!isa<RankedTensorType>(parameter.getType()) ||
      (parameter.getWholeType().getShape() != getWholeType().getShape() &&
       !(getKind() == VariableKind::Working &&
         getWholeType().getRank() == 0))) // a scale
    return emitOpError("X43: has another shape than ") << getOfAttr();
  if (parameter.getFrozen() && getKind() != VariableKind::Working)
    return emitOpError("X91: ") << getOfAttr() << " is frozen, and has no "
                                << stringifyVariableKind(getKind());
  return success();
}

/// X40: `name` is a variable, and of type `type`.
static LogicalResult verifyVariable(Operation *op, FlatSymbolRefAttr name,
                                    Type type, SymbolTableCollection &tables) {
  auto variable =
      tables.lookupNearestSymbolFrom<VariableOp>(op, name.getAttr());
  if (!variable)
    return op->emitOpError("X40: names no variable: ") << name;
  if (variable.getType() != type)
    return op->emitOpError("X40: has type ")
           << type << ", but " << name << " has " << variable.getType();
  return success();
}

LogicalResult ReadOp::verify() { return checkStatic(*this); }
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyVariable(*this, getVariableAttr(), getResult().getType(),
                        tables);
}

LogicalResult WriteOp::verify() { return checkStatic(*this); }
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyVariable(*this, getVariableAttr(), getValue().getType(), tables);
}

LogicalResult AccumulateOp::verify() { return checkStatic(*this); }
LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyVariable(*this, getVariableAttr(), getValue().getType(), tables);
}

LogicalResult InputOp::verify() {
  if (getName() != "learning_rate" && getName() != "microbatches")
    return emitOpError("X44: the host gives `learning_rate` and "
                       "`microbatches`, not `")
           << getName() << "`";
  return checkScalar(*this, 44, "result", getResult());
}

LogicalResult OutputOp::verify() {
  // Of each label.
  if (getName() == "logits" || getName() == "hidden" || getName() == "lse" ||
      getName() == "picked")
    return success();
  if (getName() != "loss" && getName() != "grad_norm" &&
      getName() != "loss_scale" && getName() != "skipped")
    return emitOpError("X45: the host takes `loss`, `logits`, "
                       "`hidden`, `lse`, `picked`, `grad_norm`, `loss_scale` "
                       "and `skipped`, not "
                       "`")
           << getName() << "`";
  return checkScalar(*this, 45, "value", getValue());
}

//===----------------------------------------------------------------------===//
// Training and the step
//===----------------------------------------------------------------------===//

/// X46: the batch grows, in whole microbatches, to the global batch.
static LogicalResult verifyBatchSizes(TrainingOp op) {
  if (!op.getBatchSizes())
    return success();
  std::vector<BatchSize> rows;
  for (auto row : op.getBatchSizes()->getAsRange<BatchSizeAttr>()) {
    if (row.getSize() < 1 || row.getFrom() < 0 ||
        row.getSize() % static_cast<int64_t>(op.getMicroBatchSize()) != 0)
      return op.emitOpError("X46: ")
             << row << " is no multiple of the micro batch "
             << static_cast<int64_t>(op.getMicroBatchSize());
    rows.push_back({static_cast<uint64_t>(row.getFrom()),
                    static_cast<uint64_t>(row.getSize())});
  }
  if (rows.empty() || rows.back().size != op.getGlobalBatchSize())
    return op.emitOpError("X46: the last of the batch sizes is not the global "
                          "batch ")
           << static_cast<int64_t>(op.getGlobalBatchSize());
  if (Status status = BatchSizes::create(std::move(rows)).status();
      !status.ok())
    return op.emitOpError("X46: ") << status.message();
  return success();
}

SmallVector<int64_t> TrainingOp::getRampup() {
  SmallVector<int64_t> microbatches;
  if (!getBatchSizes())
    return microbatches;
  for (auto row : getBatchSizes()->getAsRange<BatchSizeAttr>())
    microbatches.push_back(row.getSize() /
                           static_cast<int64_t>(getMicroBatchSize()));
  microbatches.pop_back();
  return microbatches;
}

LogicalResult TrainingOp::verify() {
  int64_t micro = getMicroBatchSize(), global = getGlobalBatchSize();
  if (micro < 1 || static_cast<int64_t>(getSequenceLength()) < 1)
    return emitOpError("X46: batch and sequence are positive");
  if (global < micro || global % micro != 0)
    return emitOpError("X46: a global batch of ")
           << global << " is no multiple of the micro batch " << micro;
  if (failed(verifyBatchSizes(*this)))
    return failure();
  if (!isa<AdamWAttr, SgdAttr>(getOptimizer()))
    return emitOpError("X46: the optimizer is #xf.adamw or #xf.sgd");
  double clip = getClipNorm().convertToDouble();
  if (!(clip >= 0) || !std::isfinite(clip))
    return emitOpError("X46: a clipping norm of ") << clip << " is negative";
  if ((getPrecision() == Precision::Fp16) != getLossScale().has_value())
    return emitOpError("X46: fp16, and nothing else, has a loss scale");
  return success();
}

LogicalResult BalanceOp::verify() {
  double rate = getRate().convertToDouble();
  if (rate > 0 && std::isfinite(rate))
    return success();
  return emitOpError("X49: a rate of ") << rate << " is not positive";
}

/// X49: both are states of one type, a number an expert.
LogicalResult BalanceOp::verifySymbolUses(SymbolTableCollection &tables) {
  Type type;
  for (FlatSymbolRefAttr name : {getBiasAttr(), getCountsAttr()}) {
    auto variable =
        tables.lookupNearestSymbolFrom<VariableOp>(*this, name.getAttr());
    if (!variable || variable.getKind() != VariableKind::State)
      return emitOpError("X49: names no state: ") << name;
    auto shape = dyn_cast<ShapedType>(variable.getType());
    if (!shape || shape.getRank() != 1)
      return emitOpError("X49: ") << name << " has not one number an expert";
    if (type && type != variable.getType())
      return emitOpError("X49: bias and counts differ in type: ")
             << variable.getType() << " and " << type;
    type = variable.getType();
  }
  return success();
}

LogicalResult StepOp::verify() {
  if (static_cast<int64_t>(getMicrobatches()) < 1)
    return emitOpError("X47: has ")
           << static_cast<int64_t>(getMicrobatches()) << " microbatches";
  int64_t before = 0;
  for (int64_t fewer : getRampup()) {
    if (fewer <= before || fewer >= static_cast<int64_t>(getMicrobatches()))
      return emitOpError("X47: rampup lists ")
             << fewer << ", and should list ever more microbatches, all less "
             << "than " << static_cast<int64_t>(getMicrobatches());
    before = fewer;
  }
  return success();
}

/// X48: backward takes what forward takes and then what it returns after the
/// loss; evaluate returns a loss; the others have no argument and no result.
static LogicalResult verifySignatures(StepOp op, FunctionType forward,
                                      FunctionType backward,
                                      FunctionType evaluate) {
  if (forward.getNumResults() < 1)
    return op.emitOpError("X48: forward returns no loss");
  SmallVector<Type> expected(forward.getInputs());
  llvm::append_range(expected, forward.getResults().drop_front());
  if (backward.getInputs() != ArrayRef(expected) ||
      backward.getNumResults() != 0)
    return op.emitOpError("X48: backward does not take what forward returns");
  if (evaluate.getInputs() != forward.getInputs() ||
      evaluate.getResults() != forward.getResults().take_front())
    return op.emitOpError("X48: evaluate does not take what forward takes "
                          "and return a loss");
  return success();
}

LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto lookup = [&](FlatSymbolRefAttr name) -> FailureOr<FunctionType> {
    auto function =
        tables.lookupNearestSymbolFrom<func::FuncOp>(*this, name.getAttr());
    if (!function)
      return emitOpError("X47: names no function: ") << name;
    return function.getFunctionType();
  };
  auto forward = lookup(getForwardAttr()), backward = lookup(getBackwardAttr());
  auto update = lookup(getUpdateAttr()), evaluate = lookup(getEvaluateAttr());
  if (failed(forward) || failed(backward) || failed(update) || failed(evaluate))
    return failure();
  for (FlatSymbolRefAttr name : {getForwardAttr(), getEvaluateAttr()})
    if (!takesMicrobatch(tables.lookupNearestSymbolFrom<func::FuncOp>(
            *this, name.getAttr())))
      return emitOpError("X48: ")
             << name << " does not take tokens and labels, and beside them "
             << "only what `xf.host` says of";
  auto none = FunctionType::get(getContext(), {}, {});
  if (*update != none)
    return emitOpError("X48: update has no argument and no result");
  if (getPrepareAttr()) {
    auto prepare = lookup(getPrepareAttr());
    if (failed(prepare))
      return failure();
    if (*prepare != none)
      return emitOpError("X48: prepare has no argument and no result");
  }
  return verifySignatures(*this, *forward, *backward, *evaluate);
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

/// Named scalars of f32 or f64.
static LogicalResult
checkScalars(Operation *op, int number,
             ArrayRef<std::pair<StringRef, Value>> scalars) {
  for (auto [name, value] : scalars)
    if (value && failed(checkScalar(op, number, name, value)))
      return failure();
  return success();
}

LogicalResult GlobalNormOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  if (getGrads().empty())
    return emitOpError("X50: has no gradient");
  return checkScalars(*this, 50,
                      {{"norm", getNorm()}, {"nonfinite", getNonfinite()}});
}

LogicalResult GradientScaleOp::verify() {
  double maximum = getMaxNorm().convertToDouble();
  if (!(maximum >= 0) || !std::isfinite(maximum))
    return emitOpError("X51: max_norm ") << maximum << " is negative";
  if (getMicrobatches().has_value() == bool(getCount()))
    return emitOpError("X51: has either `microbatches` or their count");
  if (getMicrobatches() && static_cast<int64_t>(*getMicrobatches()) < 1)
    return emitOpError("X51: has ")
           << static_cast<int64_t>(*getMicrobatches()) << " microbatches";
  return checkScalars(*this, 51,
                      {{"norm", getNorm()},
                       {"loss_scale", getLossScale()},
                       {"count", getCount()},
                       {"scale", getScale()},
                       {"unscaled_norm", getUnscaledNorm()}});
}

static bool isBeta(double beta) { return beta >= 0 && beta < 1; }

LogicalResult BiasCorrectionOp::verify() {
  if (!isBeta(getBeta().convertToDouble()))
    return emitOpError("X52: beta is not in [0, 1)");
  return checkScalars(*this, 52,
                      {{"step", getStep()}, {"result", getResult()}});
}

LogicalResult AdvanceStepOp::verify() {
  return checkScalars(
      *this, 53,
      {{"step", getStep()}, {"skip", getSkip()}, {"result", getResult()}});
}

LogicalResult AdamWOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  std::pair<StringRef, Value> tensors[] = {
      {"grad", getGrad()},
      {"exp_avg", getExpAvg()},
      {"exp_avg_sq", getExpAvgSq()},
      {"new_param", getNewParam()},
      {"new_exp_avg", getNewExpAvg()},
      {"new_exp_avg_sq", getNewExpAvgSq()}};
  for (auto [name, value] : tensors)
    if (failed(checkSameType(*this, 54, name, value, getParam())))
      return failure();
  if (!isBeta(getBeta1().convertToDouble()) ||
      !isBeta(getBeta2().convertToDouble()))
    return emitOpError("X55: beta is not in [0, 1)");
  if (!(getEpsilon().convertToDouble() > 0))
    return emitOpError("X55: epsilon is not positive");
  if (!(getWeightDecay().convertToDouble() >= 0))
    return emitOpError("X55: weight_decay is negative");
  return checkScalars(*this, 54,
                      {{"learning_rate", getLearningRate()},
                       {"correction1", getCorrection1()},
                       {"correction2", getCorrection2()},
                       {"scale", getScale()},
                       {"skip", getSkip()}});
}

LogicalResult SgdOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkSameType(*this, 56, "grad", getGrad(), getParam())) ||
      failed(checkSameType(*this, 56, "new_param", getNewParam(), getParam())))
    return failure();
  double momentum = getMomentum().convertToDouble();
  if (!isBeta(momentum))
    return emitOpError("X57: momentum is not in [0, 1)");
  if (!(getWeightDecay().convertToDouble() >= 0))
    return emitOpError("X57: weight_decay is negative");
  bool buffered = static_cast<bool>(getBuffer());
  if (buffered != static_cast<bool>(getNewBuffer()) ||
      buffered != (momentum > 0))
    return emitOpError("X57: a buffer is there when, and only when, there is "
                       "momentum");
  if (buffered &&
      (failed(checkSameType(*this, 56, "buffer", getBuffer(), getParam())) ||
       failed(
           checkSameType(*this, 56, "new_buffer", getNewBuffer(), getParam()))))
    return failure();
  return checkScalars(*this, 56,
                      {{"learning_rate", getLearningRate()},
                       {"scale", getScale()},
                       {"skip", getSkip()}});
}

LogicalResult LossScaleUpdateOp::verify() {
  return checkScalars(*this, 58,
                      {{"scale", getScale()},
                       {"good_steps", getGoodSteps()},
                       {"nonfinite", getNonfinite()},
                       {"new_scale", getNewScale()},
                       {"new_good_steps", getNewGoodSteps()}});
}
