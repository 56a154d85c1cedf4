//===- ConfigTest.cpp - Hugging Face configs and the specs they give ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/Families.h"
#include "frontends/huggingface/ReadConfig.h"
#include "frontends/huggingface/WriteConfig.h"
#include "frontends/spec/model/Sizes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace hocket;
using namespace hocket::huggingface;
using spec::LoadedSpec;
using spec::Model;

namespace {

/// A config in the shape its family is published in, the model that a spec
/// would state for it, and its number of parameters where one is published.
struct Published {
  const char *config;
  const char *model;
  int64_t parameters;
};

const Published published[] = {
    {R"({
  "activation_function": "gelu_new",
  "architectures": ["GPT2LMHeadModel"],
  "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1,
  "eos_token_id": 50256, "initializer_range": 0.02,
  "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024,
  "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
  "resid_pdrop": 0.1, "summary_activation": null, "summary_use_proj": true,
  "task_specific_params": {"text-generation": {"do_sample": true}},
  "vocab_size": 50257
})",
     R"(layers: 12 hidden: 768 heads: 12 vocab_size: 50257 max_positions: 1024
        activation: GELU_TANH dropout { attention: 0.1 residual: 0.1
        embedding: 0.1 } initializer { depth_scaled: true })",
     124439808},
    {R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": 128001,
  "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 131072,
  "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
    "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": false,
  "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256
})",
     R"(layers: 32 hidden: 4096 heads: 32 kv_heads: 8 ffn: 14336
        vocab_size: 128256 max_positions: 131072 norm: RMS_NORM
        activation: SWIGLU position: ROTARY rope { theta: 500000 scaling {
        llama3 { factor: 8 low_freq_factor: 1 high_freq_factor: 4
        original_max_positions: 8192 } } } bias: false
        tied_embeddings: false)",
     8030261248},
    {R"({
  "architectures": ["MistralForCausalLM"], "hidden_act": "silu",
  "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
  "max_position_embeddings": 32768, "model_type": "mistral",
  "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
  "sliding_window": 4096, "tie_word_embeddings": false, "vocab_size": 32000
})",
     R"(layers: 32 hidden: 4096 heads: 32 kv_heads: 8 ffn: 14336
        vocab_size: 32000 max_positions: 32768 norm: RMS_NORM
        activation: SWIGLU position: ROTARY sliding_window: 4096 bias: false
        tied_embeddings: false)",
     7241732096},
    {R"({
  "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0,
  "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02,
  "intermediate_size": 4864, "max_position_embeddings": 32768,
  "max_window_layers": 24, "model_type": "qwen2", "num_attention_heads": 14,
  "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
  "rope_theta": 1000000.0, "sliding_window": 32768,
  "tie_word_embeddings": true, "use_sliding_window": false,
  "vocab_size": 151936
})",
     R"(layers: 24 hidden: 896 heads: 14 kv_heads: 2 ffn: 4864
        vocab_size: 151936 max_positions: 32768 norm: RMS_NORM norm_eps: 1e-6
        activation: SWIGLU position: ROTARY rope { theta: 1000000 }
        bias: false attention_qkv_bias: true)",
     494032768},
    {R"({
  "architectures": ["Qwen3ForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "head_dim": 128, "hidden_act": "silu",
  "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
  "max_position_embeddings": 40960, "max_window_layers": 28,
  "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 28,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null,
  "rope_theta": 1000000, "sliding_window": null,
  "tie_word_embeddings": true, "use_sliding_window": false,
  "vocab_size": 151936
})",
     R"(layers: 28 hidden: 1024 heads: 16 kv_heads: 8 head_dim: 128 ffn: 3072
        vocab_size: 151936 max_positions: 40960 norm: RMS_NORM norm_eps: 1e-6
        activation: SWIGLU position: ROTARY rope { theta: 1000000 }
        bias: false qk_norm: true)",
     596049920},
    {R"({
  "architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0,
  "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
  "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 32768,
  "model_type": "mixtral", "num_attention_heads": 32,
  "num_experts_per_tok": 2, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "num_local_experts": 8,
  "output_router_logits": false, "rms_norm_eps": 1e-05,
  "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02,
  "router_jitter_noise": 0.0, "sliding_window": null,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "use_cache": true, "vocab_size": 32000
})",
     R"(layers: 32 hidden: 4096 heads: 32 kv_heads: 8 ffn: 14336
        vocab_size: 32000 max_positions: 32768 norm: RMS_NORM norm_eps: 1e-5
        activation: SWIGLU position: ROTARY rope { theta: 1000000 }
        bias: false tied_embeddings: false moe { experts: 8 top_k: 2 })",
     46702792704},
    {R"({
  "architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "bos_token_id": 151643,
  "decoder_sparse_step": 1, "eos_token_id": 151645, "head_dim": 128,
  "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
  "intermediate_size": 6144, "max_position_embeddings": 40960,
  "max_window_layers": 48, "mlp_only_layers": [],
  "model_type": "qwen3_moe", "moe_intermediate_size": 768,
  "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128,
  "num_experts_per_tok": 8, "num_hidden_layers": 48,
  "num_key_value_heads": 4, "output_router_logits": false,
  "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000.0,
  "router_aux_loss_coef": 0.001, "sliding_window": null,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "use_cache": true, "use_sliding_window": false, "vocab_size": 151936
})",
     R"(layers: 48 hidden: 2048 heads: 32 kv_heads: 4 head_dim: 128 ffn: 6144
        vocab_size: 151936 max_positions: 40960 norm: RMS_NORM norm_eps: 1e-6
        activation: SWIGLU position: ROTARY rope { theta: 1000000 }
        bias: false qk_norm: true tied_embeddings: false
        moe { experts: 128 top_k: 8 ffn: 768 })",
     30532122624},
    {R"({
  "architectures": ["Qwen2MoeForCausalLM"], "attention_dropout": 0.0,
  "bos_token_id": 151643, "decoder_sparse_step": 1, "eos_token_id": 151643,
  "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
  "intermediate_size": 5632, "max_position_embeddings": 8192,
  "max_window_layers": 21, "model_type": "qwen2_moe",
  "moe_intermediate_size": 1408, "norm_topk_prob": false,
  "num_attention_heads": 16, "num_experts": 60, "num_experts_per_tok": 4,
  "num_hidden_layers": 24, "num_key_value_heads": 16,
  "output_router_logits": false, "rms_norm_eps": 1e-06,
  "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001,
  "shared_expert_intermediate_size": 5632, "sliding_window": 32768,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "use_cache": true, "use_sliding_window": false, "vocab_size": 151936
})",
     R"(layers: 24 hidden: 2048 heads: 16 kv_heads: 16 ffn: 5632
        vocab_size: 151936 max_positions: 8192 norm: RMS_NORM norm_eps: 1e-6
        activation: SWIGLU position: ROTARY rope { theta: 1000000 }
        bias: false attention_qkv_bias: true tied_embeddings: false
        moe { experts: 60 top_k: 4 ffn: 1408 renormalise: false
              shared_experts: 4 shared_expert_gate: true })",
     14315784192},
    {R"({
  "architectures": ["SmolLM3ForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 2048,
  "initializer_range": 0.02, "intermediate_size": 11008,
  "max_position_embeddings": 65536, "mlp_bias": false,
  "model_type": "smollm3", "no_rope_layer_interval": 4,
  "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1,
    1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0],
  "num_attention_heads": 16, "num_hidden_layers": 36,
  "num_key_value_heads": 4, "pad_token_id": 128004, "rms_norm_eps": 1e-06,
  "rope_scaling": null, "rope_theta": 5000000.0, "sliding_window": null,
  "tie_word_embeddings": true, "use_sliding_window": false,
  "vocab_size": 128256
})",
     R"(layers: 36 hidden: 2048 heads: 16 kv_heads: 4 ffn: 11008
        vocab_size: 128256 max_positions: 65536 norm: RMS_NORM norm_eps: 1e-6
        activation: SWIGLU position: ROTARY rope { theta: 5000000 }
        bias: false layer_kinds { name: "full_attention" }
        layer_kinds { name: "full_attention_nope" position: NONE }
        pattern: "full_attention*3 full_attention_nope")",
     3075098624},
    {R"({
  "architectures": ["Gemma2ForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "attn_logit_softcapping": 50.0,
  "cache_implementation": "hybrid", "final_logit_softcapping": 30.0,
  "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
  "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304,
  "initializer_range": 0.02, "intermediate_size": 9216,
  "max_position_embeddings": 8192, "model_type": "gemma2",
  "num_attention_heads": 8, "num_hidden_layers": 26,
  "num_key_value_heads": 4, "query_pre_attn_scalar": 256,
  "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "sliding_window": 4096,
  "vocab_size": 256000
})",
     R"(layers: 26 hidden: 2304 heads: 8 kv_heads: 4 head_dim: 256 ffn: 9216
        vocab_size: 256000 max_positions: 8192 norm: RMS_NORM norm_eps: 1e-6
        norm_position: BOTH norm_zero_centered: true activation: GEGLU_TANH
        position: ROTARY rope { theta: 10000 } bias: false
        attention_scale: 0.0625 embedding_scale: 48
        attention_softcap: 50 logit_softcap: 30
        layer_kinds { name: "sliding_attention" sliding_window: 4096 }
        layer_kinds { name: "full_attention" }
        pattern: "sliding_attention full_attention")",
     2614341888},
    {R"({
  "architectures": ["Gemma3ForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "attn_logit_softcapping": null,
  "final_logit_softcapping": null, "head_dim": 256,
  "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152,
  "initializer_range": 0.02, "intermediate_size": 6912,
  "max_position_embeddings": 32768, "model_type": "gemma3_text",
  "num_attention_heads": 4, "num_hidden_layers": 26,
  "num_key_value_heads": 1, "query_pre_attn_scalar": 256,
  "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000,
  "rope_scaling": null, "rope_theta": 1000000, "sliding_window": 512,
  "sliding_window_pattern": 6, "vocab_size": 262144
})",
     R"(layers: 26 hidden: 1152 heads: 4 kv_heads: 1 head_dim: 256 ffn: 6912
        vocab_size: 262144 max_positions: 32768 norm: RMS_NORM norm_eps: 1e-6
        norm_position: BOTH norm_zero_centered: true activation: GEGLU_TANH
        position: ROTARY rope { theta: 1000000 } bias: false qk_norm: true
        attention_scale: 0.0625 embedding_scale: 33.941125496954278
        layer_kinds { name: "sliding_attention" sliding_window: 512
        rope { theta: 10000 } } layer_kinds { name: "full_attention" }
        pattern: "sliding_attention*5 full_attention")",
     999885952},
    {R"({
  "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0,
  "eos_token_id": 0, "hidden_act": "gelu", "hidden_size": 512,
  "initializer_range": 0.02, "intermediate_size": 2048,
  "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
  "model_type": "gpt_neox", "num_attention_heads": 8,
  "num_hidden_layers": 6, "rotary_emb_base": 10000, "rotary_pct": 0.25,
  "tie_word_embeddings": false, "use_parallel_residual": true,
  "vocab_size": 50304
})",
     R"(layers: 6 hidden: 512 heads: 8 vocab_size: 50304 max_positions: 2048
        branches: PARALLEL activation: GELU position: ROTARY rope { theta:
        10000 rotary_percent: 0.25 } tied_embeddings: false)",
     70426624},
    {R"({
  "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0,
  "embd_pdrop": 0.0, "hidden_act": "gelu_new", "hidden_size": 2560,
  "initializer_range": 0.02, "intermediate_size": 10240,
  "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
  "model_type": "phi", "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 32, "partial_rotary_factor": 0.4,
  "qk_layernorm": false, "resid_pdrop": 0.1, "rope_scaling": null,
  "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 51200
})",
     R"(layers: 32 hidden: 2560 heads: 32 vocab_size: 51200 max_positions: 2048
        branches: PARALLEL_ONE_NORM activation: GELU_TANH position: ROTARY
        rope { theta: 10000 rotary_percent: 0.4 } tied_embeddings: false
        head_bias: true dropout { residual: 0.1 })",
     2779683840},
    {R"({
  "architectures": ["Mamba2ForCausalLM"], "bos_token_id": 1,
  "chunk_size": 256, "conv_kernel": 4, "eos_token_id": 2, "expand": 2,
  "head_dim": 64, "hidden_act": "silu", "hidden_size": 4096,
  "initializer_range": 0.1, "intermediate_size": 8192,
  "layer_norm_epsilon": 1e-05, "model_type": "mamba2", "n_groups": 8,
  "norm_before_gate": true, "num_heads": 128, "num_hidden_layers": 64,
  "pad_token_id": 0, "rescale_prenorm_residual": false,
  "residual_in_fp32": true, "rms_norm": true, "state_size": 128,
  "tie_word_embeddings": false, "time_step_floor": 0.0001,
  "time_step_init_scheme": "random", "time_step_limit": [0.0, Infinity],
  "time_step_max": 0.1, "time_step_min": 0.001, "time_step_rank": 256,
  "torch_dtype": "bfloat16", "use_bias": false, "use_cache": true,
  "use_conv_bias": true, "vocab_size": 32768
})",
     R"(layers: 64 hidden: 4096 vocab_size: 32768 max_positions: 2048
        norm: RMS_NORM activation: SILU position: NONE bias: false
        tied_embeddings: false initializer { stddev: 0.1 }
        state_space { groups: 8 norm_groups: 8 }
        layer_kinds { name: "mamba" mixer: MAMBA2
                      feed_forward: NO_FEED_FORWARD }
        pattern: "mamba")",
     7285403648},
    {R"({
  "architectures": ["BambaForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "attn_layer_indices": [9, 18, 27],
  "attn_rotary_emb": 64, "bos_token_id": 128000, "eos_token_id": 128001,
  "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "mamba_chunk_size": 256,
  "mamba_conv_bias": true, "mamba_d_conv": 4, "mamba_d_head": "auto",
  "mamba_d_state": 128, "mamba_expand": 2, "mamba_n_groups": 1,
  "mamba_n_heads": 128, "mamba_proj_bias": false,
  "max_position_embeddings": 262144, "mlp_bias": false,
  "model_type": "bamba", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8,
  "num_logits_to_keep": 1, "pad_token_id": 0, "rms_norm_eps": 1e-05,
  "rope_scaling": null, "rope_theta": 10000.0,
  "time_step_limit": [0.0, {"__float__": "Infinity"}],
  "tie_word_embeddings": false, "use_cache": true, "vocab_size": 128256,
  "z_loss_coefficient": 0.0
})",
     R"(layers: 32 hidden: 4096 heads: 32 kv_heads: 8 ffn: 14336
        vocab_size: 128256 max_positions: 262144 norm: RMS_NORM
        activation: SWIGLU position: ROTARY rope { rotary_percent: 0.5 }
        bias: false tied_embeddings: false state_space { }
        layer_kinds { name: "mamba" mixer: MAMBA2 }
        layer_kinds { name: "full_attention" }
        pattern: "mamba*9 full_attention mamba*8 full_attention mamba*8 "
                 "full_attention")",
     9780235392},
    {R"({
  "architectures": ["NemotronHForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "attention_head_dim": 128, "bos_token_id": 1,
  "chunk_size": 128, "conv_kernel": 4, "eos_token_id": 2, "expand": 2,
  "hidden_dropout": 0.0, "hidden_size": 4096, "hybrid_override_pattern":
    "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
  "initializer_range": 0.02, "intermediate_size": 21504,
  "layer_norm_epsilon": 1e-05, "mamba_head_dim": 64,
  "mamba_hidden_act": "silu", "mamba_num_heads": 128,
  "mamba_proj_bias": false, "max_position_embeddings": 8192,
  "mlp_bias": false, "mlp_hidden_act": "relu2",
  "model_type": "nemotron_h", "n_groups": 8, "num_attention_heads": 32,
  "num_hidden_layers": 52, "num_key_value_heads": 8,
  "num_logits_to_keep": 1, "pad_token_id": 0,
  "rescale_prenorm_residual": true, "residual_in_fp32": false,
  "rms_norm_eps": 1e-05, "sliding_window": null, "ssm_state_size": 128,
  "tie_word_embeddings": false, "time_step_floor": 0.0001,
  "time_step_limit": [0.0, Infinity], "time_step_max": 0.1,
  "time_step_min": 0.001, "time_step_rank": 256, "use_bias": false,
  "use_cache": true, "use_conv_bias": true, "vocab_size": 131072
})",
     R"(layers: 52 hidden: 4096 heads: 32 kv_heads: 8 ffn: 21504
        vocab_size: 131072 max_positions: 8192 norm: RMS_NORM
        activation: RELU_SQUARED position: NONE bias: false
        tied_embeddings: false initializer { depth_scaled: true }
        state_space { groups: 8 norm_groups: 8 step_least: 0.001 }
        layer_kinds { name: "mamba" mixer: MAMBA2
                      feed_forward: NO_FEED_FORWARD }
        layer_kinds { name: "mlp" mixer: NO_MIXER }
        layer_kinds { name: "full_attention" feed_forward: NO_FEED_FORWARD }
        pattern: "mamba mlp mamba mlp mamba mlp mamba full_attention mlp "
                 "mamba mlp mamba mlp mamba mlp mamba mlp mamba "
                 "full_attention mlp mamba mlp mamba mlp mamba mlp mamba mlp "
                 "mamba full_attention mlp mamba mlp mamba mlp mamba mlp "
                 "mamba mlp mamba full_attention mlp mamba mlp mamba mlp")",
     8100852736},
    {R"({"attention_dropout": 0.0, "hidden_dropout": 0.0, "n_embed": 1024,
  "layer_norm_epsilon": 1e-05, "model_type": "bloom", "n_layer": 24,
  "num_attention_heads": 16, "seq_length": 2048, "vocab_size": 250880})",
     R"(layers: 24 hidden: 1024 heads: 16 vocab_size: 250880 max_positions: 2048
        activation: GELU_TANH position: ALIBI embedding_norm: true)",
     559214592},
    {R"({
  "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
  "gradient_checkpointing": false, "hidden_act": "gelu",
  "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
  "intermediate_size": 3072, "layer_norm_eps": 1e-12,
  "max_position_embeddings": 512, "model_type": "bert",
  "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0,
  "position_embedding_type": "absolute", "type_vocab_size": 2,
  "use_cache": true, "vocab_size": 30522
})",
     R"(layers: 12 hidden: 768 heads: 12 vocab_size: 30522 max_positions: 512
        norm_eps: 1e-12 norm_position: POST attention_mask: BIDIRECTIONAL
        token_types: 2 embedding_norm: true final_norm: false
        head_transform: true head_bias: true dropout { attention: 0.1
        residual: 0.1 embedding: 0.1 })",
     109514298},
    {R"({
  "architectures": ["BertForPreTraining"], "hidden_act": "gelu",
  "hidden_size": 1024, "intermediate_size": 4096, "model_type": "bert",
  "max_position_embeddings": 512, "num_attention_heads": 16,
  "num_hidden_layers": 24, "vocab_size": 30522
})",
     R"(layers: 24 hidden: 1024 heads: 16 vocab_size: 30522 max_positions: 512
        norm_eps: 1e-12 norm_position: POST attention_mask: BIDIRECTIONAL
        token_types: 2 embedding_norm: true final_norm: false
        head_transform: true head_bias: true sentence_head: true dropout {
        attention: 0.1 residual: 0.1 embedding: 0.1 })",
     336226108},
};

