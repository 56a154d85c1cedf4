//===- ModelWeights.cpp - What a checkpoint of a spec holds ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/ModelWeights.h"

#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/model/RopeFrequencies.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/text/ConstraintErrors.h"

#include <algorithm>
#include <string>
#include <vector>

using namespace hocket;

/// What a layer calls its linear layers of a role: a dense MLP has them, or a
/// shared expert.
static std::vector<const char *> namesOf(spec::ParameterSelection::Role role) {
  using Role = spec::ParameterSelection;
  switch (role) {
  case Role::QUERY:
    return {"attention.q"};
  case Role::KEY:
    return {"attention.k"};
  case Role::VALUE:
    return {"attention.v"};
  case Role::ATTENTION_OUTPUT:
    return {"attention.o"};
  case Role::GATE:
    return {"mlp.gate", "mlp.shared.gate"};
  case Role::UP:
    return {"mlp.up", "mlp.shared.up"};
  case Role::EXPERT_GATE:
    return {"mlp.experts.gate"};
  case Role::EXPERT_UP:
    return {"mlp.experts.up"};
  case Role::EXPERT_DOWN:
    return {"mlp.experts.down"};
  default: // S73 leaves no other.
    return {"mlp.down", "mlp.shared.down"};
  }
}

static constexpr spec::ParameterSelection::Role kLinearRoles[] = {
    spec::ParameterSelection::QUERY,
    spec::ParameterSelection::KEY,
    spec::ParameterSelection::VALUE,
    spec::ParameterSelection::ATTENTION_OUTPUT,
    spec::ParameterSelection::GATE,
    spec::ParameterSelection::UP,
    spec::ParameterSelection::DOWN,
    spec::ParameterSelection::EXPERT_GATE,
    spec::ParameterSelection::EXPERT_UP,
    spec::ParameterSelection::EXPERT_DOWN};

static bool isIn(const checkpoint::ModelWeights &weights, const char *name) {
  std::string end = std::string(".") + name + ".weight";
  return std::ranges::any_of(weights.tensors,
                             [&](const checkpoint::TensorSpec &tensor) {
                               return tensor.key.name.starts_with("layers.") &&
                                      tensor.key.name.ends_with(end);
                             });
}

static checkpoint::LoraDims loraOf(const spec::Lora &lora,
                                   const checkpoint::ModelWeights &weights) {
  checkpoint::LoraDims dims{
      static_cast<uint64_t>(lora.rank()), lora.alpha(), lora.dropout(), {}};
  for (int role : lora.targets())
    for (const char *name :
         namesOf(static_cast<spec::ParameterSelection::Role>(role)))
      if (isIn(weights, name))
        dims.targets.emplace_back(name);
  return dims;
}

checkpoint::ModelWeights hocket::weightsOf(const spec::Spec &spec) {
  const spec::Model &model = spec.model();
  auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
  checkpoint::ModelWeights weights;
  for (const spec::Parameter &parameter : modelParameters(spec))
    weights.tensors.push_back(
        {{parameter.name, ""},
         checkpoint::ElementType::F32,
         {parameter.shape.begin(), parameter.shape.end()}});
  spec::LayerPattern layers(model);
  for (int64_t i = 0; i < model.layers() && model.moe().bias_rate() > 0; ++i)
    if (layers[i].hasExperts())
      weights.routerBiases.push_back(
          {{"state", spec::layerName(i, "mlp.router.bias")},
           checkpoint::ElementType::F32,
           {size(model.moe().experts())}});
  weights.layers = size(std::max(
      {model.layers(), model.encoder().layers(), model.vision().layers()}));
  weights.vocabulary = size(model.vocab_size());
  weights.tied = model.tied_embeddings();
  weights.classes = tellsClasses(model);
  weights.gated = isGated(model.activation());
  weights.heads = size(model.heads());
  weights.kvHeads = size(model.kv_heads());
  weights.headDim = size(model.head_dim());
  if (model.has_latent_attention())
    weights.valueDim = size(model.latent_attention().v_head_dim());
  weights.rotatedDim = size(rotatedDim(model.rope(), ropeHeadDim(model)));
  if (spec.training().has_lora())
    weights.lora = loraOf(spec.training().lora(), weights);
  return weights;
}

std::vector<std::string>
hocket::loraOverrides(const checkpoint::LoraDims &lora) {
  std::string targets;
  for (spec::ParameterSelection::Role role : kLinearRoles)
    if (std::ranges::any_of(namesOf(role), [&](const char *name) {
          return std::ranges::count(lora.targets, name) > 0;
        }))
      targets += (targets.empty() ? "" : ",") +
                 spec::ParameterSelection::Role_Name(role);
  const std::string field = "training.lora.";
  return {field + "rank=" + std::to_string(lora.rank),
          field + "alpha=" + spec::formatReal(lora.alpha),
          field + "dropout=" + spec::formatReal(lora.dropout),
          field + "targets=" + targets};
}
