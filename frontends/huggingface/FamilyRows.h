//===- FamilyRows.h - Keys of each family's config.json ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which key of a family's config holds which field, and its names of
/// activations. Only for Families.cpp, whose table has a row for each family.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_HUGGINGFACE_FAMILYROWS_H
#define HOCKET_FRONTENDS_HUGGINGFACE_FAMILYROWS_H

#include "frontends/huggingface/Families.h"

namespace hocket::huggingface {

inline constexpr Row gpt2Rows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"n_positions", "model.max_positions", true},
    {"n_embd", "model.hidden", true},
    {"n_layer", "model.layers", true},
    {"n_head", "model.heads", true},
    {"n_inner", "model.ffn"},
    {"attn_pdrop", "model.dropout.attention"},
    {"resid_pdrop", "model.dropout.residual"},
    {"embd_pdrop", "model.dropout.embedding"},
    {"layer_norm_epsilon", "model.norm_eps"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};

// What the families that descend from Llama have in common.
#define HOCKET_LLAMA_ROWS                                                      \
  {"vocab_size", "model.vocab_size", true},                                    \
      {"max_position_embeddings", "model.max_positions", true},                \
      {"hidden_size", "model.hidden", true},                                   \
      {"num_hidden_layers", "model.layers", true},                             \
      {"num_attention_heads", "model.heads", true},                            \
      {"num_key_value_heads", "model.kv_heads"},                               \
      {"head_dim", "model.head_dim"},                                          \
      {"intermediate_size", "model.ffn", true},                                \
      {"rms_norm_eps", "model.norm_eps"}, {"rope_theta", "model.rope.theta"},  \
      {"attention_dropout", "model.dropout.attention"},                        \
      {"initializer_range", "model.initializer.stddev"},                       \
      {"tie_word_embeddings", "model.tied_embeddings"}

#define HOCKET_ATTENTION_BIAS_ROWS                                             \
  {"attention_bias", "model.attention_qkv_bias"},                              \
      {"attention_bias", "model.attention_out_bias"}

