//===- UpdateBuilder.cpp - Builds the optimizer's update ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/UpdateBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hocket::xf;

UpdateBuilder::UpdateBuilder(ModuleOp module, TrainingOp training)
    : module(module), training(training), symbols(module),
      builder(module.getContext()),
      scalar(RankedTensorType::get({}, builder.getF32Type())),
      loc(module.getLoc()) {}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

VariableOp UpdateBuilder::variable(StringRef name, Type type, VariableKind kind,
                                   InitAttr init, VariableOp parameter,
                                   StringRef slot) {
  if (auto existing = symbols.lookup<VariableOp>(name))
    return existing;
  OpBuilder at(module.getBodyRegion());
  if (parameter)
    at.setInsertionPointAfter(parameter);
  auto result = at.create<VariableOp>(
      loc, at.getStringAttr(name), TypeAttr::get(type),
      VariableKindAttr::get(at.getContext(), kind), init,
      at.getI32IntegerAttr(0), UnitAttr(),
      parameter ? FlatSymbolRefAttr::get(parameter.getSymNameAttr())
                : FlatSymbolRefAttr(),
      slot.empty() ? StringAttr() : at.getStringAttr(slot), TypeAttr(),
      ParameterRoleAttr());
  symbols.insert(result);
  return result;
}

VariableOp UpdateBuilder::state(StringRef name, double initial) {
  auto value = builder.getF64FloatAttr(initial);
  return variable(name, scalar, VariableKind::State,
                  InitAttr::get(builder.getContext(), "constant", value));
}

Value UpdateBuilder::read(VariableOp variable) {
  return builder.create<ReadOp>(loc, variable.getType(), variable.getSymName());
}

void UpdateBuilder::write(Value value, VariableOp variable) {
  builder.create<WriteOp>(loc, value, variable.getSymName());
}

void UpdateBuilder::output(Value value, StringRef name) {
  builder.create<OutputOp>(loc, value, name);
}

//===----------------------------------------------------------------------===//
// The scalars
//===----------------------------------------------------------------------===//

/// The scale for the next step, from whether this one overflowed.
void UpdateBuilder::buildLossScale(Value skip) {
  LossScaleAttr policy = *training.getLossScale();
  VariableOp scale =
      state("state.loss_scale", policy.getInitial().getValueAsDouble());
  VariableOp good = state("state.good_steps", 0);
  Value now = read(scale);
  auto next = builder.create<LossScaleUpdateOp>(loc, scalar, scalar, now,
                                                read(good), skip, policy);
  output(now, "loss_scale");
  write(next.getNewScale(), scale);
  write(next.getNewGoodSteps(), good);
}

void UpdateBuilder::buildBalance(Value skip) {
  for (auto balance : llvm::make_early_inc_range(module.getOps<BalanceOp>())) {
    auto bias = symbols.lookup<VariableOp>(balance.getBias());
    Value now = read(bias);
    Value counts = read(symbols.lookup<VariableOp>(balance.getCounts()));
    write(builder.create<BalanceBiasOp>(balance.getLoc(), now.getType(), now,
                                        counts, skip, balance.getRateAttr()),
          bias);
    balance.erase();
  }
}

UpdateBuilder::Scalars UpdateBuilder::buildScalars(ValueRange gradients) {
  Scalars s;
  s.learningRate = builder.create<InputOp>(loc, scalar, "learning_rate");
  auto norm = builder.create<GlobalNormOp>(loc, scalar, scalar, gradients);
  s.skip = norm.getNonfinite();
  Value lossScale;
  if (training.getLossScale())
    lossScale =
        read(state("state.loss_scale",
                   training.getLossScale()->getInitial().getValueAsDouble()));
  Value microbatchCount;
  IntegerAttr microbatches;
  if (training.getBatchSizes())
    microbatchCount = builder.create<InputOp>(loc, scalar, "microbatches");
  else
    microbatches = builder.getI64IntegerAttr(training.getMostMicrobatches());
  auto scale = builder.create<GradientScaleOp>(
      loc, scalar, scalar, norm.getNorm(), lossScale, microbatchCount,
      training.getClipNormAttr(), microbatches);
  s.scale = scale.getScale();
  output(scale.getUnscaledNorm(), "grad_norm");
  output(s.skip, "skipped");

  VariableOp count = state("state.optimizer_step", 0);
  Value step = builder.create<AdvanceStepOp>(loc, scalar, read(count), s.skip);
  write(step, count);
  if (auto adamw = dyn_cast<AdamWAttr>(training.getOptimizer())) {
    s.correction1 =
        builder.create<BiasCorrectionOp>(loc, scalar, step, adamw.getBeta1());
    s.correction2 =
        builder.create<BiasCorrectionOp>(loc, scalar, step, adamw.getBeta2());
  }
  return s;
}

//===----------------------------------------------------------------------===//
// Working copies
//===----------------------------------------------------------------------===//

