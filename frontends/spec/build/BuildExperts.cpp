//===- BuildExperts.cpp - Layers with experts -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/build/ModelBuilder.h"
#include "frontends/spec/model/PlanMessage.h"
#include "frontends/spec/model/Sizes.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

/// The bias of a router's scores, the counts it is moved by, and that it is.
void ModelBuilder::declareBalance(int64_t layer) {
  Location location = at(layerName(layer, "mlp.router"), "model.moe");
  auto zeros = xf::InitAttr::get(builder.getContext(), "zeros", FloatAttr());
  std::string names[] = {routerState(layer, "bias"),
                         routerState(layer, "counts")};
  for (const std::string &name : names)
    builder.create<xf::VariableOp>(
        location, name, tensor({model.moe().experts()}),
        xf::VariableKind::State, zeros, 0, false, FlatSymbolRefAttr(),
        StringAttr(), TypeAttr(), xf::ParameterRoleAttr());
  auto symbol = [&](const std::string &name) {
    return FlatSymbolRefAttr::get(builder.getContext(), name);
  };
  builder.create<xf::BalanceOp>(location, symbol(names[0]), symbol(names[1]),
                                real(model.moe().bias_rate()));
}

//===----------------------------------------------------------------------===//
// What routers add to the loss
//===----------------------------------------------------------------------===//

/// Of the loss that balances the load, sums are [E], or [B, E] by sequence.
RankedTensorType ModelBuilder::loadType() const {
  int64_t experts = model.moe().experts();
  if (addsLoss() && model.moe().aux_loss() > 0 &&
      model.moe().aux_loss_scope() == Moe::SEQUENCE)
    return tensor({batch, experts});
  return tensor({experts});
}

Value ModelBuilder::buildRouterLoss(Value logits, Value counts) {
  const Moe &moe = model.moe();
  auto tokens = static_cast<double>(sequence);
  auto experts = static_cast<double>(moe.experts());
  Value loss;
  if (moe.aux_loss() > 0) {
    Location location = at("mlp.router.aux_loss", "model.moe.aux_loss");
    Value sums = builder.create<xf::RouterProbabilitiesOp>(
        location, counts.getType(), logits,
        xf::RouterScoresAttr::get(builder.getContext(),
                                  moe.scores() == Moe::SIGMOID
                                      ? xf::RouterScores::Sigmoid
                                      : xf::RouterScores::Softmax));
    Value terms =
        builder.create<xf::MultiplyOp>(location, sums.getType(), sums, counts);
    Value sum = builder.create<xf::SumLeadingOp>(location, tensor({}), terms);
    // Shares of the tokens that are summed over, and of their choices; the mean
    // over as many such sums as there are. Those of a whole microbatch are of
    // all its sequences.
    double choices = tokens * static_cast<double>(moe.top_k());
    loss = scaled(sum, moe.aux_loss() * experts / (choices * tokens),
                  "mlp.router.aux_loss", "model.moe.aux_loss",
                  /*perSequences=*/loadType().getRank() > 1 ? 1 : 2);
  }
  if (moe.z_loss() > 0) {
    Location location = at("mlp.router.z_loss", "model.moe.z_loss");
    Value sum = builder.create<xf::RouterZLossOp>(location, tensor({}), logits);
    sum = scaled(sum, moe.z_loss() / tokens, "mlp.router.z_loss",
                 "model.moe.z_loss", /*perSequences=*/1);
    loss =
        loss ? builder.create<xf::AddOp>(location, tensor({}), loss, sum) : sum;
  }
  return loss;
}

//===----------------------------------------------------------------------===//
// The layer
//===----------------------------------------------------------------------===//

ModelBuilder::ExpertRows ModelBuilder::rowsOfExperts() {
  const Moe &moe = model.moe();
  int64_t experts = moe.experts(), hidden = model.hidden();
  ExpertRows rows;
  rows.capacity = std::min(expertCapacity(spec), sequence);
  if (rows.capacity > 0) {
    rows.shape = {experts, batch, rows.capacity, hidden};
    return rows;
  }
  rows.shape = {1, batch * sequence * moe.top_k(), hidden};
  rows.ranges = RankedTensorType::get({1, experts, 2}, builder.getI32Type());
  rows.segments =
      RankedTensorType::get({1, 1, experts, 2}, builder.getI32Type());
  return rows;
}