inline constexpr Row llamaRows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"mlp_bias", "model.mlp_bias"},
};
// Of the language model of a family that sees images: what its config leaves
// out is as transformers has it.
inline constexpr Row languageRows[] = {
    {"vocab_size", "model.vocab_size"},
    {"max_position_embeddings", "model.max_positions"},
    {"hidden_size", "model.hidden"},
    {"num_hidden_layers", "model.layers"},
    {"num_attention_heads", "model.heads"},
    {"num_key_value_heads", "model.kv_heads"},
    {"head_dim", "model.head_dim"},
    {"intermediate_size", "model.ffn"},
    {"rms_norm_eps", "model.norm_eps"},
    {"rope_theta", "model.rope.theta"},
    {"attention_dropout", "model.dropout.attention"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
    HOCKET_ATTENTION_BIAS_ROWS,
    {"mlp_bias", "model.mlp_bias"},
};
inline constexpr Row llavaRows[] = {
    {"image_token_index", "model.image_token"},
    {"vision_feature_layer", "model.vision.feature_layer"},
    {"multimodal_projector_bias", "model.vision.projector_bias"},
    {"vision_config.hidden_size", "model.vision.hidden", true},
    {"vision_config.num_hidden_layers", "model.vision.layers", true},
    {"vision_config.num_attention_heads", "model.vision.heads", true},
    {"vision_config.intermediate_size", "model.vision.ffn", true},
    {"vision_config.image_size", "model.vision.image_size", true},
    {"vision_config.patch_size", "model.vision.patch_size", true},
    {"vision_config.layer_norm_eps", "model.vision.norm_eps"},
};
inline constexpr Row mistralRows[] = {
    HOCKET_LLAMA_ROWS,
    {"sliding_window", "model.sliding_window"},
};
inline constexpr Row mixtralRows[] = {
    HOCKET_LLAMA_ROWS,
    {"sliding_window", "model.sliding_window"},
    {"num_local_experts", "model.moe.experts", true},
    {"num_experts_per_tok", "model.moe.top_k"},
};
inline constexpr Row qwen2Rows[] = {HOCKET_LLAMA_ROWS};
// OLMo 2's, too.
inline constexpr Row qwen3Rows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
};
// transformers has a cap of Gemma 3's scores in its configs and does not apply
// it.
inline constexpr Row gemma3Rows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"final_logit_softcapping", "model.logit_softcap"},
};
inline constexpr Row gemma2Rows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"attn_logit_softcapping", "model.attention_softcap"},
    {"final_logit_softcapping", "model.logit_softcap"},
};
// The number of experts has two names; published configs have the first.
inline constexpr Row qwen3MoeRows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"num_experts", "model.moe.experts"},
    {"num_local_experts", "model.moe.experts"},
    {"num_experts_per_tok", "model.moe.top_k"},
    {"moe_intermediate_size", "model.moe.ffn", true},
    {"norm_topk_prob", "model.moe.renormalise"},
    {"decoder_sparse_step", "model.moe.interval"},
};
inline constexpr Row qwen2MoeRows[] = {
    HOCKET_LLAMA_ROWS,
    {"qkv_bias", "model.attention_qkv_bias"},
    {"num_experts", "model.moe.experts", true},
    {"num_experts_per_tok", "model.moe.top_k"},
    {"moe_intermediate_size", "model.moe.ffn", true},
    {"norm_topk_prob", "model.moe.renormalise"},
    {"decoder_sparse_step", "model.moe.interval"},
};
inline constexpr Row graniteRows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"mlp_bias", "model.mlp_bias"},
    {"embedding_multiplier", "model.embedding_scale"},
    {"residual_multiplier", "model.residual_scale"},
    {"attention_multiplier", "model.attention_scale"},
};
inline constexpr Row phi3Rows[] = {
    HOCKET_LLAMA_ROWS,
    {"partial_rotary_factor", "model.rope.rotary_percent"},
    {"sliding_window", "model.sliding_window"},
    {"resid_pdrop", "model.dropout.residual"},
};
inline constexpr Row seedOssRows[] = {
    HOCKET_LLAMA_ROWS,
    {"attention_bias", "model.attention_qkv_bias"},
    {"attention_out_bias", "model.attention_out_bias"},
    {"mlp_bias", "model.mlp_bias"},
    {"residual_dropout", "model.dropout.residual"},
};
inline constexpr Row olmoeRows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"num_experts", "model.moe.experts", true},
    {"num_experts_per_tok", "model.moe.top_k"},
    {"norm_topk_prob", "model.moe.renormalise"},
};
// GLM 4's, too.
inline constexpr Row glmRows[] = {
    HOCKET_LLAMA_ROWS,
    {"partial_rotary_factor", "model.rope.rotary_percent"},
    {"attention_bias", "model.attention_qkv_bias"},
};
inline constexpr Row heliumRows[] = {
    HOCKET_LLAMA_ROWS,
    {"attention_bias", "model.attention_qkv_bias"},
    {"mlp_bias", "model.mlp_bias"},
};
inline constexpr Row ernieRows[] = {
    HOCKET_LLAMA_ROWS,
    {"use_bias", "model.attention_qkv_bias"},
    {"use_bias", "model.attention_out_bias"},
    {"use_bias", "model.mlp_bias"},
};
// Their heads have two parts, and `head_dim` is that which rotates.
inline constexpr Row deepseekRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"max_position_embeddings", "model.max_positions", true},
    {"hidden_size", "model.hidden", true},
    {"num_hidden_layers", "model.layers", true},
    {"num_attention_heads", "model.heads", true},
    {"num_key_value_heads", "model.kv_heads"},
    {"intermediate_size", "model.ffn", true},
    {"rms_norm_eps", "model.norm_eps"},
    {"rope_theta", "model.rope.theta"},
    {"attention_dropout", "model.dropout.attention"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
    {"q_lora_rank", "model.latent_attention.q_lora_rank"},
    {"kv_lora_rank", "model.latent_attention.kv_lora_rank"},
    {"qk_nope_head_dim", "model.latent_attention.qk_nope_head_dim"},
    {"qk_rope_head_dim", "model.latent_attention.qk_rope_head_dim"},
    {"v_head_dim", "model.latent_attention.v_head_dim"},
    {"n_routed_experts", "model.moe.experts"},
    {"num_experts_per_tok", "model.moe.top_k", true},
    {"moe_intermediate_size", "model.moe.ffn"},
    {"n_shared_experts", "model.moe.shared_experts"},
    {"routed_scaling_factor", "model.moe.scale"},
    {"n_group", "model.moe.groups"},
    {"topk_group", "model.moe.topk_groups"},
    {"first_k_dense_replace", "model.moe.first_dense_layers"},
    {"norm_topk_prob", "model.moe.renormalise"},
};
inline constexpr Row granitemoeRows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"embedding_multiplier", "model.embedding_scale"},
    {"residual_multiplier", "model.residual_scale"},
    {"attention_multiplier", "model.attention_scale"},
    {"num_local_experts", "model.moe.experts", true},
    {"num_experts_per_tok", "model.moe.top_k"},
};
#undef HOCKET_LLAMA_ROWS

