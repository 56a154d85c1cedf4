//===- ReadLayers.cpp - Layers of a config.json that differ ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ConfigReader.h"
#include "frontends/spec/text/FieldNames.h"
#include "frontends/spec/text/SpecText.h"

#include <algorithm>
#include <utility>

using namespace hocket;
using namespace hocket::huggingface;
using spec::Model;

StatusOr<const IntegerList *>
ConfigReader::integers(const std::string &key) const {
  static const IntegerList none;
  const ConfigValue *found = config.find(key);
  if (!found)
    return nullptr;
  if (const auto *names = std::get_if<StringList>(&found->value))
    if (names->empty())
      return &none;
  if (const auto *numbers = std::get_if<IntegerList>(&found->value))
    return numbers;
  return wrongType(key, "a list of whole numbers");
}

Status ConfigReader::checkLength(const std::string &key, size_t length) const {
  if (length == layers.size())
    return okStatus();
  return error(5, key,
               key + " has " + std::to_string(length) + " entries for " +
                   std::to_string(layers.size()) +
                   " layers; write one for each");
}

/// Qwen's windows: on or off, and on from a layer onwards. Gemma 3's: in five
/// layers, and not in the sixth; Gemma 2's: in every second, from the first on;
/// OLMo 3's: in three layers, and not in the fourth.
Status ConfigReader::readWindows() {
  if (!family.has(Trait::MixedWindows)) { // By a field, in every layer.
    window = loaded.spec.model().sliding_window();
    for (spec::ListedLayer &layer : layers)
      layer.windowed = loaded.spec.model().has_sliding_window();
    return okStatus();
  }
  bool used = true;
  if (family.has(Trait::WindowSwitch)) {
    HOCKET_ASSIGN_OR_RETURN(used, flag("use_sliding_window", false));
  }
  const ConfigValue *found = config.find("sliding_window");
  bool fourth = family.has(Trait::FourthFull);
  bool alternates = family.has(Trait::AlternateWindow);
  bool everySo = family.windowsByPattern();
  bool isUsual = everySo && !found && !config.isNull("sliding_window");
  if (!used || (!found && !isUsual))
    return okStatus();
  if (found && !std::holds_alternative<int64_t>(found->value))
    return wrongType("sliding_window", "a whole number");
  window = found ? std::get<int64_t>(found->value) : 4096;
  if (config.find("layer_types"))
    return okStatus();
  const char *key = alternates ? "sliding_window"
                    : everySo  ? "sliding_window_pattern"
                               : "max_window_layers";
  const ConfigValue *number = alternates ? nullptr : config.find(key);
  int64_t value = alternates ? 2 : fourth ? 4 : 6;
  if (number) {
    if (!std::holds_alternative<int64_t>(number->value))
      return wrongType(key, "a whole number");
    value = std::get<int64_t>(number->value);
  } else if (!everySo) {
    return error(4, "use_sliding_window",
                 "use_sliding_window needs the key \"max_window_layers\", a "
                 "whole number");
  }
  if (value < 0 || (everySo && value == 0))
    return wrongType(key, everySo ? "a number of layers above 0"
                                  : "a number of layers");
  differing = key;
  for (size_t i = 0; i < layers.size(); ++i) {
    auto layer = static_cast<int64_t>(i);
    layers[i].windowed = everySo ? (layer + 1) % value != 0 : layer >= value;
  }
  return okStatus();
}

/// Newer configs name each layer's kind of attention.
Status ConfigReader::readLayerTypes() {
  const std::string key = "layer_types";
  const ConfigValue *found = config.find(key);
  if (!found)
    return okStatus();
  const auto *types = std::get_if<StringList>(&found->value);
  if (!types)
    return wrongType(key, "a list of names");
  HOCKET_RETURN_IF_ERROR(checkLength(key, types->size()));
  differing = key;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string &type = (*types)[i];
    bool windowed = type == "sliding_attention";
    if (!windowed && type != "full_attention")
      return error(5, key,
                   key + " has \"" + spec::elide(type) +
                       "\"; supported are full_attention or "
                       "sliding_attention");
    if (family.has(Trait::MixedWindows)) {
      if (windowed && window == 0)
        return error(4, key,
                     key +
                         " has \"sliding_attention\", and the config no "
                         "window that is used; write sliding_window" +
                         (family.has(Trait::WindowSwitch)
                              ? " and use_sliding_window: true"
                              : ""));
      layers[i].windowed = windowed;
    } else if (windowed != layers[i].windowed) {
      return error(5, key,
                   key + " has \"" + type +
                       "\", but every layer of this config must be \"" +
                       (windowed ? "full_attention" : "sliding_attention") +
                       "\"");
    }
  }
  return okStatus();
}

