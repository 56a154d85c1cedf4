//===- BuildExperts.cpp - Layers with experts -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/ModelBuilder.h"
#include "frontends/spec/PlanMessage.h"
#include "frontends/spec/Sizes.h"

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

Value ModelBuilder::scaled(Value number, double factor, StringRef name) {
  Location location = at(name, "model.moe");
  Value constant =
      builder.create<xf::ConstantOp>(location, tensor({}), real(factor));
  return builder.create<xf::MultiplyOp>(location, tensor({}), number, constant);
}

Value ModelBuilder::buildRouterLoss(Value logits, Value counts) {
  const Moe &moe = model.moe();
  auto tokens = static_cast<double>(batch) * static_cast<double>(sequence);
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
    double choices = tokens * static_cast<double>(moe.top_k());
    loss = scaled(sum, moe.aux_loss() * experts / (choices * tokens),
                  "mlp.router.aux_loss");
  }
  if (moe.z_loss() > 0) {
    Location location = at("mlp.router.z_loss", "model.moe.z_loss");
    Value sum = builder.create<xf::RouterZLossOp>(location, tensor({}), logits);
    sum = scaled(sum, moe.z_loss() / tokens, "mlp.router.z_loss");
    loss =
        loss ? builder.create<xf::AddOp>(location, tensor({}), loss, sum) : sum;
  }
  return loss;
}

//===----------------------------------------------------------------------===//
// The layer
//===----------------------------------------------------------------------===//

/// The chosen experts' results, by weight. Without a capacity the tokens of
/// each rank are ordered by themselves, and rows go to the ranks that hold
/// their experts, and back.
Value ModelBuilder::runExperts(Value tokens, Value weights, Value choice) {
  const Moe &moe = model.moe();
  Location location = at("mlp.experts", "model.moe");
  int64_t experts = moe.experts(), hidden = model.hidden();
  int64_t capacity = std::min(expertCapacity(spec), sequence);
  int64_t positions = 1, expected = 0;
  Type ranges, segments;
  SmallVector<int64_t> shape{experts, batch, capacity, hidden};
  if (capacity == 0) {
    positions = positionRuns(spec);
    int64_t runs = spec.plan().data_parallel() * positions;
    int64_t tokens = batch * sequence / runs;
    ranges = RankedTensorType::get({runs, experts, 2}, builder.getI32Type());
    shape = {runs, tokens * moe.top_k(), hidden};
    if (int64_t places = spec.plan().expert_parallel(); places > 1) {
      segments = RankedTensorType::get({runs, places, experts / places, 2},
                                       builder.getI32Type());
      expected = shape[1];
      // Few tokens at a time may well choose the same experts.
      shape[1] = serving.isOn
                     ? places * tokens * std::min(moe.top_k(), experts / places)
                     : expertRowsBound(spec, tokens);
    }
  }
  auto order = builder.create<xf::ExpertOrderOp>(
      location, choice.getType(), ranges, choice,
      builder.getI64IntegerAttr(experts), builder.getI64IntegerAttr(capacity),
      builder.getI64IntegerAttr(positions));
  SmallVector<int64_t> dispatched(shape);
  if (segments)
    dispatched[1] = expected;
  Value where = order.getRanges();
  Value rows =
      builder.create<xf::DispatchOp>(location, tensor(dispatched), tokens,
                                     order.getSlots(), Value(), positions);
  if (segments) {
    where = builder.create<xf::ExpertSegmentsOp>(location, segments, where);
    rows = builder.create<xf::ExchangeRowsOp>(location, tensor(shape), rows,
                                              order.getRanges(), where);
  }
  rows = buildMlp(rows, [&](Value x, StringRef name) -> Value {
    std::string full = ("mlp.experts." + name).str();
    SmallVector<int64_t> result(shape);
    result.back() = name == "down" ? hidden : moe.ffn();
    return builder.create<xf::GroupedLinearOp>(
        at(full, "model.moe"), tensor(result), x,
        parameters.lookup(full + ".weight"), where, expected);
  });
  if (segments)
    rows = builder.create<xf::ReturnRowsOp>(location, tensor(dispatched), rows,
                                            order.getRanges(), where);
  return builder.create<xf::CombineOp>(location, tokens.getType(), rows,
                                       order.getSlots(), weights, positions);
}

/// The experts of every token: one MLP, as wide as all of them.
Value ModelBuilder::buildSharedExperts(Value input) {
  int64_t width = model.moe().shared_experts() * model.moe().ffn();
  return buildMlp(input, [&](Value x, StringRef name) {
    return linear(x, ("mlp.shared." + name).str(),
                  name == "down" ? model.hidden() : width);
  });
}

Value ModelBuilder::buildExperts(Value input) {
  const Moe &moe = model.moe();
  Location location = at("mlp.router", "model.moe");
  Value logits = linear(input, "mlp.router", moe.experts());
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
      builder.getI64IntegerAttr(moe.topk_groups()), real(moe.scale()));
  if (countsChoices() || (addsLoss() && moe.aux_loss() > 0))
    expertCounts = builder.create<xf::ExpertCountsOp>(
        location, tensor({moe.experts()}), router.getExperts());
  if (addsLoss())
    routerLoss = buildRouterLoss(logits, expertCounts);
  if (!countsChoices())
    expertCounts = Value();
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
