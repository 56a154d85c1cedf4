//===- BuildVariables.cpp - What a model keeps ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"
#include "frontends/spec/model/Frozen.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

static xf::ParameterRole roleOf(Parameter::Role role) {
  switch (role) {
  case Parameter::Role::Embedding:
    return xf::ParameterRole::Embedding;
  case Parameter::Role::Positions:
    return xf::ParameterRole::Positions;
  case Parameter::Role::Norm:
    return xf::ParameterRole::Norm;
  case Parameter::Role::Query:
    return xf::ParameterRole::Query;
  case Parameter::Role::Key:
    return xf::ParameterRole::Key;
  case Parameter::Role::Value:
    return xf::ParameterRole::Value;
  case Parameter::Role::AttentionOutput:
    return xf::ParameterRole::AttentionOutput;
  case Parameter::Role::Gate:
    return xf::ParameterRole::Gate;
  case Parameter::Role::Up:
    return xf::ParameterRole::Up;
  case Parameter::Role::Down:
    return xf::ParameterRole::Down;
  case Parameter::Role::Router:
    return xf::ParameterRole::Router;
  case Parameter::Role::ExpertGate:
    return xf::ParameterRole::ExpertGate;
  case Parameter::Role::ExpertUp:
    return xf::ParameterRole::ExpertUp;
  case Parameter::Role::ExpertDown:
    return xf::ParameterRole::ExpertDown;
  case Parameter::Role::Head:
    return xf::ParameterRole::Head;
  case Parameter::Role::TokenTypes:
    return xf::ParameterRole::TokenTypes;
  case Parameter::Role::HeadTransform:
    return xf::ParameterRole::HeadTransform;
  case Parameter::Role::SentenceHead:
    return xf::ParameterRole::SentenceHead;
  case Parameter::Role::StateInput:
    return xf::ParameterRole::StateInput;
  case Parameter::Role::StateGroup:
    return xf::ParameterRole::StateGroup;
  case Parameter::Role::StateOutput:
    return xf::ParameterRole::StateOutput;
  case Parameter::Role::RelativePositions:
    return xf::ParameterRole::RelativePositions;
  case Parameter::Role::Patches:
    return xf::ParameterRole::Patches;
  case Parameter::Role::Latent:
    return xf::ParameterRole::Latent;
  }
}

void ModelBuilder::declare(const Parameter &parameter,
                           const std::string &name) {
  // In the order of Parameter::Initial.
  static constexpr StringLiteral kinds[] = {
      "zeros", "ones", "normal", "uniform", "log_uniform", "time_step"};
  bool valued = parameter.initial >= Parameter::Initial::Normal;
  auto init = xf::InitAttr::get(builder.getContext(),
                                kinds[static_cast<size_t>(parameter.initial)],
                                valued ? real(parameter.stddev) : FloatAttr());
  builder.create<xf::VariableOp>(
      at(name, parameter.field), name, tensor(parameter.shape),
      xf::VariableKind::Parameter, init, nextRandomKey++, parameter.decay,
      FlatSymbolRefAttr(), StringAttr(), TypeAttr(),
      xf::ParameterRoleAttr::get(builder.getContext(), roleOf(parameter.role)),
      isFrozen(spec.training(), name, parameter.role) ||
          isUnread(model, name) ||
          (spec.training().has_lora() && isOfVision(name)));
}

void ModelBuilder::declareVariables() {
  for (const Parameter &parameter : inputParameters(spec))
    declare(parameter, parameter.name);
  if (hasEncoder())
    declareEncoder();
  if (hasVision())
    declareVision();
  for (int64_t i = 0; i < model.layers(); ++i) {
    for (const Parameter &parameter : layerParameters(spec, layers[i]))
      declare(parameter, layerName(i, parameter.name));
    if (layers[i].hasExperts() && balances())
      declareBalance(i);
  }
  for (const Parameter &parameter : outputParameters(spec))
    declare(parameter, parameter.name);
}
