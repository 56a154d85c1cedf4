//===- ReadStateSpace.cpp - State-space layers of a config.json -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ConfigReader.h"
#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/model/RopeFrequencies.h"
#include "frontends/spec/text/ConstraintErrors.h"
#include "frontends/spec/text/SpecText.h"

#include <algorithm>
#include <cmath>
#include <string_view>

using namespace hocket;
using namespace hocket::huggingface;
using spec::LayerKind;
using spec::Model;

/// The key of the family that sets the field `path`.
static std::string keyOf(const Family &family, std::string_view path) {
  for (const Row &row : family.rows)
    if (row.path == path)
      return row.key;
  return "";
}

/// The number that a value is; infinite where it is none.
static double numberOf(const ConfigValue &value) {
  if (const auto *whole = std::get_if<int64_t>(&value.value))
    return static_cast<double>(*whole);
  const auto *real = std::get_if<double>(&value.value);
  return real ? *real : HUGE_VAL;
}

Status ConfigReader::expectNumber(const std::string &key, double number) const {
  const ConfigValue *found = config.find(key);
  if (!found || numberOf(*found) == number)
    return okStatus();
  return error(5, key,
               key + " is " + describe(*found) + "; only " +
                   spec::formatReal(number) + " is supported");
}

/// The width of the inner layers is said twice: as the heads' and as so many
/// times the hidden size.
Status ConfigReader::readInnerWidth() {
  const std::string key =
      family.has(Trait::AttentionLayers) ? "mamba_expand" : "expand";
  int64_t expand = 2;
  if (const ConfigValue *found = config.find(key)) {
    const auto *number = std::get_if<int64_t>(&found->value);
    if (!number || *number < 1 || *number > mostLayers)
      return wrongType(key, "a whole number from 1 to 65536");
    expand = *number;
  }
  spec::StateSpace &space = *loaded.spec.mutable_model()->mutable_state_space();
  const int64_t hidden = loaded.spec.model().hidden(), heads = space.heads();
  constexpr int64_t mostOfEither = 1 << 24;
  for (int64_t size : {hidden, heads, space.head_dim()})
    if (size < 1 || size > mostOfEither)
      return okStatus(); // Said by S4.
  const std::string headsKey = keyOf(family, "model.state_space.heads");
  const std::string widthKey = keyOf(family, "model.state_space.head_dim");
  const std::string wanted =
      key + " times hidden_size (" + std::to_string(expand * hidden) + ")";
  const std::string isHeads = headsKey + " is " + std::to_string(heads);
  if (!space.has_head_dim() && family.has(Trait::AttentionLayers)) {
    if (expand * hidden % heads != 0)
      return error(5, headsKey, isHeads + ", which does not divide " + wanted);
    space.set_head_dim(expand * hidden / heads);
    loaded.locations.set("model.state_space.head_dim", config.place(widthKey));
  }
  if (heads * space.head_dim() != expand * hidden)
    return error(5, headsKey,
                 isHeads + " and " + widthKey + " " +
                     std::to_string(space.head_dim()) +
                     ", whose product is not " + wanted);
  return okStatus();
}

/// What steps are cut to: [least, most].
Status ConfigReader::readStepLimit() {
  const std::string key = "time_step_limit";
  const ConfigValue *found = config.find(key);
  if (!found)
    return okStatus();
  std::vector<double> limits;
  if (const auto *whole = std::get_if<IntegerList>(&found->value))
    limits.assign(whole->begin(), whole->end());
  else if (const auto *reals = std::get_if<RealList>(&found->value))
    limits = *reals;
  if (limits.size() != 2)
    return wrongType(key, "a list of two numbers");
  spec::StateSpace &space = *loaded.spec.mutable_model()->mutable_state_space();
  space.set_step_least(limits[0]);
  loaded.locations.set("model.state_space.step_least", found->place);
  if (std::isinf(limits[1]))
    return okStatus();
  space.set_step_most(limits[1]);
  loaded.locations.set("model.state_space.step_most", found->place);
  return okStatus();
}

/// Steps of a model that begins anew. A floor below the least one cuts none.
Status ConfigReader::refuseOtherInitialSteps() const {
  constexpr double least = spec::mostInitialStep / 100;
  HOCKET_RETURN_IF_ERROR(expectNumber("time_step_max", spec::mostInitialStep));
  HOCKET_RETURN_IF_ERROR(expectNumber("time_step_min", least));
  const std::string key = "time_step_floor";
  const ConfigValue *found = config.find(key);
  if (!found || numberOf(*found) <= least)
    return okStatus();
  return error(5, key,
               key + " is " + describe(*found) +
                   "; supported are numbers up to " + spec::formatReal(least));
}

/// What transformers has fixed in Bamba, or adds to the loss.
Status ConfigReader::refuseOtherHybrids() const {
  HOCKET_RETURN_IF_ERROR(expectNumber("z_loss_coefficient", 0));
  HOCKET_RETURN_IF_ERROR(expectNumber("partial_rotary_factor", 0.5));
  const Model &model = loaded.spec.model();
  if (model.heads() < 1)
    return okStatus(); // Said by S4.
  int64_t headDim =
      model.has_head_dim() ? model.head_dim() : model.hidden() / model.heads();
  return expectNumber("attn_rotary_emb", static_cast<double>(spec::rotatedDim(
                                             model.rope(), headDim)));
}

