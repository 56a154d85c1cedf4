//===- BuildStateSpace.cpp - State-space layers ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

static constexpr std::string_view field = "model.state_space";

Value ModelBuilder::buildStateInput(Value input, StringRef name, int64_t parts,
                                    int64_t width) {
  Value flat = linear(input, ("mixer." + name).str(), parts * width);
  std::string conv = ("mixer.conv_" + name).str();
  // One that sees a token alone needs no cache.
  bool isCached = serving.isOn && own().state_space().conv_width() > 1;
  Value convolved = isCached ? buildCachedConv(flat, name)
                             : builder.create<xf::CausalConvOp>(
                                   at(conv, field), flat.getType(), flat,
                                   parameters.lookup(conv + ".weight"),
                                   parameters.lookup(conv + ".bias"));
  Value active = activate(convolved, conv + ".activation",
                          xf::ActivationKind::Silu, field);
  return builder.create<xf::ReshapeOp>(
      at(conv, field), tensor({batch, sequence, parts, width}), active);
}

/// The RMS norm of `input * silu(gate)`: of all of it, or of parts, whose
/// weights differ.
Value ModelBuilder::buildGatedNorm(Value gate, Value input) {
  MLIRContext *context = builder.getContext();
  Location location = at("mixer.gated_norm", field);
  Value gated = builder.create<xf::GatedOp>(
      at("mixer.gate", field), input.getType(), gate, input,
      xf::ActivationKindAttr::get(context, xf::ActivationKind::Silu));
  Value weight = parameters.lookup("mixer.gated_norm.weight");
  auto kindOfNorm = xf::NormKindAttr::get(context, xf::NormKind::Rms);
  int64_t parts = own().state_space().norm_groups();
  if (parts == 1)
    return builder.create<xf::NormOp>(location, gated.getType(), gated, weight,
                                      /*bias=*/Value(), kindOfNorm,
                                      real(own().norm_eps()), UnitAttr());
  int64_t width = cast<RankedTensorType>(gated.getType()).getDimSize(2) / parts;
  Value split = builder.create<xf::ReshapeOp>(
      location, tensor({batch, sequence, parts, width}), gated);
  Value ones =
      builder.create<xf::ConstantOp>(location, tensor({width}), real(1));
  Value normalised = builder.create<xf::NormOp>(
      location, split.getType(), split, ones, /*bias=*/Value(), kindOfNorm,
      real(own().norm_eps()), UnitAttr());
  Value merged =
      builder.create<xf::ReshapeOp>(location, gated.getType(), normalised);
  return builder.create<xf::MultiplyOp>(location, gated.getType(), merged,
                                        weight);
}

Value ModelBuilder::buildScan(Value x, Value step, Value inMap, Value outMap) {
  const StateSpace &space = own().state_space();
  Location location = at("mixer.scan", field);
  Value decay = parameters.lookup("mixer.decay");
  Value bias = parameters.lookup("mixer.step_bias");
  Value skip = parameters.lookup("mixer.skip");
  FloatAttr least = real(space.step_least()), most;
  if (space.has_step_most())
    most = real(space.step_most());
  if (!serving.isOn)
    return builder.create<xf::StateScanOp>(location, x.getType(), x, step,
                                           inMap, outMap, decay, bias, skip,
                                           least, most);
  Value &state = serving.caches["state"];
  auto scan = builder.create<xf::CachedScanOp>(
      location, x.getType(), state.getType(), x, step, inMap, outMap, decay,
      bias, skip, positions, serving.places, state, least, most);
  state = scan.getNewState();
  return scan.getResult();
}

Value ModelBuilder::buildStateSpaceBranch(Value input) {
  const StateSpace &space = own().state_space();
  int64_t heads = space.heads(), inner = heads * space.head_dim();
  Value gate = linear(input, "mixer.z", inner);
  Value x = buildStateInput(input, "x", heads, space.head_dim());
  Value inMap = buildStateInput(input, "b", space.groups(), space.state_size());
  Value outMap =
      buildStateInput(input, "c", space.groups(), space.state_size());
  Value step = linear(input, "mixer.dt", heads);
  Value scanned = buildScan(x, step, inMap, outMap);
  Value merged = builder.create<xf::ReshapeOp>(
      at("mixer.scan", field), tensor({batch, sequence, inner}), scanned);
  return linear(buildGatedNorm(gate, merged), "mixer.out", own().hidden());
}