LoadedSpec read(const std::string &config) {
  StatusOr<LoadedSpec> loaded = parseConfig(config, "config.json");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : LoadedSpec();
}

LoadedSpec readSpec(const std::string &model) {
  bool seesAll = model.find("BIDIRECTIONAL") != std::string::npos;
  StatusOr<LoadedSpec> loaded = spec::parseSpec(
      "model { " + model + " }" + (seesAll ? "training { masked_lm { } }" : ""),
      "a.textproto");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : LoadedSpec();
}

class PublishedConfigs : public testing::TestWithParam<Published> {};

TEST_P(PublishedConfigs, GiveTheSpecOneWouldWrite) {
  LoadedSpec fromConfig = read(GetParam().config);
  EXPECT_EQ(fromConfig.spec.model().DebugString(),
            readSpec(GetParam().model).spec.model().DebugString());
  EXPECT_EQ(parameterCount(fromConfig.spec.model()).get(),
            GetParam().parameters);
}

TEST_P(PublishedConfigs, AreWrittenAsTheyAreRead) {
  spec::Spec spec = read(GetParam().config).spec;
  const Model &model = spec.model();
  StatusOr<std::string> written =
      writeConfig(model, "float32", {}, spec.name());
  ASSERT_TRUE(written.ok()) << written.status().message();
  Model again = read(*written).spec.model();
  again.mutable_initializer()->CopyFrom(model.initializer());
  EXPECT_EQ(again.DebugString(), model.DebugString());
}

