//===- ModelWeights.cpp - What a checkpoint of a spec holds ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/ModelWeights.h"

#include "frontends/spec/Parameters.h"
#include "frontends/spec/Sizes.h"

using namespace hocket;

checkpoint::ModelWeights hocket::weightsOf(const spec::Spec &spec) {
  const spec::Model &model = spec.model();
  auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
  checkpoint::ModelWeights weights;
  for (const spec::Parameter &parameter : modelParameters(spec))
    weights.tensors.push_back(
        {{parameter.name, ""},
         checkpoint::ElementType::F32,
         {parameter.shape.begin(), parameter.shape.end()}});
  weights.layers = size(model.layers());
  weights.vocabulary = size(model.vocab_size());
  weights.tied = model.tied_embeddings();
  weights.gated = isGated(model.activation());
  weights.heads = size(model.heads());
  weights.kvHeads = size(model.kv_heads());
  weights.headDim = size(model.head_dim());
  return weights;
}
