//===- ConfigLayers.h - Layers that differ, as configs say it ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A config says of each layer in lists of its own what it is; a specification
/// has kinds of layers and a pattern. Reading and writing go through the same
/// list of layers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_HUGGINGFACE_CONFIGLAYERS_H
#define HOCKET_FRONTENDS_HUGGINGFACE_CONFIGLAYERS_H

#include "frontends/spec/spec.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::huggingface {

/// In what layers of a config may differ.
struct ConfigLayer {
  bool windowed = false;
  bool rotary = true;
  bool experts = false;

  bool operator==(const ConfigLayer &) const = default;
  /// The name of its kind: "sliding_attention", "full_attention_nope".
  std::string kind(bool hasExperts) const;
};

/// Gives `model` these layers: fields of the model where all are alike, or
/// where those without experts are the first ones, else kinds and a pattern. A
/// window has `window` tokens; `local`, where it is not null, is the rope of
/// layers that have one.
void setLayers(spec::Model &model, const std::vector<ConfigLayer> &layers,
               int64_t window, const spec::Rope *local);

/// The layers of a resolved `model`, as far as a config can tell them apart.
std::vector<ConfigLayer> layersOf(const spec::Model &model);

/// `model` with a kind for each layer by itself, so that models are compared
/// and not their words for them.
spec::Model spelledOut(const spec::Model &model);

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_CONFIGLAYERS_H