TEST_P(PublishedConfigs, KeepTheirFamily) {
  std::string config = GetParam().config;
  spec::Spec spec = read(config).spec;
  StatusOr<std::string> family = familyOf(spec.model(), spec.name());
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_NE(config.find("\"model_type\": \"" + *family + "\""),
            std::string::npos)
      << *family;
}

INSTANTIATE_TEST_SUITE_P(All, PublishedConfigs, testing::ValuesIn(published));

const char *const small =
    "\"hidden_size\": 8, \"num_attention_heads\": 2, \"vocab_size\": 5, "
    "\"num_hidden_layers\": 2, \"intermediate_size\": 8, "
    "\"max_position_embeddings\": 4";

std::string smallConfig(const std::string &type, const std::string &more) {
  return "{\"model_type\": \"" + type + "\", " + small + more + "}";
}

TEST(Config, AbsentKeysHaveTheFamilysDefaults) {
  Model mistral =
      read(smallConfig("mistral", ", \"num_key_value_heads\": 2")).spec.model();
  EXPECT_EQ(mistral.sliding_window(), 4096);
  EXPECT_FALSE(mistral.tied_embeddings());
  Model none = read(smallConfig("mistral", ", \"num_key_value_heads\": 1, "
                                           "\"sliding_window\": null"))
                   .spec.model();
  EXPECT_FALSE(none.has_sliding_window());
  EXPECT_EQ(none.kv_heads(), 1);
}

