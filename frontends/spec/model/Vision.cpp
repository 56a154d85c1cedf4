//===- Vision.cpp - The tower of a model that sees images -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Vision.h"

#include <cmath>

using namespace hocket;

spec::Model spec::towerOf(const Model &model) {
  const Vision &vision = model.vision();
  Model tower;
  tower.set_layers(vision.layers());
  tower.set_hidden(vision.hidden());
  tower.set_heads(vision.heads());
  tower.set_kv_heads(vision.heads());
  if (vision.heads() > 0)
    tower.set_head_dim(vision.hidden() / vision.heads());
  tower.set_ffn(vision.ffn());
  tower.set_norm(Model::LAYER_NORM);
  tower.set_norm_eps(vision.norm_eps());
  tower.set_activation(vision.activation());
  tower.set_position(Model::NONE);
  for (auto set : {&Model::set_bias, &Model::set_attention_qkv_bias,
                   &Model::set_attention_out_bias, &Model::set_mlp_bias,
                   &Model::set_norm_bias})
    (tower.*set)(true);
  if (tower.head_dim() > 0)
    tower.set_attention_scale(1 /
                              std::sqrt(static_cast<double>(tower.head_dim())));
  tower.set_attention_mask(Model::BIDIRECTIONAL);
  *tower.mutable_initializer() = model.initializer();
  return tower;
}

int64_t spec::computedLayers(const Vision &vision) {
  int64_t last = vision.feature_layer();
  return last < 0 ? vision.layers() + 1 + last : last;
}

int64_t spec::patchesOf(const Vision &vision) {
  int64_t side = vision.image_size() / vision.patch_size();
  return side * side;
}

bool spec::isOfProjector(const std::string &name) {
  return name.starts_with("projector.");
}

bool spec::isOfVision(const std::string &name) {
  return name.starts_with(visionPrefix) || isOfProjector(name);
}

bool spec::isUnread(const Model &model, const std::string &name) {
  const std::string layer = visionPrefix + "layers.";
  if (!model.has_vision() || !name.starts_with(visionPrefix))
    return false;
  if (name.starts_with(layer))
    return std::stoll(name.substr(layer.size())) >=
           computedLayers(model.vision());
  return name.starts_with(visionPrefix + "post_norm.");
}