/// SmolLM3: 1 where a layer rotates; without the list, every fourth does not.
/// EXAONE 4: where some layers have a window, those alone.
Status ConfigReader::readMixedRope() {
  if (family.has(Trait::FullNope) &&
      (window > 0 || family.has(Trait::WindowRope)))
    for (spec::ListedLayer &layer : layers)
      layer.rotary = layer.windowed;
  if (!family.has(Trait::MixedRope))
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(const IntegerList *rotates,
                          integers("no_rope_layers"));
  differing = "no_rope_layers";
  if (rotates) {
    HOCKET_RETURN_IF_ERROR(checkLength(differing, rotates->size()));
    for (size_t i = 0; i < layers.size(); ++i)
      layers[i].rotary = (*rotates)[i] != 0;
    return okStatus();
  }
  int64_t interval = 4;
  const std::string key = "no_rope_layer_interval";
  if (const ConfigValue *found = config.find(key)) {
    const auto *number = std::get_if<int64_t>(&found->value);
    if (!number || *number < 1)
      return wrongType(key, "a number of layers above 0");
    interval = *number;
    differing = key;
  }
  for (size_t i = 0; i < layers.size(); ++i)
    layers[i].rotary = (static_cast<int64_t>(i) + 1) % interval != 0;
  return okStatus();
}

/// Every decoder_sparse_step-th layer, but those in mlp_only_layers.
Status ConfigReader::readExpertLayers() {
  if (!family.has(Trait::Experts))
    return okStatus();
  int64_t step = loaded.spec.model().moe().interval();
  int64_t dense = loaded.spec.model().moe().first_dense_layers();
  for (size_t i = 0; i < layers.size(); ++i) {
    auto layer = static_cast<int64_t>(i);
    layers[i].experts = step >= 1 && layer >= dense && (layer + 1) % step == 0;
  }
  if (!family.has(Trait::DenseLayers))
    return okStatus();
  const std::string key = "mlp_only_layers";
  HOCKET_ASSIGN_OR_RETURN(const IntegerList *only, integers(key));
  if (!only || only->empty())
    return okStatus();
  differing = key;
  for (int64_t layer : *only)
    if (layer >= 0 && layer < static_cast<int64_t>(layers.size()))
      layers[static_cast<size_t>(layer)].experts = false;
  loaded.locations.set("model.moe.first_dense_layers", config.place(key));
  return okStatus();
}

/// The width of the expert that all tokens have, as so many of the others.
Status ConfigReader::readSharedExpert() {
  if (!family.has(Trait::SharedExpert))
    return okStatus();
  const std::string key = "shared_expert_intermediate_size";
  spec::Moe &moe = *loaded.spec.mutable_model()->mutable_moe();
  moe.set_shared_experts(5632);
  if (config.find(key))
    HOCKET_RETURN_IF_ERROR(assign(key, "model.moe.shared_experts"));
  int64_t each = std::max<int64_t>(1, moe.ffn());
  if (moe.shared_experts() % each)
    return error(5, key,
                 key + " is " + std::to_string(moe.shared_experts()) +
                     "; supported are multiples of moe_intermediate_size (" +
                     std::to_string(each) + ")");
  moe.set_shared_experts(moe.shared_experts() / each);
  return okStatus();
}

Status ConfigReader::readLayers() {
  if (!hasSoundLayers())
    return okStatus(); // What is wrong is said by S3 and S4.
  Model &model = *loaded.spec.mutable_model();
  layers.resize(static_cast<size_t>(model.layers()));
  HOCKET_RETURN_IF_ERROR(readWindows());
  HOCKET_RETURN_IF_ERROR(readLayerTypes());
  HOCKET_RETURN_IF_ERROR(readMixedRope());
  HOCKET_RETURN_IF_ERROR(readExpertLayers());
  HOCKET_RETURN_IF_ERROR(readAttentionLayers());
  bool hasExperts =
      std::any_of(layers.begin(), layers.end(),
                  [](const spec::ListedLayer &l) { return l.experts; });
  if (!family.has(Trait::Experts) || hasExperts)
    spec::setLayers(model, layers, window,
                    family.has(Trait::LocalRope) ? &localRope : nullptr);
  if (config.find("sliding_window"))
    loaded.locations.set("model.sliding_window",
                         config.place("sliding_window"));
  for (int i = 0; i < model.layer_kinds_size(); ++i) {
    const std::string kind = "model.layer_kinds[" + std::to_string(i) + "]";
    loaded.locations.set(kind, config.place(differing));
    loaded.locations.set(kind + ".sliding_window",
                         config.place("sliding_window"));
  }
  return okStatus();
}
