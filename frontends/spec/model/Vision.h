//===- Vision.h - The tower of a model that sees images ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes of model.vision and its parameters, whose names in checkpoints are,
/// for a tower of h and a model of `hidden`, with patches of p pixels a side:
///
///   vision.patch_embedding.weight         [h, 3 p p]: channel, row, column
///   vision.class_embedding.weight         [h]
///   vision.position_embedding.weight      [patches + 1, h]
///   vision.pre_norm.{weight,bias}         [h]
///   vision.layers.{i}.*                   as layers.{i}.*
///   vision.post_norm.{weight,bias}        [h]
///   projector.up.{weight,bias}            [hidden, h], [hidden]
///   projector.down.{weight,bias}          [hidden, hidden], [hidden]
///
/// Layers behind the feature layer, and post_norm, are kept for other tools:
/// nothing reads them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_VISION_H
#define HOCKET_FRONTENDS_SPEC_MODEL_VISION_H

#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/spec.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::spec {

/// What the names of the tower's parameters begin with.
inline const std::string visionPrefix = "vision.";

/// The tower as a model of its own: all its layers, and nothing beside them.
/// One without layers where `model` has no vision.
Model towerOf(const Model &model);

/// Layers that are computed: up to the feature layer. Out of range where that
/// is.
int64_t computedLayers(const Vision &vision);

/// Of an image: patches, rows that the tower has, and rows that stand in a
/// text.
int64_t patchesOf(const Vision &vision);
inline int64_t towerRows(const Vision &vision) { return patchesOf(vision) + 1; }
inline int64_t placedRows(const Vision &vision) {
  return patchesOf(vision) + (vision.select() == Vision::ALL);
}
/// Numbers of a patch.
inline int64_t patchElements(const Vision &vision) {
  return 3 * vision.patch_size() * vision.patch_size();
}

/// The tower's parameters that are of no layer, without "vision.": before its
/// first layer and behind the last one. Of a resolved spec with vision.
std::vector<Parameter> visionInputParameters(const Spec &spec);
std::vector<Parameter> visionOutputParameters(const Spec &spec);
/// Those of the projector, by their full names.
std::vector<Parameter> projectorParameters(const Spec &spec);
/// Whether it is one of them; and whether it is one of theirs or the tower's.
bool isOfProjector(const std::string &name);
bool isOfVision(const std::string &name);

/// Whether the parameter `name` is one of the tower that nothing reads.
bool isUnread(const Model &model, const std::string &name);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_VISION_H