/// What transformers does not compute in Nemotron-H either, or Hocket does not.
/// Its steps are cut to the least of first ones, whatever their limit says.
Status ConfigReader::refuseOtherLetters() const {
  for (const char *key :
       {"attention_bias", "mamba_proj_bias", "tie_word_embeddings"}) {
    HOCKET_ASSIGN_OR_RETURN(bool isSet, flag(key, false));
    if (isSet)
      return error(5, key,
                   std::string(key) + " is true; only false is "
                                      "supported");
  }
  if (const ConfigValue *limit = config.find("time_step_limit")) {
    const auto *reals = std::get_if<RealList>(&limit->value);
    if (!reals || reals->size() != 2 || reals->front() != 0 ||
        !std::isinf(reals->back()))
      return error(5, "time_step_limit",
                   "time_step_limit is not [0, Infinity]; only that is "
                   "supported");
  }
  if (const ConfigValue *window = config.find("sliding_window"))
    return error(5, "sliding_window",
                 "sliding_window is " + describe(*window) +
                     "; only null is supported");
  const std::string activation = "mamba_hidden_act";
  const ConfigValue *found = config.find(activation);
  const auto *name = found ? std::get_if<std::string>(&found->value) : nullptr;
  if (found && (!name || (*name != "silu" && *name != "swish")))
    return error(5, activation,
                 activation + " is " + describe(*found) +
                     "; supported are silu or swish");
  HOCKET_RETURN_IF_ERROR(expectNumber("num_nextn_predict_layers", 0));
  HOCKET_RETURN_IF_ERROR(expectNumber("hidden_dropout", 0));
  HOCKET_RETURN_IF_ERROR(
      expectNumber("attention_head_dim",
                   static_cast<double>(loaded.spec.model().head_dim())));
  return expectNumber("time_step_max", spec::mostInitialStep);
}

Status ConfigReader::refuseOtherStateSpaces() const {
  if (family.has(Trait::LayerLetters))
    return refuseOtherLetters();
  HOCKET_ASSIGN_OR_RETURN(bool hasGatedNorm, flag("rms_norm", true));
  if (!hasGatedNorm)
    return error(5, "rms_norm", "rms_norm is false; only true is supported");
  return family.has(Trait::AttentionLayers) ? refuseOtherHybrids()
                                            : refuseOtherInitialSteps();
}

/// Newer configs have a list of words, older ones Megatron-LM's letters.
Status ConfigReader::readLetters() {
  differing = config.find("layers_block_type") ? "layers_block_type"
                                               : "hybrid_override_pattern";
  const ConfigValue *found = config.find(differing);
  if (!found)
    return invalidArgument(config.fileName() + ": H4: a " + family.modelType +
                           " config needs the key \"layers_block_type\" or "
                           "\"hybrid_override_pattern\"");
  auto refuse = [&](const std::string &what, const char *supported) {
    return error(5, differing,
                 differing + " has \"" + spec::elide(what) +
                     "\"; supported are " + supported);
  };
  if (const auto *text = std::get_if<std::string>(&found->value)) {
    if (size_t at = text->find_first_not_of("M*-"); at != std::string::npos)
      return refuse(text->substr(at, 1), "M, * and -");
    letters = *text;
  } else if (const auto *words = std::get_if<StringList>(&found->value)) {
    for (const std::string &word : *words) {
      bool isState = word == "linear_attention" || word == "mamba";
      bool attends = word == "full_attention" || word == "attention";
      if (!isState && !attends && word != "mlp")
        return refuse(word, "linear_attention, full_attention and mlp");
      letters += isState ? 'M' : attends ? '*' : '-';
    }
  } else {
    return wrongType(differing, "a list of names");
  }
  if (letters.find('M') == std::string::npos)
    return error(5, differing,
                 differing + " has no layer with a state space; supported are "
                             "models of which some layer has one");
  loaded.spec.mutable_model()->set_layers(static_cast<int64_t>(letters.size()));
  loaded.locations.set("model.layers", found->place);
  return expectNumber("num_hidden_layers", static_cast<double>(letters.size()));
}

Status ConfigReader::readStateSpace() {
  if (!family.has(Trait::StateSpace))
    return okStatus();
  HOCKET_RETURN_IF_ERROR(refuseOtherStateSpaces());
  if (family.has(Trait::LayerLetters))
    return readLetters();
  HOCKET_RETURN_IF_ERROR(readInnerWidth());
  return readStepLimit();
}

/// Layers with a state space are all, or all but those that a list names.
Status ConfigReader::readAttentionLayers() {
  if (!family.has(Trait::StateSpace))
    return okStatus();
  if (family.has(Trait::LayerLetters)) {
    for (size_t i = 0; i < layers.size(); ++i)
      layers[i] = *spec::layerOfLetter(letters[i]);
    return okStatus();
  }
  const bool hasMlp = family.has(Trait::AttentionLayers);
  for (spec::ListedLayer &layer : layers) {
    layer.mixer = LayerKind::MAMBA2;
    layer.feedForward = hasMlp;
  }
  if (!hasMlp)
    return okStatus();
  const std::string key = "attn_layer_indices";
  HOCKET_ASSIGN_OR_RETURN(const IntegerList *attending, integers(key));
  differing = key;
  for (int64_t layer : attending ? *attending : IntegerList()) {
    if (layer < 0 || layer >= static_cast<int64_t>(layers.size()))
      return error(5, key,
                   key + " has " + std::to_string(layer) +
                       "; supported are layers from 0 to " +
                       std::to_string(layers.size() - 1));
    layers[static_cast<size_t>(layer)].mixer = LayerKind::ATTENTION;
  }
  if (std::all_of(layers.begin(), layers.end(), [](const auto &layer) {
        return layer.mixer == LayerKind::ATTENTION;
      }))
    return error(5, key,
                 key + " names every layer; supported are models of which some "
                       "layer has a state space");
  return okStatus();
}