TEST(Config, NewerRopeParameters) {
  Model model =
      read(smallConfig("llama", ", \"rope_parameters\": {\"rope_theta\": 7, "
                                "\"rope_type\": \"linear\", \"factor\": 2}"))
          .spec.model();
  EXPECT_EQ(model.rope().theta(), 7);
  EXPECT_EQ(model.rope().scaling().linear().factor(), 2);
}

TEST(Config, AWindowInEveryLayer) {
  Model model = read(smallConfig("qwen2", ", \"num_key_value_heads\": 2, "
                                          "\"use_sliding_window\": true, "
                                          "\"max_window_layers\": 0, "
                                          "\"sliding_window\": 3, "
                                          "\"layer_types\": "
                                          "[\"sliding_attention\", "
                                          "\"sliding_attention\"]"))
                    .spec.model();
  EXPECT_EQ(model.sliding_window(), 3);
  StatusOr<std::string> family = familyOf(model);
  ASSERT_TRUE(family.ok());
  EXPECT_EQ(*family, "qwen2");
}

TEST(Config, DenseLayersBeforeTheExperts) {
  Model model = read(smallConfig("qwen3_moe", ", \"num_key_value_heads\": 1, "
                                              "\"num_local_experts\": 4, "
                                              "\"num_experts_per_tok\": 2, "
                                              "\"moe_intermediate_size\": 3, "
                                              "\"mlp_only_layers\": [0]"))
                    .spec.model();
  EXPECT_EQ(model.moe().first_dense_layers(), 1);
  EXPECT_EQ(model.moe().experts(), 4);
  EXPECT_FALSE(model.moe().renormalise());
  StatusOr<std::string> written = writeConfig(model);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(read(*written).spec.model().moe().DebugString(),
            model.moe().DebugString());
}

