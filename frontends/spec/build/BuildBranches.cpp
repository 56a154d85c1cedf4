//===- BuildBranches.cpp - What a layer adds to its input -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"
#include "frontends/spec/model/Sizes.h"

#include <string>
#include <utility>

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

Value ModelBuilder::scaledBranch(Value result, StringRef name,
                                 DropoutStream stream) {
  result = scaled(result, own().residual_scale(), (name + ".scale").str(),
                  "model.residual_scale");
  return dropout(result, own().dropout().residual(), stream,
                 (name + ".dropout").str());
}

Value ModelBuilder::addBranch(Value input, StringRef name, DropoutStream stream,
                              BranchFn branch) {
  bool post = own().norm_position() == Model::POST;
  const std::string normName = (name + "_norm").str();
  bool before = !post && hasNormBefore(own());
  Value result = branch(before ? norm(input, normName) : input);
  if (hasPostNorm(own()))
    result = norm(result, (name + "_post_norm").str());
  result = residual(input, scaledBranch(result, name, stream),
                    (name + ".residual").str());
  return post ? norm(result, normName) : result;
}

Value ModelBuilder::buildParallelBranches(Value input) {
  // Biases come behind the sum of both branches, if nothing lies between: so
  // ranks along `tp` form that sum at once, and not that of each.
  SmallVector<Value, 2> biases;
  if (own().dropout().residual() == 0 && own().residual_scale() == 1)
    for (const char *name : {"attention.o.bias", "mlp.down.bias"})
      if (Value bias = std::exchange(parameters[name], Value()))
        biases.push_back(bias);
  Value normed = norm(input, "attention_norm");
  Value attention = scaledBranch(buildAttentionBranch(normed), "attention",
                                 AttentionBranchStream);
  if (!hasOneNorm(own()))
    normed = norm(input, "mlp_norm");
  Value mlp = scaledBranch(kind->hasExperts() ? buildExperts(normed)
                                              : buildDenseMlp(normed),
                           "mlp", MlpBranchStream);
  Value both = residual(attention, mlp, "branches");
  for (Value bias : biases)
    both = residual(both, bias, "branches.bias");
  return residual(input, both, "residual");
}

Value ModelBuilder::buildBranches(Value input) {
  if (own().branches() != Model::SEQUENTIAL)
    return buildParallelBranches(input);
  Value x = input;
  if (kind->attention)
    x = addBranch(x, "attention", AttentionBranchStream,
                  [&](Value in) { return buildAttentionBranch(in); });
  if (own().has_encoder())
    x = addBranch(x, "cross_attention", CrossAttentionBranchStream,
                  [&](Value in) { return buildCrossAttentionBranch(in); });
  if (kind->retrieves)
    x = addBranch(x, "cross_attention", CrossAttentionBranchStream,
                  [&](Value in) { return buildRetrievalBranch(in); });
  if (kind->stateSpace)
    x = addBranch(x, "mixer", AttentionBranchStream,
                  [&](Value in) { return buildStateSpaceBranch(in); });
  if (kind->hasExperts())
    x = addBranch(x, "mlp", MlpBranchStream,
                  [&](Value in) { return buildExperts(in); });
  else if (kind->isDense())
    x = addBranch(x, "mlp", MlpBranchStream,
                  [&](Value in) { return buildDenseMlp(in); });
  return x;
}