// What those have in common that took a layer norm to Llama's layer.
#define HOCKET_LAYER_NORM_ROWS(EPSILON)                                        \
  {"vocab_size", "model.vocab_size", true},                                    \
      {"max_position_embeddings", "model.max_positions", true},                \
      {"hidden_size", "model.hidden", true},                                   \
      {"num_hidden_layers", "model.layers", true},                             \
      {"num_attention_heads", "model.heads", true},                            \
      {"num_key_value_heads", "model.kv_heads"},                               \
      {"intermediate_size", "model.ffn", true}, {EPSILON, "model.norm_eps"},   \
      {"rope_theta", "model.rope.theta"},                                      \
      {"attention_dropout", "model.dropout.attention"},                        \
      {"initializer_range", "model.initializer.stddev"},                       \
      {"tie_word_embeddings", "model.tied_embeddings"}

inline constexpr Row nemotronRows[] = {
    HOCKET_LAYER_NORM_ROWS("norm_eps"),
    {"head_dim", "model.head_dim"},
    {"partial_rotary_factor", "model.rope.rotary_percent"},
    HOCKET_ATTENTION_BIAS_ROWS,
    {"mlp_bias", "model.mlp_bias"},
};
inline constexpr Row stablelmRows[] = {
    HOCKET_LAYER_NORM_ROWS("layer_norm_eps"),
    {"partial_rotary_factor", "model.rope.rotary_percent"},
    {"hidden_dropout", "model.dropout.residual"},
    {"use_qkv_bias", "model.attention_qkv_bias"},
};
inline constexpr Row starcoder2Rows[] = {
    HOCKET_LAYER_NORM_ROWS("norm_epsilon"),
    {"sliding_window", "model.sliding_window"},
    {"residual_dropout", "model.dropout.residual"},
    {"embedding_dropout", "model.dropout.embedding"},
    {"use_bias", "model.attention_qkv_bias"},
    {"use_bias", "model.attention_out_bias"},
    {"use_bias", "model.mlp_bias"},
};
inline constexpr Row phiRows[] = {
    HOCKET_LAYER_NORM_ROWS("layer_norm_eps"),
    {"partial_rotary_factor", "model.rope.rotary_percent"},
    {"resid_pdrop", "model.dropout.residual"},
    {"embd_pdrop", "model.dropout.embedding"},
};
// Cohere 2's, too.
inline constexpr Row cohereRows[] = {
    HOCKET_LAYER_NORM_ROWS("layer_norm_eps"),
    HOCKET_ATTENTION_BIAS_ROWS,
    {"logit_scale", "model.logit_scale"},
};
#undef HOCKET_LAYER_NORM_ROWS

inline constexpr Row optRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"max_position_embeddings", "model.max_positions", true},
    {"hidden_size", "model.hidden", true},
    {"num_hidden_layers", "model.layers", true},
    {"num_attention_heads", "model.heads", true},
    {"ffn_dim", "model.ffn", true},
    {"enable_bias", "model.attention_qkv_bias"},
    {"enable_bias", "model.attention_out_bias"},
    {"enable_bias", "model.mlp_bias"},
    {"attention_dropout", "model.dropout.attention"},
    {"dropout", "model.dropout.residual"},
    {"init_std", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};
inline constexpr Row falconRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"max_position_embeddings", "model.max_positions"},
    {"hidden_size", "model.hidden", true},
    {"num_hidden_layers", "model.layers", true},
    {"num_attention_heads", "model.heads", true},
    {"ffn_hidden_size", "model.ffn"},
    {"layer_norm_epsilon", "model.norm_eps"},
    {"rope_theta", "model.rope.theta"},
    {"bias", "model.attention_qkv_bias"},
    {"bias", "model.attention_out_bias"},
    {"bias", "model.mlp_bias"},
    {"attention_dropout", "model.dropout.attention"},
    {"hidden_dropout", "model.dropout.residual"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};
inline constexpr Row gptjRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"n_positions", "model.max_positions", true},
    {"n_embd", "model.hidden", true},
    {"n_layer", "model.layers", true},
    {"n_head", "model.heads", true},
    {"n_inner", "model.ffn"},
    {"attn_pdrop", "model.dropout.attention"},
    {"resid_pdrop", "model.dropout.residual"},
    {"embd_pdrop", "model.dropout.embedding"},
    {"layer_norm_epsilon", "model.norm_eps"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};

