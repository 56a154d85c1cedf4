//===- PublishedConfigTest.cpp - Configs as families publish them ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/WriteConfig.h"
#include "frontends/spec/model/Sizes.h"
#include "test/frontends/huggingface/ReadModel.h"

using namespace hocket;
using namespace hocket::huggingface;
using namespace hocket::test;
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
  "attention_bias": false, "attention_dropout": 0.0, "head_dim": 256,
  "hidden_act": "gelu", "hidden_activation": null, "hidden_size": 2048,
  "intermediate_size": 16384, "max_position_embeddings": 8192,
  "model_type": "gemma", "num_attention_heads": 8,
  "num_hidden_layers": 18, "num_key_value_heads": 1,
  "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 10000.0,
  "vocab_size": 256000
})",
     R"(layers: 18 hidden: 2048 heads: 8 kv_heads: 1 head_dim: 256 ffn: 16384
        vocab_size: 256000 max_positions: 8192 norm: RMS_NORM
        norm_eps: 1e-6 norm_zero_centered: true activation: GEGLU_TANH
        position: ROTARY bias: false embedding_scale:
        45.254833995939045)",
     2506172416},
    {R"({
  "attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu",
  "hidden_size": 4096, "intermediate_size": 11008,
  "max_position_embeddings": 65536, "model_type": "olmo3",
  "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 32, "rms_norm_eps": 1e-06,
  "rope_scaling": {"attention_factor": 1.2079441541679836, "beta_fast":
  32, "beta_slow": 1, "factor": 8.0, "original_max_position_embeddings":
  8192, "rope_type": "yarn"}, "rope_theta": 500000,
  "sliding_window": 4096, "tie_word_embeddings": false,
  "vocab_size": 100278
})",
     R"(layers: 32 hidden: 4096 heads: 32 ffn: 11008 vocab_size: 100278
        max_positions: 65536 norm: RMS_NORM norm_eps: 1e-6
        norm_position: BRANCH activation: SWIGLU position: ROTARY rope
        { theta: 500000 scaling { yarn { factor: 8 attention_factor:
        1.2079441541679836 original_max_positions: 8192 } } } bias:
        false qk_norm: true qk_norm_scope: ALL_HEADS tied_embeddings:
        false layer_kinds { name: "sliding_attention" sliding_window:
        4096 rope { theta: 500000 } } layer_kinds { name:
        "full_attention" } pattern: "sliding_attention*3 full_attention")",
     7298011136},
    {R"({
  "attention_bias": false, "attention_dropout": 0.0, "clip_qkv": null,
  "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 1024,
  "max_position_embeddings": 4096, "model_type": "olmoe",
  "norm_topk_prob": false, "num_attention_heads": 16, "num_experts": 64,
  "num_experts_per_tok": 8, "num_hidden_layers": 16,
  "num_key_value_heads": 16, "rms_norm_eps": 1e-05, "rope_scaling": null,
  "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 50304
})",
     R"(layers: 16 hidden: 2048 heads: 16 ffn: 1024 vocab_size: 50304
        max_positions: 4096 norm: RMS_NORM activation: SWIGLU
        position: ROTARY bias: false qk_norm: true qk_norm_scope:
        ALL_HEADS tied_embeddings: false moe { experts: 64 top_k: 8
        renormalise: false })",
     6919161856},
    {R"({
  "attention_dropout": 0.0, "head_dim": 128, "hidden_act": "silu",
  "hidden_size": 5120, "intermediate_size": 27392,
  "max_position_embeddings": 131072, "model_type": "exaone4",
  "num_attention_heads": 40, "num_hidden_layers": 64,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 16.0, "high_freq_factor": 4.0,
  "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
  "rope_type": "llama3", "rope_theta": 1000000}, "rope_theta": 1000000,
  "sliding_window": 4096, "sliding_window_pattern": 4,
  "tie_word_embeddings": false, "vocab_size": 102400
})",
     R"(layers: 64 hidden: 5120 heads: 40 kv_heads: 8 ffn: 27392 vocab_size:
        102400 max_positions: 131072 norm: RMS_NORM norm_position:
        BRANCH activation: SWIGLU position: ROTARY rope { theta:
        1000000 scaling { llama3 { factor: 16 low_freq_factor: 1
        high_freq_factor: 4 original_max_positions: 8192 } } } bias:
        false qk_norm: true tied_embeddings: false layer_kinds { name:
        "sliding_attention" sliding_window: 4096 } layer_kinds { name:
        "full_attention_nope" position: NONE } pattern:
        "sliding_attention*3 full_attention_nope")",
     32003216384},
    {R"({
  "attention_bias": false, "attention_dropout": 0.0, "embd_pdrop": 0.0,
  "hidden_act": "silu", "hidden_size": 3072, "intermediate_size": 8192,
  "max_position_embeddings": 4096, "model_type": "phi3",
  "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 32, "original_max_position_embeddings": 4096,
  "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": null,
  "rope_theta": 10000.0, "sliding_window": 2047,
  "tie_word_embeddings": false, "vocab_size": 32064
})",
     R"(layers: 32 hidden: 3072 heads: 32 ffn: 8192 vocab_size: 32064
        max_positions: 4096 norm: RMS_NORM activation: SWIGLU
        position: ROTARY sliding_window: 2047 bias: false
        tied_embeddings: false)",
     3821079552},
    {R"({
  "attention_bias": true, "attention_dropout": 0.1,
  "attention_out_bias": false, "head_dim": 128, "hidden_act": "silu",
  "hidden_size": 5120, "intermediate_size": 27648,
  "max_position_embeddings": 524288, "mlp_bias": false,
  "model_type": "seed_oss", "num_attention_heads": 80,
  "num_hidden_layers": 64, "num_key_value_heads": 8,
  "residual_dropout": 0.1, "rms_norm_eps": 1e-06,
  "rope_scaling": {"rope_type": "default", "rope_theta": 10000000.0},
  "rope_theta": 10000000.0, "tie_word_embeddings": false,
  "vocab_size": 155136
})",
     R"(layers: 64 hidden: 5120 heads: 80 kv_heads: 8 head_dim: 128 ffn: 27648
        vocab_size: 155136 max_positions: 524288 norm: RMS_NORM
        norm_eps: 1e-6 activation: SWIGLU position: ROTARY rope {
        theta: 10000000 } bias: false attention_qkv_bias: true
        tied_embeddings: false dropout { attention: 0.1 residual: 0.1
        })",
     36151104512},
    {R"({
  "attention_bias": false, "attention_dropout": 0.0, "head_dim": 128,
  "hidden_act": "relu2", "hidden_size": 2560, "intermediate_size": 18432,
  "max_position_embeddings": 65536, "mlp_bias": false,
  "model_type": "arcee", "num_attention_heads": 20,
  "num_hidden_layers": 36, "num_key_value_heads": 4,
  "rms_norm_eps": 1e-05, "rope_scaling": {"rope_type": "yarn", "factor":
  20.0, "beta_fast": 32.0, "beta_slow": 1.0,
  "original_max_position_embeddings": 4096, "rope_theta": 10000.0},
  "rope_theta": 10000.0, "tie_word_embeddings": false,
  "vocab_size": 128004
})",
     R"(layers: 36 hidden: 2560 heads: 20 kv_heads: 4 ffn: 18432 vocab_size:
        128004 max_positions: 65536 norm: RMS_NORM activation:
        RELU_SQUARED position: ROTARY rope { scaling { yarn { factor:
        20 original_max_positions: 4096 } } } bias: false
        tied_embeddings: false)",
     4619184640},
    {R"({
  "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
  "intermediate_size": 3072, "max_position_embeddings": 131072,
  "model_type": "ernie4_5", "num_attention_heads": 16,
  "num_hidden_layers": 18, "num_key_value_heads": 2,
  "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000.0,
  "tie_word_embeddings": true, "use_bias": false, "vocab_size": 103424
})",
     R"(layers: 18 hidden: 1024 heads: 16 kv_heads: 2 head_dim: 128 ffn: 3072
        vocab_size: 103424 max_positions: 131072 norm: RMS_NORM
        activation: SWIGLU position: ROTARY rope { theta: 500000 }
        bias: false)",
     360748032},
    {R"({
  "attention_bias": false, "attention_dropout": 0.0, "head_dim": 128,
  "hidden_act": "silu", "hidden_size": 2560, "intermediate_size": 7040,
  "max_position_embeddings": 4096, "mlp_bias": false,
  "model_type": "helium", "num_attention_heads": 20,
  "num_hidden_layers": 24, "num_key_value_heads": 20,
  "rms_norm_eps": 1e-08, "rope_theta": 100000.0,
  "tie_word_embeddings": false, "vocab_size": 48000
})",
     R"(layers: 24 hidden: 2560 heads: 20 ffn: 7040 vocab_size: 48000
        max_positions: 4096 norm: RMS_NORM norm_eps: 1e-8 activation:
        SWIGLU position: ROTARY rope { theta: 100000 } bias: false
        tied_embeddings: false)",
     2172643840},
    {R"({
  "attention_bias": true, "attention_dropout": 0.0, "head_dim": 128,
  "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 13696,
  "max_position_embeddings": 131072, "model_type": "glm",
  "num_attention_heads": 32, "num_hidden_layers": 40,
  "num_key_value_heads": 2, "partial_rotary_factor": 0.5,
  "rms_norm_eps": 1.5625e-07, "rope_theta": 10000.0,
  "tie_word_embeddings": false, "vocab_size": 151552
})",
     R"(layers: 40 hidden: 4096 heads: 32 kv_heads: 2 ffn: 13696 vocab_size:
        151552 max_positions: 131072 norm: RMS_NORM norm_eps:
        1.5625e-7 activation: SWIGLU position: ROTARY rope {
        rotary_percent: 0.5 } bias: false attention_qkv_bias: true
        tied_embeddings: false)",
     9399951360},
    {R"({
  "attention_bias": false, "attention_dropout": 0.0, "head_dim": 128,
  "hidden_act": "silu", "hidden_size": 6144, "intermediate_size": 23040,
  "max_position_embeddings": 32768, "model_type": "glm4",
  "num_attention_heads": 48, "num_hidden_layers": 61,
  "num_key_value_heads": 2, "partial_rotary_factor": 0.5,
  "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
  "tie_word_embeddings": false, "vocab_size": 151552
})",
     R"(layers: 61 hidden: 6144 heads: 48 kv_heads: 2 ffn: 23040 vocab_size:
        151552 max_positions: 32768 norm: RMS_NORM norm_position: BOTH
        activation: SWIGLU position: ROTARY rope { rotary_percent: 0.5
        } bias: false tied_embeddings: false)",
     32566081536},
    {R"({
  "attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu",
  "hidden_size": 8192, "intermediate_size": 22528,
  "layer_norm_eps": 1e-05, "logit_scale": 0.0625,
  "max_position_embeddings": 8192, "model_type": "cohere",
  "num_attention_heads": 64, "num_hidden_layers": 40,
  "num_key_value_heads": 64, "rope_theta": 8000000.0,
  "use_qk_norm": false, "vocab_size": 256000
})",
     R"(layers: 40 hidden: 8192 heads: 64 ffn: 22528 vocab_size: 256000
        max_positions: 8192 branches: PARALLEL_ONE_NORM activation:
        SWIGLU position: ROTARY rope { theta: 8000000 } bias: false
        norm_bias: false logit_scale: 0.0625)",
     34980831232},
    {R"({
  "attention_bias": false, "attention_dropout": 0.0, "head_dim": 128,
  "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
  "layer_norm_eps": 1e-05, "logit_scale": 0.25,
  "max_position_embeddings": 8192, "model_type": "cohere2",
  "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "rope_scaling": null, "rope_theta": 50000,
  "rotary_pct": 1.0, "sliding_window": 4096, "sliding_window_pattern": 4,
  "use_parallel_block": true, "vocab_size": 256000
})",
     R"(layers: 32 hidden: 4096 heads: 32 kv_heads: 8 ffn: 14336 vocab_size:
        256000 max_positions: 8192 branches: PARALLEL_ONE_NORM
        activation: SWIGLU position: ROTARY rope { theta: 50000 }
        bias: false norm_bias: false logit_scale: 0.25 layer_kinds {
        name: "sliding_attention" sliding_window: 4096 } layer_kinds {
        name: "full_attention_nope" position: NONE } pattern:
        "sliding_attention*3 full_attention_nope")",
     8028033024},
    {R"({
  "activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0,
  "layer_norm_epsilon": 1e-05, "model_type": "gptj", "n_embd": 4096,
  "n_head": 16, "n_inner": null, "n_layer": 28, "n_positions": 2048,
  "resid_pdrop": 0.0, "rotary": true, "rotary_dim": 64,
  "scale_attn_weights": true, "tie_word_embeddings": false,
  "vocab_size": 50400
})",
     R"(layers: 28 hidden: 4096 heads: 16 vocab_size: 50400 max_positions:
        2048 branches: PARALLEL_ONE_NORM activation: GELU_TANH
        position: ROTARY rope { rotary_percent: 0.25 }
        attention_qkv_bias: false attention_out_bias: false head_bias:
        true tied_embeddings: false)",
     6050882784},
    {R"({
  "attention_bias": false, "attention_dropout": 0.1,
  "attention_multiplier": 0.015625, "embedding_multiplier": 12.0,
  "hidden_act": "silu", "hidden_size": 1024, "intermediate_size": 512,
  "logits_scaling": 6.0, "max_position_embeddings": 4096,
  "model_type": "granitemoe", "num_attention_heads": 16,
  "num_experts_per_tok": 8, "num_hidden_layers": 24,
  "num_key_value_heads": 8, "num_local_experts": 32,
  "residual_multiplier": 0.22, "rms_norm_eps": 1e-06,
  "rope_scaling": null, "rope_theta": 10000, "tie_word_embeddings": true,
  "vocab_size": 49155
})",
     R"(layers: 24 hidden: 1024 heads: 16 kv_heads: 8 ffn: 512 vocab_size:
        49155 max_positions: 4096 norm: RMS_NORM norm_eps: 1e-6
        activation: SWIGLU position: ROTARY bias: false
        attention_scale: 0.015625 embedding_scale: 12 residual_scale:
        0.22 logit_scale: 0.16666666666666666 dropout { attention: 0.1
        } moe { experts: 32 top_k: 8 })",
     1334628352},
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

} // namespace
