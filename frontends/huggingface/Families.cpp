//===- Families.cpp - Model families of Hugging Face ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/Families.h"

#include "frontends/spec/text/FieldNames.h"

using namespace hocket::huggingface;

static constexpr Row gpt2Rows[] = {
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

static constexpr Row llamaRows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"mlp_bias", "model.mlp_bias"},
};
// Of the language model of a family that sees images: what its config leaves
// out is as transformers has it.
static constexpr Row languageRows[] = {
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
static constexpr Row llavaRows[] = {
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
static constexpr Row mistralRows[] = {
    HOCKET_LLAMA_ROWS,
    {"sliding_window", "model.sliding_window"},
};
static constexpr Row mixtralRows[] = {
    HOCKET_LLAMA_ROWS,
    {"sliding_window", "model.sliding_window"},
    {"num_local_experts", "model.moe.experts", true},
    {"num_experts_per_tok", "model.moe.top_k"},
};
static constexpr Row qwen2Rows[] = {HOCKET_LLAMA_ROWS};
// OLMo 2's, too.
static constexpr Row qwen3Rows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
};
// transformers has a cap of Gemma 3's scores in its configs and does not apply
// it.
static constexpr Row gemma3Rows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"final_logit_softcapping", "model.logit_softcap"},
};
static constexpr Row gemma2Rows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"attn_logit_softcapping", "model.attention_softcap"},
    {"final_logit_softcapping", "model.logit_softcap"},
};
// The number of experts has two names; published configs have the first.
static constexpr Row qwen3MoeRows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"num_experts", "model.moe.experts"},
    {"num_local_experts", "model.moe.experts"},
    {"num_experts_per_tok", "model.moe.top_k"},
    {"moe_intermediate_size", "model.moe.ffn", true},
    {"norm_topk_prob", "model.moe.renormalise"},
    {"decoder_sparse_step", "model.moe.interval"},
};
static constexpr Row qwen2MoeRows[] = {
    HOCKET_LLAMA_ROWS,
    {"qkv_bias", "model.attention_qkv_bias"},
    {"num_experts", "model.moe.experts", true},
    {"num_experts_per_tok", "model.moe.top_k"},
    {"moe_intermediate_size", "model.moe.ffn", true},
    {"norm_topk_prob", "model.moe.renormalise"},
    {"decoder_sparse_step", "model.moe.interval"},
};
static constexpr Row graniteRows[] = {
    HOCKET_LLAMA_ROWS,
    HOCKET_ATTENTION_BIAS_ROWS,
    {"mlp_bias", "model.mlp_bias"},
    {"embedding_multiplier", "model.embedding_scale"},
    {"residual_multiplier", "model.residual_scale"},
    {"attention_multiplier", "model.attention_scale"},
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

static constexpr Row nemotronRows[] = {
    HOCKET_LAYER_NORM_ROWS("norm_eps"),
    {"head_dim", "model.head_dim"},
    {"partial_rotary_factor", "model.rope.rotary_percent"},
    HOCKET_ATTENTION_BIAS_ROWS,
    {"mlp_bias", "model.mlp_bias"},
};
static constexpr Row stablelmRows[] = {
    HOCKET_LAYER_NORM_ROWS("layer_norm_eps"),
    {"partial_rotary_factor", "model.rope.rotary_percent"},
    {"hidden_dropout", "model.dropout.residual"},
    {"use_qkv_bias", "model.attention_qkv_bias"},
};
static constexpr Row starcoder2Rows[] = {
    HOCKET_LAYER_NORM_ROWS("norm_epsilon"),
    {"sliding_window", "model.sliding_window"},
    {"residual_dropout", "model.dropout.residual"},
    {"embedding_dropout", "model.dropout.embedding"},
    {"use_bias", "model.attention_qkv_bias"},
    {"use_bias", "model.attention_out_bias"},
    {"use_bias", "model.mlp_bias"},
};
static constexpr Row phiRows[] = {
    HOCKET_LAYER_NORM_ROWS("layer_norm_eps"),
    {"partial_rotary_factor", "model.rope.rotary_percent"},
    {"resid_pdrop", "model.dropout.residual"},
    {"embd_pdrop", "model.dropout.embedding"},
};
#undef HOCKET_LAYER_NORM_ROWS

// Rotary positions have other names in newer configs.
static constexpr Row gptNeoxRows[] = {
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

static constexpr Row mamba2Rows[] = {
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
static constexpr Row bambaRows[] = {
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
static constexpr Row nemotronHRows[] = {
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
static constexpr Row bloomRows[] = {
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

static constexpr Row bertRows[] = {
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
static constexpr Row t5Rows[] = {
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
static constexpr ActivationName exactActivations[] = {
    {"gelu", "GELU"},          {"gelu_new", "GELU_TANH"},
    {"relu", "RELU"},          {"gelu_pytorch_tanh", "GELU_TANH"},
    {"relu2", "RELU_SQUARED"}, {"silu", "SILU"},
    {"swish", "SILU"},
};
static constexpr ActivationName plainActivations[] = {
    {"gelu_new", "GELU_TANH"}, {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu", "GELU"},          {"relu", "RELU"},
    {"relu2", "RELU_SQUARED"}, {"silu", "SILU"},
    {"swish", "SILU"},
};
static constexpr ActivationName starcoderActivations[] = {
    {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu_new", "GELU_TANH"},
    {"gelu", "GELU"},
    {"relu", "RELU"},
    {"relu2", "RELU_SQUARED"},
    {"silu", "SILU"},
    {"swish", "SILU"},
};
// Of the convolution, too.
static constexpr ActivationName mamba2Activations[] = {{"silu", "SILU"},
                                                       {"swish", "SILU"}};
static constexpr ActivationName bambaActivations[] = {{"silu", "SWIGLU"},
                                                      {"swish", "SWIGLU"}};
static constexpr ActivationName bloomActivations[] = {
    {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu_new", "GELU_TANH"},
};
// `gated-gelu` alone says the approximation.
static constexpr ActivationName t5Activations[] = {
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
static constexpr ActivationName visionActivations[] = {
    {"quick_gelu", "QUICK_GELU"},
    {"gelu", "GELU"},
    {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu_new", "GELU_TANH"},
    {"relu", "RELU"},
    {"relu2", "RELU_SQUARED"},
    {"silu", "SILU"},
    {"swish", "SILU"},
};
static constexpr ActivationName gatedActivations[] = {
    {"silu", "SWIGLU"},         {"swish", "SWIGLU"},
    {"gelu", "GEGLU"},          {"gelu_pytorch_tanh", "GEGLU_TANH"},
    {"gelu_new", "GEGLU_TANH"},
};

static constexpr char gpt2Base[] =
    "norm: LAYER_NORM norm_eps: 1e-5 activation: GELU_TANH position: LEARNED "
    "bias: true tied_embeddings: true "
    "dropout { attention: 0.1 residual: 0.1 embedding: 0.1 } "
    "initializer { stddev: 0.02 depth_scaled: true }";
static constexpr char llamaBase[] =
    "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false";
static constexpr char languageBase[] =
    "layers: 32 hidden: 4096 heads: 32 ffn: 11008 vocab_size: 32000 "
    "max_positions: 2048 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU "
    "position: ROTARY rope { theta: 10000 } bias: false tied_embeddings: false";
static constexpr char llavaBase[] = "image_token: 32000 vision { }";
static constexpr char mistralBase[] =
    "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false "
    "kv_heads: 8 sliding_window: 4096";
static constexpr char qwen2Base[] =
    "kv_heads: 32 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 10000 } bias: false attention_qkv_bias: true "
    "tied_embeddings: false";
static constexpr char qwen3Base[] =
    "kv_heads: 32 head_dim: 128 norm: RMS_NORM norm_eps: 1e-6 activation: "
    "SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false qk_norm: true tied_embeddings: false";

static constexpr char mixtralBase[] =
    "kv_heads: 8 norm: RMS_NORM norm_eps: 1e-5 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 1000000 } bias: false tied_embeddings: false "
    "moe { top_k: 2 }";
static constexpr char qwen2MoeBase[] =
    "kv_heads: 16 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY rope { theta: 10000 } bias: false attention_qkv_bias: true "
    "tied_embeddings: false "
    "moe { top_k: 4 renormalise: false shared_expert_gate: true }";
static constexpr char qwen3MoeBase[] =
    "kv_heads: 4 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 10000 } bias: false qk_norm: true tied_embeddings: false "
    "moe { top_k: 8 renormalise: false }";

static constexpr char olmo2Base[] =
    "norm: RMS_NORM norm_eps: 1e-5 norm_position: BRANCH activation: SWIGLU "
    "position: ROTARY rope { theta: 500000 } bias: false qk_norm: true "
    "qk_norm_scope: ALL_HEADS tied_embeddings: false";
static constexpr char smollm3Base[] =
    "kv_heads: 4 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 2000000 } bias: false tied_embeddings: true";
static constexpr char gemma2Base[] =
    "kv_heads: 4 head_dim: 256 norm: RMS_NORM norm_eps: 1e-6 norm_position: "
    "BOTH norm_zero_centered: true activation: GEGLU_TANH position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: true "
    "attention_softcap: 50 logit_softcap: 30";
static constexpr char gemma3Base[] =
    "kv_heads: 4 head_dim: 256 norm: RMS_NORM norm_eps: 1e-6 norm_position: "
    "BOTH norm_zero_centered: true activation: GEGLU_TANH position: ROTARY "
    "rope { theta: 1000000 } bias: false qk_norm: true tied_embeddings: true";
static constexpr char graniteBase[] =
    "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false "
    "attention_scale: 1";
static constexpr char nemotronBase[] =
    "norm: LAYER_NORM norm_eps: 1e-5 norm_zero_centered: true activation: "
    "RELU_SQUARED position: ROTARY rope { theta: 10000 rotary_percent: 0.5 } "
    "bias: false norm_bias: true tied_embeddings: false";
static constexpr char stablelmBase[] =
    "kv_heads: 32 norm: LAYER_NORM norm_eps: 1e-5 activation: SWIGLU position: "
    "ROTARY rope { theta: 10000 rotary_percent: 0.25 } bias: false norm_bias: "
    "true tied_embeddings: false";
static constexpr char starcoder2Base[] =
    "kv_heads: 2 norm: LAYER_NORM norm_eps: 1e-5 activation: GELU_TANH "
    "position: ROTARY rope { theta: 10000 } bias: true tied_embeddings: true";

static constexpr char gptNeoxBase[] =
    "norm: LAYER_NORM norm_eps: 1e-5 branches: PARALLEL activation: GELU "
    "position: ROTARY rope { theta: 10000 rotary_percent: 0.25 } bias: true "
    "tied_embeddings: false";
static constexpr char phiBase[] =
    "norm: LAYER_NORM norm_eps: 1e-5 branches: PARALLEL_ONE_NORM activation: "
    "GELU_TANH position: ROTARY rope { theta: 10000 rotary_percent: 0.5 } "
    "bias: true head_bias: true tied_embeddings: false";

// A state has no limit of positions: sequences are as long as mamba_ssm's
// models were trained on, where nobody says.
static constexpr char mamba2Base[] =
    "norm: RMS_NORM norm_eps: 1e-5 activation: SILU position: NONE "
    "max_positions: 2048 bias: false tied_embeddings: false "
    "initializer { stddev: 0.1 } "
    "state_space { heads: 128 groups: 8 norm_groups: 8 }";
static constexpr char bambaBase[] =
    "kv_heads: 8 norm: RMS_NORM norm_eps: 1e-5 activation: SWIGLU position: "
    "ROTARY rope { theta: 10000 rotary_percent: 0.5 } bias: false "
    "tied_embeddings: false state_space { heads: 128 state_size: 256 }";

static constexpr char nemotronHBase[] =
    "kv_heads: 8 head_dim: 128 norm: RMS_NORM norm_eps: 1e-5 activation: "
    "RELU_SQUARED position: NONE bias: false tied_embeddings: false "
    "initializer { depth_scaled: true } state_space { heads: 128 groups: 8 "
    "norm_groups: 8 step_least: 0.001 }";

// No table of positions ends; this is the length that BLOOM was trained with.
static constexpr char bloomBase[] =
    "max_positions: 2048 norm: LAYER_NORM norm_eps: 1e-5 activation: GELU_TANH "
    "position: ALIBI bias: true embedding_norm: true tied_embeddings: true";

static constexpr char bertBase[] =
    "norm: LAYER_NORM norm_eps: 1e-12 norm_position: POST activation: GELU "
    "position: LEARNED bias: true tied_embeddings: true attention_mask: "
    "BIDIRECTIONAL token_types: 2 embedding_norm: true final_norm: false "
    "head_transform: true head_bias: true "
    "dropout { attention: 0.1 residual: 0.1 embedding: 0.1 } "
    "initializer { stddev: 0.02 }";

#define HOCKET_T5_BASE                                                         \
  "norm: RMS_NORM norm_eps: 1e-6 position: RELATIVE bias: false "              \
  "attention_scale: 1 encoder { } relative_position { } "                      \
  "dropout { attention: 0.1 residual: 0.1 embedding: 0.1 mlp: 0.1 "            \
  "final_norm: 0.1 } "
static constexpr char t5Base[] = HOCKET_T5_BASE "activation: RELU";
static constexpr char mt5Base[] = HOCKET_T5_BASE "activation: GEGLU_TANH";
#undef HOCKET_T5_BASE

static constexpr Trait bertTraits[] = {Trait::Encoder};
static constexpr Trait t5Traits[] = {Trait::TwoStacks, Trait::ScaledHead};
static constexpr Trait mt5Traits[] = {Trait::TwoStacks, Trait::OtherName};
static constexpr Trait llavaTraits[] = {Trait::Vision};
static constexpr Trait gpt2Traits[] = {Trait::ScaleSwitch};
static constexpr Trait mixtralTraits[] = {Trait::Experts};
static constexpr Trait qwenTraits[] = {Trait::MixedWindows,
                                       Trait::WindowSwitch};
static constexpr Trait qwen2MoeTraits[] = {
    Trait::MixedWindows, Trait::WindowSwitch, Trait::Experts,
    Trait::DenseLayers, Trait::SharedExpert};
static constexpr Trait qwen3MoeTraits[] = {Trait::MixedWindows,
                                           Trait::WindowSwitch, Trait::Experts,
                                           Trait::DenseLayers};
static constexpr Trait smollm3Traits[] = {
    Trait::MixedWindows, Trait::WindowSwitch, Trait::MixedRope};
static constexpr Trait gemma2Traits[] = {
    Trait::MixedWindows, Trait::AlternateWindow, Trait::HeadScalar};
static constexpr Trait gemma3Traits[] = {Trait::MixedWindows,
                                         Trait::WindowPattern, Trait::LocalRope,
                                         Trait::HeadScalar};
static constexpr Trait graniteTraits[] = {Trait::LogitsScaling};
static constexpr Trait partialTraits[] = {Trait::PartialRotary};
static constexpr Trait stablelmTraits[] = {Trait::PartialRotary,
                                           Trait::ParallelOneNorm};
static constexpr Trait mamba2Traits[] = {Trait::StateSpace,
                                         Trait::ExpandedWidth};
static constexpr Trait nemotronHTraits[] = {Trait::StateSpace,
                                            Trait::LayerLetters};
static constexpr Trait bambaTraits[] = {
    Trait::StateSpace, Trait::ExpandedWidth, Trait::AttentionLayers,
    Trait::PartialRotary, Trait::RopeObject};
static constexpr Trait gptNeoxTraits[] = {Trait::PartialRotary,
                                          Trait::Parallel};

static constexpr Family allFamilies[] = {
    {"gpt2", "GPT2LMHeadModel", gpt2Base, "activation_function", gpt2Rows,
     plainActivations, gpt2Traits},
    {"llama",
     "LlamaForCausalLM",
     llamaBase,
     "hidden_act",
     llamaRows,
     gatedActivations,
     {}},
    {"mistral",
     "MistralForCausalLM",
     mistralBase,
     "hidden_act",
     mistralRows,
     gatedActivations,
     {}},
    {"mixtral", "MixtralForCausalLM", mixtralBase, "hidden_act", mixtralRows,
     gatedActivations, mixtralTraits},
    {"qwen2", "Qwen2ForCausalLM", qwen2Base, "hidden_act", qwen2Rows,
     gatedActivations, qwenTraits},
    {"qwen3", "Qwen3ForCausalLM", qwen3Base, "hidden_act", qwen3Rows,
     gatedActivations, qwenTraits},
    {"qwen2_moe", "Qwen2MoeForCausalLM", qwen2MoeBase, "hidden_act",
     qwen2MoeRows, gatedActivations, qwen2MoeTraits},
    {"qwen3_moe", "Qwen3MoeForCausalLM", qwen3MoeBase, "hidden_act",
     qwen3MoeRows, gatedActivations, qwen3MoeTraits},
    {"smollm3", "SmolLM3ForCausalLM", smollm3Base, "hidden_act", llamaRows,
     gatedActivations, smollm3Traits},
    {"gemma2", "Gemma2ForCausalLM", gemma2Base, "hidden_activation", gemma2Rows,
     gatedActivations, gemma2Traits},
    {"gemma3_text", "Gemma3ForCausalLM", gemma3Base, "hidden_activation",
     gemma3Rows, gatedActivations, gemma3Traits},
    {"olmo2",
     "Olmo2ForCausalLM",
     olmo2Base,
     "hidden_act",
     qwen3Rows,
     gatedActivations,
     {}},
    {"granite", "GraniteForCausalLM", graniteBase, "hidden_act", graniteRows,
     gatedActivations, graniteTraits},
    {"nemotron", "NemotronForCausalLM", nemotronBase, "hidden_act",
     nemotronRows, plainActivations, partialTraits},
    {"stablelm", "StableLmForCausalLM", stablelmBase, "hidden_act",
     stablelmRows, gatedActivations, stablelmTraits},
    {"starcoder2",
     "Starcoder2ForCausalLM",
     starcoder2Base,
     "hidden_act",
     starcoder2Rows,
     starcoderActivations,
     {}},
    {"gpt_neox", "GPTNeoXForCausalLM", gptNeoxBase, "hidden_act", gptNeoxRows,
     exactActivations, gptNeoxTraits},
    {"phi", "PhiForCausalLM", phiBase, "hidden_act", phiRows, plainActivations,
     partialTraits},
    {"bloom",
     "BloomForCausalLM",
     bloomBase,
     "hidden_act",
     bloomRows,
     bloomActivations,
     {}},
    {"mamba2", "Mamba2ForCausalLM", mamba2Base, "hidden_act", mamba2Rows,
     mamba2Activations, mamba2Traits},
    {"bamba", "BambaForCausalLM", bambaBase, "hidden_act", bambaRows,
     bambaActivations, bambaTraits},
    {"nemotron_h", "NemotronHForCausalLM", nemotronHBase, "mlp_hidden_act",
     nemotronHRows, plainActivations, nemotronHTraits},
    {"bert", "BertForMaskedLM", bertBase, "hidden_act", bertRows,
     exactActivations, bertTraits},
    {"t5", "T5ForConditionalGeneration", t5Base, "feed_forward_proj", t5Rows,
     t5Activations, t5Traits},
    {"mt5", "MT5ForConditionalGeneration", mt5Base, "feed_forward_proj", t5Rows,
     t5Activations, mt5Traits},
    {"llava", "LlavaForConditionalGeneration", llavaBase, "hidden_act",
     llavaRows, visionActivations, llavaTraits},
};

static constexpr Family language = {"llama",
                                    "LlamaForCausalLM",
                                    languageBase,
                                    "hidden_act",
                                    languageRows,
                                    gatedActivations,
                                    {}};

const Family &hocket::huggingface::languageFamily() { return language; }

std::span<const Family> hocket::huggingface::families() { return allFamilies; }

const Family *hocket::huggingface::findFamily(std::string_view modelType) {
  for (const Family &family : allFamilies)
    if (modelType == family.modelType)
      return &family;
  return nullptr;
}

std::string hocket::huggingface::supportedFamilies() {
  std::vector<std::string> names;
  for (const Family &family : allFamilies)
    names.push_back(family.modelType);
  return spec::joinAlternatives(names);
}
