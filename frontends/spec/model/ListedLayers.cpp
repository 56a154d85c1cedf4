//===- ListedLayers.cpp - Layers that differ, as lists say it -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/ListedLayers.h"

#include "frontends/spec/model/LayerPattern.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace hocket;
using namespace hocket::spec;

std::string ListedLayer::kind(bool hasExperts) const {
  if (mixer == LayerKind::NO_MIXER)
    return experts ? "experts" : "mlp";
  if (mixer == LayerKind::MAMBA2)
    return experts ? "mamba_experts" : "mamba";
  std::string name = windowed ? "sliding_attention" : "full_attention";
  if (!rotary)
    name += "_nope";
  return hasExperts && feedForward && !experts ? name + "_dense" : name;
}

std::optional<ListedLayer> spec::layerOfLetter(char letter) {
  ListedLayer layer;
  bool mixes = letter == 'M' || letter == '*';
  layer.feedForward = !mixes;
  layer.experts = letter == 'E';
  layer.mixer = letter == 'M'   ? LayerKind::MAMBA2
                : letter == '*' ? LayerKind::ATTENTION
                                : LayerKind::NO_MIXER;
  if (mixes || letter == '-' || letter == 'E')
    return layer;
  return std::nullopt;
}

char spec::letterOf(const ListedLayer &layer) {
  if (layer.mixer == LayerKind::NO_MIXER)
    return layer.experts ? 'E' : '-';
  if (layer.feedForward)
    return '?';
  return layer.mixer == LayerKind::MAMBA2 ? 'M' : '*';
}

/// Whether those with experts are all after the first few, or every so many:
/// `moe` then says which.
static bool setExperts(Moe &moe, const std::vector<ListedLayer> &layers) {
  auto first = std::find_if(layers.begin(), layers.end(),
                            [](const ListedLayer &l) { return l.experts; });
  auto dense = static_cast<int64_t>(first - layers.begin());
  for (auto [from, interval] :
       {std::pair<int64_t, int64_t>{dense, 1}, {0, dense + 1}}) {
    bool fits = true;
    for (int64_t i = 0; i < static_cast<int64_t>(layers.size()); ++i)
      fits &= layers[static_cast<size_t>(i)].experts ==
              (i >= from && (i - from) % interval == interval - 1);
    if (!fits)
      continue;
    moe.set_first_dense_layers(from);
    moe.set_interval(interval);
    return true;
  }
  return false;
}

/// Names one behind the other, those that repeat as "name*3".
static std::string joined(const std::vector<std::string> &names, size_t count) {
  std::string text;
  for (size_t i = 0; i < count;) {
    size_t end = i;
    while (end < count && names[end] == names[i])
      ++end;
    text += (text.empty() ? "" : " ") + names[i];
    if (end - i > 1)
      text += "*" + std::to_string(end - i);
    i = end;
  }
  return text;
}

/// The shortest pattern that, begun anew, gives all of `names`.
static std::string patternOf(const std::vector<std::string> &names) {
  for (size_t period = 1; period < names.size(); ++period) {
    bool repeats = true;
    for (size_t i = period; i < names.size() && repeats; ++i)
      repeats = names[i] == names[i - period];
    if (repeats)
      return joined(names, period);
  }
  return joined(names, names.size());
}

static void addKind(Model &model, const ListedLayer &layer, int64_t window,
                    const Rope *local) {
  LayerKind &kind = *model.add_layer_kinds();
  kind.set_name(layer.kind(model.has_moe()));
  if (layer.mixer != LayerKind::ATTENTION)
    kind.set_mixer(layer.mixer);
  if (layer.experts)
    kind.set_feed_forward(LayerKind::EXPERTS);
  else if (!layer.feedForward)
    kind.set_feed_forward(LayerKind::NO_FEED_FORWARD);
  if (layer.windowed)
    kind.set_sliding_window(window);
  if (!layer.rotary)
    kind.set_position(Model::NONE);
  else if (layer.windowed && local)
    *kind.mutable_rope() = *local;
}

void spec::setLayers(Model &model, const std::vector<ListedLayer> &layers,
                     int64_t window, const Rope *local) {
  auto all = [&](auto property) {
    return std::all_of(layers.begin(), layers.end(), property);
  };
  bool windowed = all([](const ListedLayer &l) { return l.windowed; });
  bool alike =
      all([](const ListedLayer &l) {
        return l.rotary && l.mixer == LayerKind::ATTENTION && l.feedForward;
      }) &&
      ((windowed && !local) ||
       all([](const ListedLayer &l) { return !l.windowed; }));
  if (alike && (!model.has_moe() || setExperts(*model.mutable_moe(), layers))) {
    if (windowed)
      model.set_sliding_window(window);
    return;
  }
  std::vector<std::string> names;
  for (const ListedLayer &layer : layers) {
    std::string name = layer.kind(model.has_moe());
    if (std::find(names.begin(), names.end(), name) == names.end())
      addKind(model, layer, window, local);
    names.push_back(std::move(name));
  }
  model.clear_sliding_window();
  if (model.has_moe()) {
    model.mutable_moe()->clear_first_dense_layers();
    model.mutable_moe()->clear_interval();
  }
  model.set_pattern(patternOf(names));
}

static LayerKind::Mixer mixerOf(const ResolvedKind &kind) {
  return kind.attention    ? LayerKind::ATTENTION
         : kind.stateSpace ? LayerKind::MAMBA2
                           : LayerKind::NO_MIXER;
}

std::vector<ListedLayer> spec::layersOf(const Model &model) {
  std::vector<ListedLayer> layers;
  spec::LayerPattern pattern(model);
  for (int64_t i = 0; i < model.layers(); ++i) {
    const ResolvedKind &kind = pattern[i];
    layers.push_back(
        {.windowed = kind.attention && kind.window() > 0,
         .rotary = kind.isRotary(),
         .experts = kind.hasExperts(),
         .mixer = mixerOf(kind),
         .feedForward = kind.feedForward != LayerKind::NO_FEED_FORWARD});
  }
  return layers;
}

Model spec::spelledOut(const Model &model) {
  spec::LayerPattern pattern(model);
  Model result = model;
  result.clear_layer_kinds();
  result.clear_pattern();
  for (int64_t i = 0; i < model.layers(); ++i) {
    const spec::ResolvedKind &layer = pattern[i];
    LayerKind &kind = *result.add_layer_kinds();
    kind.set_mixer(mixerOf(layer));
    kind.set_feed_forward(layer.feedForward);
    if (layer.isDense())
      kind.set_ffn(layer.model.ffn());
    if (layer.attention) {
      kind.set_sliding_window(layer.window());
      kind.set_position(layer.model.position());
    }
    if (layer.isRotary())
      *kind.mutable_rope() = layer.model.rope();
  }
  result.clear_ffn();
  result.clear_sliding_window();
  if (result.position() != Model::LEARNED)
    result.clear_position();
  result.clear_rope();
  if (result.has_moe()) {
    result.mutable_moe()->clear_first_dense_layers();
    result.mutable_moe()->clear_interval();
  }
  return result;
}
