# Part of Hocket, under the Apache License v2.0.
"""Small models of each family of Hugging Face, as their configs say it."""

import math

# WordPiece: no token is another's text, so that an answer names each of them.
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{i}" for i in range(15))]

SIZES = {
    "vocab_size": len(WORDS),
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 500.0,
    "factor": 4.0,
    "beta_fast": 2.0,
    "beta_slow": 0.25,
    "original_max_position_embeddings": 8,
}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 500.0, "factor": 4.0}
GEMMA = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 1000.0, "factor": 8.0},
}
MAMBA = {"vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 3, "num_heads": 8,
         "head_dim": 8, "state_size": 12, "n_groups": 2, "bos_token_id": None,
         "eos_token_id": None, "pad_token_id": None}  # fmt: skip
BAMBA = {**SIZES, "num_hidden_layers": 4, "attn_layer_indices": [1, 2], "mamba_n_heads": 4,
         "mamba_d_state": 12}  # fmt: skip
NEMOTRON_H = {**SIZES, "hybrid_override_pattern": "M-M*-", "head_dim": 12, "mamba_num_heads": 4,
              "mamba_head_dim": 12, "ssm_state_size": 12, "n_groups": 2}  # fmt: skip
DEEPSEEK = {**SIZES, "num_key_value_heads": 4, "q_lora_rank": None, "kv_lora_rank": 24,
            "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
            "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
            "first_k_dense_replace": 1}  # fmt: skip