// Rotary positions have other names in newer configs.
inline constexpr Row gptNeoxRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"max_position_embeddings", "model.max_positions", true},
    {"hidden_size", "model.hidden", true},
    {"num_hidden_layers", "model.layers", true},
    {"num_attention_heads", "model.heads", true},
    {"intermediate_size", "model.ffn", true},
    {"layer_norm_eps", "model.norm_eps"},
    {"rotary_pct", "model.rope.rotary_percent"},
    {"rotary_emb_base", "model.rope.theta"},
    HOCKET_ATTENTION_BIAS_ROWS,
    {"attention_dropout", "model.dropout.attention"},
    {"hidden_dropout", "model.dropout.residual"},
    {"hidden_dropout", "model.dropout.embedding"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};

inline constexpr Row mamba2Rows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"hidden_size", "model.hidden", true},
    {"num_hidden_layers", "model.layers", true},
    {"num_heads", "model.state_space.heads"},
    {"head_dim", "model.state_space.head_dim"},
    {"state_size", "model.state_space.state_size"},
    {"n_groups", "model.state_space.groups"},
    {"n_groups", "model.state_space.norm_groups"},
    {"conv_kernel", "model.state_space.conv_width"},
    {"use_conv_bias", "model.state_space.conv_bias"},
    {"use_bias", "model.state_space.bias"},
    {"layer_norm_epsilon", "model.norm_eps"},
    {"initializer_range", "model.initializer.stddev"},
    {"rescale_prenorm_residual", "model.initializer.depth_scaled"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};
inline constexpr Row bambaRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"max_position_embeddings", "model.max_positions", true},
    {"hidden_size", "model.hidden", true},
    {"num_hidden_layers", "model.layers", true},
    {"num_attention_heads", "model.heads", true},
    {"num_key_value_heads", "model.kv_heads"},
    {"head_dim", "model.head_dim"},
    {"intermediate_size", "model.ffn", true},
    {"rms_norm_eps", "model.norm_eps"},
    {"rope_theta", "model.rope.theta"},
    HOCKET_ATTENTION_BIAS_ROWS,
    {"mlp_bias", "model.mlp_bias"},
    {"mamba_n_heads", "model.state_space.heads"},
    {"mamba_d_head", "model.state_space.head_dim", false, true},
    {"mamba_d_state", "model.state_space.state_size"},
    {"mamba_n_groups", "model.state_space.groups"},
    {"mamba_n_groups", "model.state_space.norm_groups"},
    {"mamba_d_conv", "model.state_space.conv_width"},
    {"mamba_conv_bias", "model.state_space.conv_bias"},
    {"mamba_proj_bias", "model.state_space.bias"},
    {"attention_dropout", "model.dropout.attention"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};
#undef HOCKET_ATTENTION_BIAS_ROWS

// The number of layers is that of the letters. The least step is one of first
// steps, too.
inline constexpr Row nemotronHRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"max_position_embeddings", "model.max_positions", true},
    {"hidden_size", "model.hidden", true},
    {"num_attention_heads", "model.heads", true},
    {"num_key_value_heads", "model.kv_heads"},
    {"head_dim", "model.head_dim"},
    {"intermediate_size", "model.ffn", true},
    {"layer_norm_epsilon", "model.norm_eps"},
    {"mlp_bias", "model.mlp_bias"},
    {"mamba_num_heads", "model.state_space.heads"},
    {"mamba_head_dim", "model.state_space.head_dim"},
    {"ssm_state_size", "model.state_space.state_size"},
    {"n_groups", "model.state_space.groups"},
    {"n_groups", "model.state_space.norm_groups"},
    {"conv_kernel", "model.state_space.conv_width"},
    {"use_conv_bias", "model.state_space.conv_bias"},
    {"use_bias", "model.state_space.bias"},
    {"time_step_min", "model.state_space.step_least"},
    {"attention_dropout", "model.dropout.attention"},
    {"initializer_range", "model.initializer.stddev"},
    {"rescale_prenorm_residual", "model.initializer.depth_scaled"},
};

// Sizes have two names.
inline constexpr Row bloomRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"seq_length", "model.max_positions"},
    {"hidden_size", "model.hidden"},
    {"n_embed", "model.hidden"},
    {"n_layer", "model.layers"},
    {"num_hidden_layers", "model.layers"},
    {"n_head", "model.heads"},
    {"num_attention_heads", "model.heads"},
    {"layer_norm_epsilon", "model.norm_eps"},
    {"attention_dropout", "model.dropout.attention"},
    {"hidden_dropout", "model.dropout.residual"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};

