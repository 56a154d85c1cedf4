//===- ModelDims.cpp - What a checkpoint needs of a spec ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/ModelDims.h"

#include "frontends/spec/Sizes.h"

using namespace hocket;

checkpoint::ModelDims hocket::dimsOf(const spec::Model &model) {
  auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
  checkpoint::ModelDims dims;
  dims.layers = size(model.layers());
  dims.hidden = size(model.hidden());
  dims.heads = size(model.heads());
  dims.kvHeads = size(model.kv_heads());
  dims.headDim = size(model.head_dim());
  dims.ffn = size(model.ffn());
  dims.vocabulary = size(model.vocab_size());
  dims.paddedVocabulary =
      size(paddedVocabSize(model).get().value_or(model.vocab_size()));
  dims.positions = model.position() == spec::Model::LEARNED
                       ? size(model.max_positions())
                       : 0;
  dims.tied = model.tied_embeddings();
  dims.gated = isGated(model.activation());
  dims.qkNorm = model.qk_norm();
  dims.qkvBias = model.attention_qkv_bias();
  dims.outputBias = model.attention_out_bias();
  dims.mlpBias = model.mlp_bias();
  dims.normBias = model.norm_bias();
  if (model.has_moe()) {
    const spec::Moe &moe = model.moe();
    dims.experts = size(moe.experts());
    dims.expertFfn = size(moe.ffn());
    dims.sharedFfn = size(moe.shared_experts()) * dims.expertFfn;
    dims.denseLayers = size(moe.first_dense_layers());
    dims.expertInterval = size(moe.interval());
  }
  return dims;
}
