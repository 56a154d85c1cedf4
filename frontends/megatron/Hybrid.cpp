//===- Hybrid.cpp - Settings of models with Mamba layers ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A letter says of each layer of a hybrid which branch it is: a norm and one
/// of a Mamba-2 layer (M), attention (*), an MLP (-) and experts (E).
///
//===----------------------------------------------------------------------===//

#include "frontends/megatron/SettingsReader.h"

#include "frontends/spec/text/ConstraintErrors.h"

using namespace hocket;
using namespace hocket::megatron;

/// Stages of the pipeline end at a '|', which is nothing of the model. Behind a
/// '/' are layers that predict further tokens.
Status SettingsReader::readLetters(const std::string &name) {
  for (char letter : text(name, "")) {
    if (letter == '|')
      continue;
    if (letter == '/')
      return error(name, "has a '/', behind which layers predict further "
                         "tokens, and Hocket has no such model");
    if (!spec::layerOfLetter(letter))
      return error(name, std::string("has '") + letter +
                             "'; supported are M (Mamba-2), * (attention), - "
                             "(an MLP), E (experts) and | (an end of a stage)");
    letters += letter;
  }
  if (static_cast<int64_t>(letters.size()) != model().layers())
    return error(name, "has " + std::to_string(letters.size()) +
                           " layers, and args.num_layers is " +
                           std::to_string(model().layers()));
  if (letters.find('E') != std::string::npos && !isSet("num_experts"))
    return error(name, "has an E, and args.num_experts is not there");
  return okStatus();
}

/// The sizes that Megatron-LM gives no option are the specification's defaults:
/// heads of twice the hidden size, four tokens of the convolution, its bias.
Status SettingsReader::readStateSpace() {
  spec::StateSpace &space = *model().mutable_state_space();
  space.set_groups(8);
  for (auto [name, path] :
       {std::pair{"mamba_state_dim", "model.state_space.state_size"},
        {"mamba_head_dim", "model.state_space.head_dim"},
        {"mamba_num_groups", "model.state_space.groups"},
        {"mamba_num_heads", "model.state_space.heads"}})
    if (isSet(name))
      HOCKET_RETURN_IF_ERROR(assignSize(name, path));
  space.set_norm_groups(space.groups());
  constexpr double gatedNormEps = 1e-5; // Whatever that of other norms is.
  if (model().norm_eps() == gatedNormEps)
    return okStatus();
  return error(isSet("norm_epsilon") ? "norm_epsilon" : "layernorm_epsilon",
               "is " + spec::formatReal(model().norm_eps()) +
                   ", and that of norms within Mamba layers " +
                   spec::formatReal(gatedNormEps) +
                   "; all norms of a model have the same here");
}

Status SettingsReader::readHybrid() {
  if (!hasSoundLayers())
    return okStatus(); // An error of the specification.
  for (const char *name : {"hybrid_layer_pattern", "hybrid_override_pattern"})
    if (isSet(name) && letters.empty())
      HOCKET_RETURN_IF_ERROR(readLetters(name));
  for (const char *name : {"hybrid_attention_ratio", "hybrid_mlp_ratio"})
    if (isSet(name) && letters.empty())
      return error(name, "is set without hybrid_layer_pattern; supported are "
                         "patterns, and of shares --spec with the pattern that "
                         "Megatron-LM makes of them");
  if (letters.empty() && flag("is_hybrid_model"))
    letters.assign(static_cast<size_t>(model().layers()), 'M');
  return letters.find('M') == std::string::npos ? okStatus() : readStateSpace();
}
