//===- Retrieval.cpp - What layers attend to besides ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Retrieval.h"

using namespace hocket::spec;

std::vector<int64_t> hocket::spec::usualRetrievalLayers(int64_t layers) {
  std::vector<int64_t> list;
  for (int64_t layer = layers <= 15 ? 5 : 8; layer < layers; layer += 3)
    list.push_back(layer);
  return list;
}

int64_t hocket::spec::chunksOf(const Spec &spec) {
  return spec.training().sequence_length() /
         spec.model().retrieval().chunk_length();
}

int64_t hocket::spec::neighborTokens(const Spec &spec) {
  const Retrieval &retrieval = spec.model().retrieval();
  return chunksOf(spec) * retrieval.neighbors() * retrieval.retrieved_length();
}

ResolvedKind hocket::spec::retrieverKind(const Model &model, int64_t layer) {
  const Retrieval &retrieval = model.retrieval();
  ResolvedKind kind;
  kind.model = model;
  kind.model.clear_retrieval();
  kind.model.clear_sliding_window();
  kind.model.clear_rope();
  kind.model.set_position(Model::NONE);
  kind.model.set_attention_mask(Model::BIDIRECTIONAL);
  Dropout &dropout = *kind.model.mutable_dropout();
  dropout.set_residual(retrieval.encoder_dropout());
  dropout.set_attention(retrieval.encoder_attention_dropout());
  kind.retrieves = layer == 0;
  kind.branches = 2 * retrieval.encoder_layers() + 1;
  return kind;
}
