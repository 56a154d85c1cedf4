//===- CheckLatentAttention.cpp - Attention to latents --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/model/RopeFrequencies.h"

#include <string>

using namespace hocket::spec;

/// S130: what latent attention goes with.
static void checkUnfit(const Model &model, ConstraintErrors &errors) {
  errors.addUnfit(
      130,
      {{model.has_encoder(), "model.encoder",
        "attention to an encoder has keys of its own; leave encoder out"},
       {model.has_retrieval(), "model.retrieval",
        "attention to neighbours has keys of its own; leave retrieval out"},
       {model.has_vision(), "model.vision",
        "texts with images have plain attention; leave vision out"},
       {model.kv_heads() != model.heads(), "model.kv_heads",
        "every head has keys of its own; leave kv_heads out"},
       {model.attention_qkv_bias(), "model.attention_qkv_bias",
        "latents and what is made of them have no biases; write "
        "attention_qkv_bias: false"},
       {model.position() != Model::ROTARY && model.position() != Model::NONE,
        "model.position",
        "a part of queries and keys rotates; write position: ROTARY"},
       {model.qk_norm() && model.qk_norm_scope() != Model::HEAD,
        "model.qk_norm_scope",
        "norms are of the latents; leave qk_norm_scope out"}});
}

/// S129: its sizes.
static void checkSizes(const Model &model, ConstraintErrors &errors) {
  const LatentAttention &latent = model.latent_attention();
  const std::string field = "model.latent_attention";
  auto number = [](int64_t value) { return std::to_string(value); };
  if (!latent.has_kv_lora_rank())
    errors.add(129, field, field + ".kv_lora_rank is required; write it");
  int64_t width = latent.qk_rope_head_dim() + latent.qk_nope_head_dim();
  if (width > 512)
    errors.add(129, field + ".qk_nope_head_dim",
               "heads have " + number(width) +
                   " elements; write parts of at most 512 together");
  else if (model.head_dim() != width)
    errors.add(129, "model.head_dim",
               "model.head_dim is " + number(model.head_dim()) +
                   ", and heads have qk_rope_head_dim + qk_nope_head_dim (" +
                   number(width) + "); leave it out");
  if (latent.v_head_dim() > width)
    errors.add(129, field + ".v_head_dim",
               field + ".v_head_dim is " + number(latent.v_head_dim()) +
                   "; write at most qk_rope_head_dim + qk_nope_head_dim (" +
                   number(width) + ")");
}

/// S9, of its part that turns.
static void checkRope(const Rope &rope, const std::string &field,
                      ConstraintErrors &errors) {
  if (rope.rotary_percent() != 1)
    errors.add(9, field + ".rotary_percent",
               "latent_attention.qk_rope_head_dim says how much of a head "
               "turns; leave rotary_percent out");
  if (rope.scaling().has_yarn() && ropeScoreFactor(rope) != 1)
    errors.add(9, field + ".scaling.yarn",
               "attention_factor scales whole heads, of which a part turns; "
               "write attention_factor: 1, and the scale of scores as "
               "model.attention_scale");
}

void hocket::spec::checkLatentAttention(const Spec &spec,
                                        ConstraintErrors &errors) {
  const Model &model = spec.model();
  if (!model.has_latent_attention())
    return;
  checkUnfit(model, errors);
  checkSizes(model, errors);
  if (model.position() == Model::ROTARY)
    checkRope(model.rope(), "model.rope", errors);
  for (int i = 0; i < model.layer_kinds_size(); ++i)
    if (model.layer_kinds(i).has_rope())
      checkRope(model.layer_kinds(i).rope(),
                "model.layer_kinds[" + std::to_string(i) + "].rope", errors);
  const Training &training = spec.training();
  errors.addUnfit(
      131, {{training.has_lora(), "training.lora",
             "latents are of low rank themselves; leave lora out"},
            {training.fp8_format() != Training::NONE, "training.fp8_format",
             "latents are not computed in 8 bits; leave fp8_format out"}});
}