# What of each family's config is not its default. Two of a family differ in what the
# file has a key for.
MODELS = {
    "gpt2": ("gpt2", {"vocab_size": len(WORDS), "n_positions": 32, "n_embd": 32, "n_layer": 2,
                      "n_head": 4, "bos_token_id": None, "eos_token_id": None}),
    "llama": ("llama", {**SIZES, "tie_word_embeddings": False}),
    "llama 3": ("llama", {**SIZES, "tie_word_embeddings": True, "attention_bias": True,
                          "rope_parameters": LLAMA3}),
    "mistral": ("mistral", {**SIZES, "head_dim": 16, "sliding_window": 7}),
    "mixtral": ("mixtral", {**SIZES, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen2": ("qwen2", {**SIZES, "tie_word_embeddings": True}),
    "qwen3": ("qwen3", {**SIZES, "head_dim": 16, "rope_parameters":
                        {"rope_type": "default", "rope_theta": 2000.0}}),
    "qwen3_moe": ("qwen3_moe", {**SIZES, "head_dim": 16, "moe_intermediate_size": 24,
                                "num_experts": 4, "num_experts_per_tok": 2,
                                "norm_topk_prob": True, "mlp_only_layers": [0]}),
    "qwen2_moe": ("qwen2_moe", {**SIZES, "moe_intermediate_size": 12,
                                "shared_expert_intermediate_size": 24,
                                "num_experts": 4, "num_experts_per_tok": 2,
                                "mlp_only_layers": [1]}),
    "qwen2 with windows": ("qwen2", {**SIZES, "use_sliding_window": True,
                                     "sliding_window": 5, "max_window_layers": 1}),
    "qwen3_moe, dense between": ("qwen3_moe", {
        **SIZES, "num_hidden_layers": 3, "head_dim": 16, "moe_intermediate_size": 24,
        "num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [1]}),
    "llama with yarn": ("llama", {**SIZES, "rope_parameters": YARN}),
    # The test's texts are longer than the context.
    "llama with dynamic": ("llama", {**SIZES, "max_position_embeddings": 8,
                                     "rope_parameters": DYNAMIC}),
    "smollm3": ("smollm3", {**SIZES, "num_hidden_layers": 5}),
    "gemma2": ("gemma2", {**SIZES, "num_hidden_layers": 3, "head_dim": 16,
                          "sliding_window": 5, "query_pre_attn_scalar": 24,
                          "attn_logit_softcapping": 0.5, "final_logit_softcapping": 2.0}),
    "gemma2, without caps": ("gemma2", {
        **SIZES, "head_dim": 12, "layer_types": ["full_attention"] * 2,
        "attn_logit_softcapping": None, "final_logit_softcapping": None}),
    "gemma3": ("gemma3_text", {**SIZES, "num_hidden_layers": 4, "head_dim": 16,
                               "sliding_window": 5, "query_pre_attn_scalar": 24,
                               "sliding_window_pattern": 3, "rope_parameters": GEMMA,
                               "final_logit_softcapping": 2.0}),
    "olmo2": ("olmo2", {**SIZES}),
    "gemma": ("gemma", {**SIZES, "head_dim": 12, "hidden_act": "gelu"}),
    "olmo3": ("olmo3", {**SIZES, "num_hidden_layers": 5, "sliding_window": 5,
                        "rope_parameters": {
                            "sliding_attention": {"rope_type": "default", "rope_theta": 200.0},
                            "full_attention": YARN}}),
    "olmoe": ("olmoe", {**SIZES, "num_experts": 4, "num_experts_per_tok": 2}),
    "exaone4": ("exaone4", {**SIZES, "num_hidden_layers": 5, "head_dim": 12,
                            "sliding_window": 5}),
    "exaone4, without windows": ("exaone4", {**SIZES, "sliding_window": None,
                                             "layer_types": ["full_attention"] * 2}),
    "phi3": ("phi3", {**SIZES, "sliding_window": 7, "rope_parameters": {
        "rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.75}}),
    "phi3, a llama": ("phi3", SIZES),
    "seed_oss": ("seed_oss", {**SIZES, "head_dim": 12, "attention_out_bias": True,
                              "mlp_bias": True}),
    "ernie4_5": ("ernie4_5", {**SIZES, "head_dim": 12, "use_bias": True}),
    "helium": ("helium", {**SIZES, "head_dim": 8, "attention_bias": True, "mlp_bias": True}),
    "glm": ("glm", {**SIZES, "head_dim": 12, "rope_parameters": {
        "rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.67}}),
    "glm4": ("glm4", {**SIZES, "head_dim": 12}),
    "cohere": ("cohere", {**SIZES, "attention_bias": True, "logit_scale": 0.5}),
    "cohere2": ("cohere2", {**SIZES, "num_hidden_layers": 5, "sliding_window": 5,
                            "logit_scale": 0.5}),
    "gptj": ("gptj", {"vocab_size": len(WORDS), "n_positions": 32, "n_embd": 36, "n_layer": 2,
                      "n_head": 3, "rotary_dim": 10, "bos_token_id": None,
                      "eos_token_id": None}),
    "arcee": ("arcee", {**SIZES, "attention_bias": True, "mlp_bias": True}),
    "granite": ("granite", {**SIZES, "embedding_multiplier": 12.0, "logits_scaling": 1.5,
                            "residual_multiplier": 0.22, "attention_multiplier": 0.3}),
    "granitemoe": ("granitemoe", {
        **SIZES, "num_local_experts": 4, "num_experts_per_tok": 2, "embedding_multiplier": 12.0,
        "logits_scaling": 1.5, "residual_multiplier": 0.22, "attention_multiplier": 0.3}),
    "deepseek_v2": ("deepseek_v2", DEEPSEEK),
    "deepseek_v2, latent queries, yarn, groups": ("deepseek_v2", {
        **DEEPSEEK, "q_lora_rank": 20, "v_head_dim": 12, "topk_method": "group_limited_greedy",
        "n_group": 4, "topk_group": 2, "routed_scaling_factor": 1.5,
        "rope_parameters": {**YARN, "mscale": 0.707, "mscale_all_dim": 0.707}}),
    "deepseek_v3": ("deepseek_v3", {
        **DEEPSEEK, "q_lora_rank": 20, "n_routed_experts": 8, "num_experts_per_tok": 4,
        "n_group": 4, "topk_group": 2, "n_shared_experts": 1}),
    "nemotron": ("nemotron", {**SIZES, "head_dim": 12}),
    "stablelm": ("stablelm", {**SIZES, "use_qkv_bias": True}),
    "stablelm, parallel": ("stablelm", {**SIZES, "use_parallel_residual": True}),
    "starcoder2": ("starcoder2", {**SIZES, "sliding_window": 6}),
    "gpt_neox": ("gpt_neox", {**SIZES}),
    "gpt_neox, sequential": ("gpt_neox", {**SIZES, "use_parallel_residual": False}),
    "phi": ("phi", {**SIZES}),
    "opt": ("opt", {"vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2,
                    "ffn_dim": 48, "num_attention_heads": 4, "max_position_embeddings": 32,
                    "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}),
    "opt, without biases": ("opt", {
        "vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2, "ffn_dim": 48,
        "num_attention_heads": 4, "max_position_embeddings": 32, "enable_bias": False,
        "activation_function": "gelu", "tie_word_embeddings": False, "bos_token_id": None,
        "eos_token_id": None, "pad_token_id": None}),
    "falcon": ("falcon", {"vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2,
                          "num_attention_heads": 4, "bos_token_id": None,
                          "eos_token_id": None}),
    "falcon, two norms": ("falcon", {
        "vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_kv_heads": 2, "new_decoder_architecture": True,
        "bias": True, "ffn_hidden_size": 48, "tie_word_embeddings": False,
        "bos_token_id": None, "eos_token_id": None}),
    "falcon, no keys shared": ("falcon", {
        "vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "multi_query": False, "bos_token_id": None,
        "eos_token_id": None}),
    "bloom": ("bloom", {"vocab_size": len(WORDS), "hidden_size": 36, "n_layer": 2,
                        "n_head": 6, "bos_token_id": None, "eos_token_id": None}),
    "mamba2": ("mamba2", MAMBA),
    "mamba2, one group, bounds, biases": ("mamba2", {
        **MAMBA, "n_groups": 1, "use_bias": True, "use_conv_bias": False, "conv_kernel": 3,
        "time_step_limit": (0.3, 1.5), "expand": 3, "num_heads": 12,
        "layer_norm_epsilon": 1e-3, "tie_word_embeddings": True}),
    "mamba2, a least step": ("mamba2", {**MAMBA, "time_step_limit": (0.5, math.inf)}),
    "bamba": ("bamba", BAMBA),
    "bamba, groups, biases, yarn": ("bamba", {
        **BAMBA, "mamba_n_groups": 2, "mamba_proj_bias": True, "mamba_conv_bias": False,
        "attention_bias": True, "mlp_bias": True, "head_dim": 16, "mamba_d_head": 16,
        "rope_parameters": {**YARN, "partial_rotary_factor": 1.0},
        "tie_word_embeddings": True}),
    "nemotron_h": ("nemotron_h", NEMOTRON_H),
    "nemotron_h, biases": ("nemotron_h", {
        **NEMOTRON_H, "hybrid_override_pattern": "M*M-", "n_groups": 1, "use_bias": True,
        "mlp_bias": True, "use_conv_bias": False, "time_step_min": 0.4,
        "mlp_hidden_act": "gelu", "layer_norm_epsilon": 1e-3}),
    "bamba, states alone": ("bamba", {**BAMBA, "attn_layer_indices": None}),
    "bamba, a quarter of each head rotates": ("bamba", {**BAMBA, "rope_parameters": {
        "rope_type": "linear", "factor": 4.0, "rope_theta": 500.0,
        "partial_rotary_factor": 0.25}}),
}  # fmt: skip
