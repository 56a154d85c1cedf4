//===- LayerPattern.h - Which layer is of which kind ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The layers of a model by kind. Everything that differs between layers is
/// asked for here, and nowhere else: each kind sees a model of its own, in
/// which its fields stand in place of the model's. A model without
/// `layer_kinds` has the kinds `layer` and, where `moe` asks for them,
/// `expert_layer`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_LAYERPATTERN_H
#define HOCKET_FRONTENDS_SPEC_MODEL_LAYERPATTERN_H

#include "base/Status.h"
#include "frontends/spec/spec.pb.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::spec {

/// A kind of layer whose fields are all resolved.
struct ResolvedKind {
  /// Of its function in the IR: "local_layer".
  std::string function;
  /// The model as layers of this kind see it.
  Model model;
  bool attention = true;
  bool stateSpace = false;
  LayerKind::FeedForward feedForward = LayerKind::DENSE;
  int64_t layers = 0;     ///< How many there are; 0 of a kind that is not used.
  int64_t branches = 0;   ///< Residual ones of the whole model.
  bool retrieves = false; ///< Has a branch that attends to neighbours,
  bool encodes = false;   ///< and the encoder of these.

  bool isDense() const { return feedForward == LayerKind::DENSE; }
  bool hasExperts() const { return feedForward == LayerKind::EXPERTS; }
  bool isRotary() const {
    return attention && model.position() == Model::ROTARY;
  }
  bool mixes() const { return attention || stateSpace; }
  /// Keys that a token sees at most; 0: all before it.
  int64_t window() const {
    return model.has_sliding_window() ? model.sliding_window() : 0;
  }
};

class LayerPattern {
public:
  /// Of a resolved model that keeps S49 and S50.
  explicit LayerPattern(const Model &model);

  std::span<const ResolvedKind> kinds() const { return list; }
  const ResolvedKind &operator[](int64_t layer) const {
    return list[kindOf[static_cast<size_t>(layer)]];
  }

private:
  std::vector<ResolvedKind> list;
  std::vector<size_t> kindOf; ///< Of each layer, an index into `list`.
};

/// Whether a kind of layer of the model has attention, and a state-space layer.
bool attends(const Model &model);
bool hasStateSpace(const Model &model);

/// The model as layers of `kind` see it.
Model modelOfKind(const Model &model, const LayerKind &kind);

/// The kind of each layer, an index into `model.layer_kinds`, as
/// `model.pattern` says. InvalidArgument says what is wrong with the pattern,
/// and what to write.
StatusOr<std::vector<size_t>> readPattern(const Model &model);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_LAYERPATTERN_H