TEST(Config, WhatBalancesOnlyInTrainingDoesNotMatter) {
  Model model = readSpec("layers: 1 hidden: 8 heads: 2 vocab_size: 5 "
                         "max_positions: 4 norm: RMS_NORM position: ROTARY "
                         "activation: SWIGLU bias: false ffn: 6 moe { experts: "
                         "4 aux_loss: 0.5 z_loss: 0.5 }")
                    .spec.model();
  StatusOr<std::string> family = familyOf(model);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "mixtral");
  model.mutable_moe()->set_capacity_factor(1);
  EXPECT_EQ(familyOf(model).status().message(),
            "H6: no family of Hugging Face that is supported (" +
                supportedFamilies() +
                ") "
                "expresses this model; "
                "the nearest, mixtral, cannot express model.moe");
}

TEST(Config, AnEncoderThatIsNoBertIsRefused) {
  for (auto [more, what] :
       {std::pair{"norm: RMS_NORM position: ROTARY bias: false",
                  "model.norm, model.norm_position"},
        {"moe { experts: 4 } mlp_bias: false", "model.norm_position"}}) {
    Model model = readSpec("layers: 1 hidden: 8 heads: 2 vocab_size: 200 "
                           "max_positions: 16 attention_mask: BIDIRECTIONAL " +
                           std::string(more))
                      .spec.model();
    StatusOr<std::string> family = familyOf(model);
    ASSERT_FALSE(family.ok());
    EXPECT_NE(family.status().message().find(
                  std::string("the nearest, bert, cannot express ") + what),
              std::string::npos)
        << family.status().message();
  }
}

