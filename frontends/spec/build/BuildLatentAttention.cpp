//===- BuildLatentAttention.cpp - Attention to latents --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// DeepSeek-V2 (arXiv 2405.04434, section 2.1.2). What rotates stands in front
/// of a head, where `xf.rope` turns it; scores are the same in any order of a
/// head's elements. Values are filled up with zeros to the width of keys, and
/// what attention makes of the zeros is cut off.
///
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

static const char *const latentField = "model.latent_attention";

/// What the linear layer `name` makes of `input`, as `heads` of `width` each.
Value ModelBuilder::latentHeads(Value input, const std::string &name,
                                int64_t heads, int64_t width) {
  Value flat = linear(input, "attention." + name, heads * width);
  return builder.create<xf::ReshapeOp>(at("attention." + name, latentField),
                                       tensor({batch, sequence, heads, width}),
                                       flat);
}

/// A latent of `input`, of `rank` numbers a token, by its norm.
Value ModelBuilder::buildLatent(Value input, StringRef name, int64_t rank) {
  Value made = linear(input, ("attention." + name + "_down").str(), rank);
  return qkNorm(made, name, Model::HEAD);
}

Value ModelBuilder::buildLatentAttentionBranch(Value input) {
  const LatentAttention &latent = own().latent_attention();
  int64_t heads = own().heads(), width = own().head_dim();
  int64_t values = latent.v_head_dim();
  auto typeOf = [&](int64_t channels) {
    return tensor({batch, sequence, heads, channels});
  };
  Value queriesOf = latent.has_q_lora_rank()
                        ? buildLatent(input, "q", latent.q_lora_rank())
                        : input;
  Value query = rotate(latentHeads(queriesOf, "q", heads, width), "q");
  Value kv = buildLatent(input, "kv", latent.kv_lora_rank());
  Value shared =
      rotate(latentHeads(input, "k_rope", 1, latent.qk_rope_head_dim()), "k");
  Value key = builder.create<xf::JoinHeadsOp>(
      at("attention.k_join", latentField), typeOf(width),
      latentHeads(kv, "k", heads, latent.qk_nope_head_dim()), shared);
  Value value = latentHeads(kv, "v", heads, values);
  if (values < width)
    value = builder.create<xf::JoinHeadsOp>(at("attention.v_pad", latentField),
                                            typeOf(width), value, Value());
  Value result = keepsCaches() ? buildCachedAttention(query, key, value)
                               : buildAttention(query, key, value);
  if (values < width)
    result = builder.create<xf::PartHeadsOp>(
        at("attention.v_part", latentField), typeOf(values), result,
        builder.getI64IntegerAttr(0));
  Value merged = builder.create<xf::ReshapeOp>(
      at("attention", "model.heads"), tensor({batch, sequence, heads * values}),
      result);
  return linear(merged, "attention.o", own().hidden());
}