inline constexpr Row bertRows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"max_position_embeddings", "model.max_positions", true},
    {"hidden_size", "model.hidden", true},
    {"num_hidden_layers", "model.layers", true},
    {"num_attention_heads", "model.heads", true},
    {"intermediate_size", "model.ffn", true},
    {"type_vocab_size", "model.token_types"},
    {"layer_norm_eps", "model.norm_eps"},
    {"attention_probs_dropout_prob", "model.dropout.attention"},
    {"hidden_dropout_prob", "model.dropout.residual"},
    {"hidden_dropout_prob", "model.dropout.embedding"},
    {"initializer_range", "model.initializer.stddev"},
    {"tie_word_embeddings", "model.tied_embeddings"},
};

// mT5's, too.
inline constexpr Row t5Rows[] = {
    {"vocab_size", "model.vocab_size", true},
    {"d_model", "model.hidden", true},
    {"d_kv", "model.head_dim", true},
    {"d_ff", "model.ffn", true},
    {"num_heads", "model.heads", true},
    {"num_layers", "model.encoder.layers", true},
    {"num_decoder_layers", "model.layers"},
    {"relative_attention_num_buckets", "model.relative_position.buckets"},
    {"relative_attention_max_distance", "model.relative_position.max_distance"},
    {"layer_norm_epsilon", "model.norm_eps"},
    {"dropout_rate", "model.dropout.mlp"},
    {"dropout_rate", "model.dropout.final_norm"},
    {"dropout_rate", "model.dropout.attention"},
    {"dropout_rate", "model.dropout.embedding"},
    {"dropout_rate", "model.dropout.residual"},
};

// The first name of each value is the one written.
inline constexpr ActivationName exactActivations[] = {
    {"gelu", "GELU"},          {"gelu_new", "GELU_TANH"},
    {"relu", "RELU"},          {"gelu_pytorch_tanh", "GELU_TANH"},
    {"relu2", "RELU_SQUARED"}, {"silu", "SILU"},
    {"swish", "SILU"},
};
inline constexpr ActivationName plainActivations[] = {
    {"gelu_new", "GELU_TANH"}, {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu", "GELU"},          {"relu", "RELU"},
    {"relu2", "RELU_SQUARED"}, {"silu", "SILU"},
    {"swish", "SILU"},
};
inline constexpr ActivationName starcoderActivations[] = {
    {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu_new", "GELU_TANH"},
    {"gelu", "GELU"},
    {"relu", "RELU"},
    {"relu2", "RELU_SQUARED"},
    {"silu", "SILU"},
    {"swish", "SILU"},
};
// Of the convolution, too.
inline constexpr ActivationName mamba2Activations[] = {{"silu", "SILU"},
                                                       {"swish", "SILU"}};
inline constexpr ActivationName bambaActivations[] = {{"silu", "SWIGLU"},
                                                      {"swish", "SWIGLU"}};
inline constexpr ActivationName bloomActivations[] = {
    {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu_new", "GELU_TANH"},
};
// `gated-gelu` alone says the approximation.
inline constexpr ActivationName t5Activations[] = {
    {"relu", "RELU"},
    {"gated-gelu", "GEGLU_TANH"},
    {"gated-gelu_new", "GEGLU_TANH"},
    {"gated-silu", "SWIGLU"},
    {"gated-swish", "SWIGLU"},
    {"gelu", "GELU"},
    {"gelu_new", "GELU_TANH"},
    {"gelu_pytorch_tanh", "GELU_TANH"},
    {"relu2", "RELU_SQUARED"},
    {"silu", "SILU"},
    {"swish", "SILU"},
};
inline constexpr ActivationName visionActivations[] = {
    {"quick_gelu", "QUICK_GELU"},
    {"gelu", "GELU"},
    {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu_new", "GELU_TANH"},
    {"relu", "RELU"},
    {"relu2", "RELU_SQUARED"},
    {"silu", "SILU"},
    {"swish", "SILU"},
};
// What is called gelu is its approximation, too.
inline constexpr ActivationName gemmaActivations[] = {
    {"gelu_pytorch_tanh", "GEGLU_TANH"},
    {"gelu", "GEGLU_TANH"},
    {"gelu_new", "GEGLU_TANH"},
    {"silu", "SWIGLU"},
    {"swish", "SWIGLU"},
};
inline constexpr ActivationName gatedActivations[] = {
    {"silu", "SWIGLU"},         {"swish", "SWIGLU"},
    {"gelu", "GEGLU"},          {"gelu_pytorch_tanh", "GEGLU_TANH"},
    {"gelu_new", "GEGLU_TANH"},
};

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_FAMILYROWS_H