TEST(Config, TheVocabularyNamesTheTokensOfMaskedSamples) {
  std::string folder = testing::TempDir() + "hocket_bert_config";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json")
      << R"({"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2,
             "vocab_size": 6, "num_hidden_layers": 2, "intermediate_size": 8,
             "max_position_embeddings": 16})";
  std::ofstream(folder + "/vocab.txt") << "[MASK]\nword\n[PAD]\r\n[SEP]\n";
  EXPECT_EQ(loadConfig(folder).status().message(),
            folder + "/config.json: S81: training.masked_lm.cls_token is 101; "
                     "write a token of the vocabulary, below 6");
  std::ofstream(folder + "/vocab.txt")
      << "[MASK]\nword\n[PAD]\r\n[SEP]\n##s\n[CLS]\n";
  StatusOr<LoadedSpec> loaded = loadConfig(folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const spec::MaskedLm &masked = loaded->spec.training().masked_lm();
  EXPECT_EQ(masked.mask_token(), 0);
  EXPECT_EQ(masked.pad_token(), 2);
  EXPECT_EQ(masked.sep_token(), 3);
  EXPECT_EQ(masked.cls_token(), 5);
}

TEST(Config, LocationsPointIntoTheConfig) {
  StatusOr<LoadedSpec> loaded = parseConfig(
      "{\n  \"model_type\": \"llama\",\n  " + std::string(small) + "\n}",
      "m/config.json");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->locations.find("model.hidden").str(), "m/config.json:3:3");
  EXPECT_EQ(loaded->locations.find("model.heads").str(), "m/config.json:3:21");
}

