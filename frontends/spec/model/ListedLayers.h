//===- ListedLayers.h - Layers that differ, as lists say it ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Configs of others say of each layer in lists what it is; a specification has
/// kinds of layers and a pattern. Reading and writing go through the same list
/// of layers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_LISTEDLAYERS_H
#define HOCKET_FRONTENDS_SPEC_MODEL_LISTEDLAYERS_H

#include "frontends/spec/spec.pb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hocket::spec {

/// In what layers of such a config may differ.
struct ListedLayer {
  bool windowed = false;
  bool rotary = true;
  bool experts = false;
  LayerKind::Mixer mixer = LayerKind::ATTENTION;
  bool feedForward = true;

  bool operator==(const ListedLayer &) const = default;
  /// The name of its kind: "sliding_attention", "full_attention_nope", "mamba",
  /// "mlp". Within a config either all mixers are followed by a feed-forward
  /// branch, or both are layers of their own.
  std::string kind(bool hasExperts) const;
};

/// Megatron-LM's letters of layers that are a norm and one branch: a Mamba-2
/// layer (M), attention (*), an MLP (-) or experts (E). nullopt for others.
std::optional<ListedLayer> layerOfLetter(char letter);

/// The letter of a layer; '?' where it has two branches.
char letterOf(const ListedLayer &layer);

/// Gives `model` these layers: fields of the model where all are alike, or
/// where those without experts are the first ones, else kinds and a pattern. A
/// window has `window` tokens; `local`, where it is not null, is the rope of
/// layers that have one.
void setLayers(Model &model, const std::vector<ListedLayer> &layers,
               int64_t window, const Rope *local);

/// The layers of a resolved `model`, as far as a config can tell them apart.
std::vector<ListedLayer> layersOf(const Model &model);

/// `model` with a kind for each layer by itself, so that models are compared
/// and not their words for them.
Model spelledOut(const Model &model);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_LISTEDLAYERS_H