/// Writes the working copy of `parameter`, which is `value` now, if it has one,
/// and its scale, if it has that.
static void refreshCopy(OpBuilder &builder, Location loc, VariableOp parameter,
                        Value value, SymbolTable &symbols) {
  std::string name = (parameter.getSymName() + ".working").str();
  auto copy = symbols.lookup<VariableOp>(name);
  if (!copy)
    return;
  auto write = [&](Value what, VariableOp to) {
    builder.create<WriteOp>(loc, what, to.getSymName());
  };
  auto scale = symbols.lookup<VariableOp>(name + ".scale");
  if (!scale)
    return write(builder.create<CastOp>(loc, copy.getType(), value), copy);
  Value amax = builder.create<AmaxOp>(loc, scale.getType(), value);
  Value now = builder.create<QuantizeScaleOp>(
      loc, scale.getType(), amax,
      cast<RankedTensorType>(copy.getType()).getElementType());
  write(now, scale);
  write(builder.create<QuantizeOp>(loc, copy.getType(), value, now), copy);
}

//===----------------------------------------------------------------------===//
// One parameter
//===----------------------------------------------------------------------===//

Value UpdateBuilder::buildAdamW(AdamWAttr adamw, VariableOp parameter,
                                Value gradient, const Scalars &s) {
  MLIRContext *context = builder.getContext();
  std::string name = parameter.getSymName().str();
  Type type = parameter.getType();
  InitAttr zeros = InitAttr::get(context, "zeros", FloatAttr());
  VariableOp m = variable(name + ".exp_avg", type, VariableKind::OptimizerState,
                          zeros, parameter, "exp_avg");
  VariableOp v =
      variable(name + ".exp_avg_sq", type, VariableKind::OptimizerState, zeros,
               parameter, "exp_avg_sq");
  FloatAttr decay = parameter.getDecay() ? adamw.getWeightDecay()
                                         : builder.getF64FloatAttr(0);
  auto update = builder.create<AdamWOp>(
      loc, type, type, type, read(parameter), gradient, read(m), read(v),
      s.learningRate, s.correction1, s.correction2, s.scale, s.skip,
      adamw.getBeta1(), adamw.getBeta2(), adamw.getEpsilon(), decay);
  write(update.getNewExpAvg(), m);
  write(update.getNewExpAvgSq(), v);
  return update.getNewParam();
}

Value UpdateBuilder::buildSgd(SgdAttr sgd, VariableOp parameter, Value gradient,
                              const Scalars &s) {
  Type type = parameter.getType();
  bool buffered = sgd.getMomentum().getValueAsDouble() > 0;
  VariableOp buffer;
  if (buffered)
    buffer = variable((parameter.getSymName() + ".momentum").str(), type,
                      VariableKind::OptimizerState,
                      InitAttr::get(builder.getContext(), "zeros", FloatAttr()),
                      parameter, "momentum");
  FloatAttr decay =
      parameter.getDecay() ? sgd.getWeightDecay() : builder.getF64FloatAttr(0);
  auto update = builder.create<SgdOp>(
      loc, type, buffered ? type : Type(), read(parameter), gradient,
      s.learningRate, s.scale, s.skip, buffered ? read(buffer) : Value(),
      sgd.getMomentum(), decay);
  if (buffered)
    write(update.getNewBuffer(), buffer);
  return update.getNewParam();
}

void UpdateBuilder::updateParameter(VariableOp parameter, Value gradient,
                                    const Scalars &scalars) {
  Value updated;
  if (auto adamw = dyn_cast<AdamWAttr>(training.getOptimizer()))
    updated = buildAdamW(adamw, parameter, gradient, scalars);
  else
    updated = buildSgd(cast<SgdAttr>(training.getOptimizer()), parameter,
                       gradient, scalars);
  write(updated, parameter);
  refreshCopy(builder, loc, parameter, updated, symbols);
  ++numUpdates;
}

LogicalResult UpdateBuilder::build() {
  SmallVector<VariableOp> parameters;
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getKind() == VariableKind::Parameter &&
        symbols.lookup((variable.getSymName() + ".grad").str()))
      parameters.push_back(variable);
  if (parameters.empty())
    return module.emitError("no parameter has a gradient");
  builder.setInsertionPointToEnd(module.getBody());
  auto function = builder.create<func::FuncOp>(loc, "update",
                                               builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  SmallVector<Value> gradients;
  for (VariableOp parameter : parameters)
    gradients.push_back(read(
        symbols.lookup<VariableOp>((parameter.getSymName() + ".grad").str())));
  Scalars scalars = buildScalars(gradients);
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, gradients))
    updateParameter(parameter, gradient, scalars);
  buildBalance(scalars.skip);
  if (training.getLossScale())
    buildLossScale(scalars.skip);
  builder.create<func::ReturnOp>(loc);
  return success();
}

bool hocket::xf::buildPrepare(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::SmallSetVector<Operation *, 16> copied;
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getKind() == VariableKind::Working)
      copied.insert(parameterOf(variable, symbols));
  if (copied.empty())
    return false;
  Location loc = module.getLoc();
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = builder.create<func::FuncOp>(loc, "prepare",
                                               builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  for (Operation *op : copied) {
    auto parameter = cast<VariableOp>(op);
    Value value = builder.create<ReadOp>(loc, parameter.getType(),
                                         parameter.getSymName());
    refreshCopy(builder, loc, parameter, value, symbols);
  }
  builder.create<func::ReturnOp>(loc);
  return true;
}