TEST(Config, FoldersAndOverrides) {
  std::string folder = testing::TempDir() + "hocket_config";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << smallConfig("llama", "");
  StatusOr<LoadedSpec> loaded =
      loadConfig(folder, {"", {"training.steps=3", "model.layers=1"}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->spec.model().layers(), 1);
  EXPECT_EQ(loaded->spec.training().sequence_length(), 4);
  StatusOr<LoadedSpec> absent = loadConfig(folder + "/absent");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.status().message(),
            folder + "/absent/config.json: there is no such file");
  std::filesystem::create_directories(folder + "/other");
  std::ofstream(folder + "/other/spec.textproto") << "name: 'other'";
  EXPECT_EQ(loadConfig(folder + "/other").status().message(),
            folder + "/other/config.json: there is no such file; is it " +
                folder + "/other/spec.textproto that you mean?");
}

TEST(Config, WhatNoFamilyExpressesIsRefused) {
  struct Case {
    const char *more;
    const char *message;
  };
  const std::string prefix =
      "H6: no family of Hugging Face that is supported (" +
      supportedFamilies() +
      ") "
      "expresses this model; the nearest, ";
  const Case cases[] = {
      {"norm_position: POST", "gpt2, cannot express model.norm_position"},
      {"position: NONE", "gpt2, cannot express model.position"},
      {"norm: RMS_NORM position: ROTARY activation: SWIGLU bias: false "
       "qk_norm: true attention_scale: 0.25 sliding_window: 2 mlp_bias: true",
       "qwen3, cannot express model.mlp_bias or model.attention_scale"},
  };
  for (const Case &c : cases) {
    Model model = readSpec("layers: 1 hidden: 8 heads: 2 vocab_size: 5 "
                           "max_positions: 4 " +
                           std::string(c.more))
                      .spec.model();
    StatusOr<std::string> written = writeConfig(model);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.status().message(), prefix + c.message);
  }
}

