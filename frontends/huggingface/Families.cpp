//===- Families.cpp - Model families of Hugging Face ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/Families.h"

#include "frontends/spec/FieldNames.h"

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

static constexpr Row llamaRows[] = {
    HOCKET_LLAMA_ROWS,
    {"attention_bias", "model.attention_qkv_bias"},
    {"attention_bias", "model.attention_out_bias"},
    {"mlp_bias", "model.mlp_bias"},
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
static constexpr Row qwen3Rows[] = {
    HOCKET_LLAMA_ROWS,
    {"attention_bias", "model.attention_qkv_bias"},
    {"attention_bias", "model.attention_out_bias"},
};
// The number of experts has two names; published configs have the first.
static constexpr Row qwen3MoeRows[] = {
    HOCKET_LLAMA_ROWS,
    {"attention_bias", "model.attention_qkv_bias"},
    {"attention_bias", "model.attention_out_bias"},
    {"num_experts", "model.moe.experts"},
    {"num_local_experts", "model.moe.experts"},
    {"num_experts_per_tok", "model.moe.top_k"},
    {"moe_intermediate_size", "model.moe.ffn", true},
    {"norm_topk_prob", "model.moe.renormalise"},
    {"decoder_sparse_step", "model.moe.interval"},
};
#undef HOCKET_LLAMA_ROWS

// The first name of each value is the one written.
static constexpr ActivationName plainActivations[] = {
    {"gelu_new", "GELU_TANH"}, {"gelu_pytorch_tanh", "GELU_TANH"},
    {"gelu", "GELU"},          {"relu", "RELU"},
    {"relu2", "RELU_SQUARED"}, {"silu", "SILU"},
    {"swish", "SILU"},
};
static constexpr ActivationName gatedActivations[] = {
    {"silu", "SWIGLU"}, {"swish", "SWIGLU"}, {"gelu", "GEGLU"}};

static constexpr char gpt2Base[] =
    "norm: LAYER_NORM norm_eps: 1e-5 activation: GELU_TANH position: LEARNED "
    "bias: true tied_embeddings: true "
    "dropout { attention: 0.1 residual: 0.1 embedding: 0.1 } "
    "initializer { stddev: 0.02 depth_scaled: true }";
static constexpr char llamaBase[] =
    "norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: ROTARY "
    "rope { theta: 10000 } bias: false tied_embeddings: false";
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
static constexpr char qwen3MoeBase[] =
    "kv_heads: 4 norm: RMS_NORM norm_eps: 1e-6 activation: SWIGLU position: "
    "ROTARY "
    "rope { theta: 10000 } bias: false qk_norm: true tied_embeddings: false "
    "moe { top_k: 8 renormalise: false }";

static constexpr Family allFamilies[] = {
    {"gpt2", "GPT2LMHeadModel", gpt2Base, "activation_function", gpt2Rows,
     plainActivations, false, false},
    {"llama", "LlamaForCausalLM", llamaBase, "hidden_act", llamaRows,
     gatedActivations, false, false},
    {"mistral", "MistralForCausalLM", mistralBase, "hidden_act", mistralRows,
     gatedActivations, false, false},
    {"mixtral", "MixtralForCausalLM", mixtralBase, "hidden_act", mixtralRows,
     gatedActivations, false, true},
    {"qwen2", "Qwen2ForCausalLM", qwen2Base, "hidden_act", qwen2Rows,
     gatedActivations, true, false},
    {"qwen3", "Qwen3ForCausalLM", qwen3Base, "hidden_act", qwen3Rows,
     gatedActivations, true, false},
    {"qwen3_moe", "Qwen3MoeForCausalLM", qwen3MoeBase, "hidden_act",
     qwen3MoeRows, gatedActivations, true, true},
};

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