/// The chosen experts' results, by weight. Without a capacity rows go to the
/// runs of tokens that hold their experts, and back: of the one run that there
/// is here to itself.
Value ModelBuilder::runExperts(Value tokens, Value weights, Value choice) {
  Location location = at("mlp.experts", "model.moe");
  const Moe &moe = model.moe();
  ExpertRows form = rowsOfExperts();
  auto order = builder.create<xf::ExpertOrderOp>(
      location, choice.getType(), form.ranges, choice,
      builder.getI64IntegerAttr(moe.experts()),
      builder.getI64IntegerAttr(form.capacity), builder.getI64IntegerAttr(1));
  Value ranges = order.getRanges(), where;
  Value rows =
      builder.create<xf::DispatchOp>(location, tensor(form.shape), tokens,
                                     order.getSlots(), /*weights=*/Value(), 1);
  IntegerAttr topK = builder.getI64IntegerAttr(moe.top_k());
  FloatAttr room = real(moe.expert_capacity_bound());
  if (ranges) {
    where =
        builder.create<xf::ExpertSegmentsOp>(location, form.segments, ranges);
    rows = builder.create<xf::ExchangeRowsOp>(location, rows.getType(), rows,
                                              ranges, where, topK, room);
  }
  rows = buildMlp(rows, [&](Value x, StringRef name) -> Value {
    std::string full = ("mlp.experts." + name).str();
    SmallVector<int64_t> result(form.shape);
    result.back() = name == "down" ? model.hidden() : moe.ffn();
    return builder.create<xf::GroupedLinearOp>(
        at(full, "model.moe"), tensor(result), x,
        parameters.lookup(full + ".weight"), where,
        builder.getI64IntegerAttr(0), xf::Fp8RecipeAttr());
  });
  if (ranges)
    rows = builder.create<xf::ReturnRowsOp>(location, tensor(form.shape), rows,
                                            ranges, where, topK, room);
  return builder.create<xf::CombineOp>(location, tokens.getType(), rows,
                                       order.getSlots(), weights, 1);
}

/// The experts of every token: one MLP, as wide as all of them.
Value ModelBuilder::buildSharedExperts(Value input) {
  int64_t width = model.moe().shared_experts() * model.moe().ffn();
  Value result = buildMlp(input, [&](Value x, StringRef name) {
    return linear(x, ("mlp.shared." + name).str(),
                  name == "down" ? model.hidden() : width);
  });
  if (!model.moe().shared_expert_gate())
    return result;
  Value gate = linear(input, "mlp.shared_gate", 1);
  return builder.create<xf::RowGateOp>(
      at("mlp.shared_gate", "model.moe.shared_expert_gate"), result.getType(),
      result, gate);
}

/// What a router reads.
Value ModelBuilder::jittered(Value input) {
  double rate = model.moe().input_jitter();
  if (rate == 0 || serving.isOn)
    return input;
  return builder.create<xf::DropoutOp>(
      at("mlp.router", "model.moe.input_jitter"), input, instance, real(rate),
      builder.getI32IntegerAttr(RouterStream), /*jitter=*/true);
}

Value ModelBuilder::buildExperts(Value input) {
  const Moe &moe = model.moe();
  Location location = at("mlp.router", "model.moe");
  Value logits = linear(jittered(input), "mlp.router", moe.experts());
  if (moe.choice() == Moe::SINKHORN && !serving.isOn)
    routerBias =
        builder.create<xf::SinkhornOp>(at("mlp.router", "model.moe.choice"),
                                       tensor({batch, moe.experts()}), logits);
  auto scores = xf::RouterScoresAttr::get(builder.getContext(),
                                          moe.scores() == Moe::SIGMOID
                                              ? xf::RouterScores::Sigmoid
                                              : xf::RouterScores::Softmax);
  SmallVector<int64_t> choice{batch, sequence, moe.top_k()};
  auto router = builder.create<xf::RouterOp>(
      location, tensor(choice),
      RankedTensorType::get(choice, builder.getI32Type()), logits, routerBias,
      builder.getI64IntegerAttr(moe.top_k()), scores,
      moe.renormalise() ? builder.getUnitAttr() : UnitAttr(),
      builder.getI64IntegerAttr(moe.groups()),
      builder.getI64IntegerAttr(moe.topk_groups()), real(moe.scale()),
      moe.router_dtype() == Moe::FP32 ? builder.getUnitAttr() : UnitAttr());
  if (countsChoices() || (addsLoss() && moe.aux_loss() > 0))
    expertCounts = builder.create<xf::ExpertCountsOp>(location, loadType(),
                                                      router.getExperts());
  if (addsLoss())
    routerLoss = buildRouterLoss(logits, expertCounts);
  if (!countsChoices())
    expertCounts = Value();
  else if (loadType().getRank() > 1)
    expertCounts = builder.create<xf::SumLeadingOp>(
        location, tensor({moe.experts()}), expertCounts);
  Value result = runExperts(input, router.getWeights(), router.getExperts());
  if (moe.shared_experts() > 0)
    result = builder.create<xf::AddOp>(at("mlp.shared", "model.moe"),
                                       result.getType(), result,
                                       buildSharedExperts(input));
  return result;
}

void ModelBuilder::collectExpertResults(func::CallOp call, int64_t index) {
  unsigned next = 1;
  if (addsLoss()) {
    Value loss = call.getResult(next++);
    routerLoss = routerLoss
                     ? builder.create<xf::AddOp>(
                           at(layerName(index, "mlp.router"), "model.moe"),
                           loss.getType(), routerLoss, loss)
                     : loss;
  }
  if (countsChoices())
    builder.create<xf::AccumulateOp>(
        at(layerName(index, "mlp.router"), "model.moe"), call.getResult(next++),
        routerState(index, "counts"));
}