Model readStates(const std::string &more) {
  return readSpec("layers: 2 hidden: 8 vocab_size: 5 max_positions: 4 norm: "
                  "RMS_NORM bias: false " +
                  more)
      .spec.model();
}

TEST(Config, SizesOfWhatAStateSpaceModelLacksDoNotMatter) {
  Model model = readStates(
      "heads: 4 kv_heads: 2 ffn: 9 qk_norm: true activation: GEGLU position: "
      "ROTARY sliding_window: 2 state_space { head_dim: 4 step_least: 0.25 } "
      "layer_kinds { name: 'm' mixer: MAMBA2 feed_forward: NO_FEED_FORWARD } "
      "pattern: 'm'");
  StatusOr<std::string> written = writeConfig(model);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_NE(written->find("\"model_type\": \"mamba2\""), std::string::npos);
  Model again = read(*written).spec.model();
  EXPECT_EQ(again.state_space().DebugString(),
            model.state_space().DebugString());
  Model hybrid = readStates("state_space { head_dim: 4 } activation: SWIGLU "
                            "position: NONE layer_kinds { name: 'm' mixer: "
                            "MAMBA2 } pattern: 'm'");
  StatusOr<std::string> family = familyOf(hybrid);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "bamba");
  // Nemotron-H does not say the width a second time.
  Model narrow = readStates(
      "state_space { head_dim: 3 heads: 4 } position: "
      "NONE tied_embeddings: false layer_kinds { name: 'm' mixer: MAMBA2 "
      "feed_forward: NO_FEED_FORWARD } pattern: 'm'");
  family = familyOf(narrow);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "nemotron_h");
}

TEST(Config, StateSpacesThatNoFamilyHasAreRefused) {
  const std::string alone = "layer_kinds { name: 'm' mixer: MAMBA2 "
                            "feed_forward: NO_FEED_FORWARD } pattern: 'm'";
  const std::string mixed =
      "heads: 2 activation: SWIGLU state_space { head_dim: 4 } layer_kinds { "
      "name: 'm' mixer: MAMBA2 } layer_kinds { name: 'a' ";
  for (const auto &[more, what] : {
           std::pair{"position: NONE state_space { head_dim: 4 norm_groups: 2 "
                     "} " +
                         alone,
                     "mamba2, cannot express model.state_space"},
           {"position: LEARNED state_space { head_dim: 4 } " + alone,
            "mamba2, cannot express model.max_positions or model.position"},
           {"position: ROTARY " + mixed +
                "feed_forward: NO_FEED_FORWARD } pattern: 'm a'",
            "bamba, cannot express model.layer_kinds"},
           {"position: NONE " + mixed + "} pattern: 'm a'",
            "bamba, cannot express model.layer_kinds"},
           {"position: ROTARY " + mixed +
                "feed_forward: EXPERTS } moe { experts: 4 } pattern: 'm a'",
            "bamba, cannot express model.moe or model.layer_kinds"},
       }) {
    Model model = readStates(more);
    StatusOr<std::string> family = familyOf(model);
    ASSERT_FALSE(family.ok()) << *family;
    EXPECT_NE(
        family.status().message().find("the nearest, " + std::string(what)),
        std::string::npos)
        << family.status().message();
  }
}

TEST(Config, PaddingAndInitialisersDoNotMatter) {
  Model model = readSpec("layers: 1 hidden: 8 heads: 2 vocab_size: 5 "
                         "max_positions: 4 vocab_padding: 8 dropout { "
                         "residual: 0.5 } initializer { stddev: 1 }")
                    .spec.model();
  StatusOr<std::string> family = familyOf(model);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "gpt2");
}

} // namespace
