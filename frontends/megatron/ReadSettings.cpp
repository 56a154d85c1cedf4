//===- ReadSettings.cpp - A spec from Megatron-LM's settings --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/megatron/ReadSettings.h"

#include "frontends/megatron/SettingsReader.h"

using namespace hocket;
using namespace hocket::megatron;
using spec::LoadedSpec;

/// What changes a model in a way that Hocket has not, wherever it is other than
/// None, False, 0 or empty.
static constexpr const char *kUnsupported[] = {
    "activation_func_clamp_value",
    "apply_residual_connection_post_layernorm",
    "attention_output_gate",
    "glu_linear_offset",
    "heterogeneous_layers_config_path",
    "is_hybrid_model",
    "moe_shared_expert_gate",
    "moe_use_shared_expert_gate",
    "mtp_num_layers",
    "multi_latent_attention",
    "no_rope_freq",
    "qk_l2_norm",
    "quick_geglu",
    "rotary_interleaved",
    "window_attn_skip_freq",
};

Status SettingsReader::refuseUnsupported() const {
  for (const char *name : kUnsupported)
    if (isSet(name))
      return error(name, "is set, and Hocket has no such model");
  return okStatus();
}

Status SettingsReader::readSizes() {
  struct {
    const char *name;
    const char *path;
    bool required;
  } rows[] = {
      {"num_layers", "model.layers", true},
      {"hidden_size", "model.hidden", true},
      {"num_attention_heads", "model.heads", true},
      {"ffn_hidden_size", "model.ffn", false},
      {"kv_channels", "model.head_dim", false},
      {"max_position_embeddings", "model.max_positions", false},
      {"seq_length", "training.sequence_length", false},
  };
  for (const auto &row : rows) {
    if (row.required && !isSet(row.name))
      return error(row.name, "is not there, and a model needs it");
    if (isSet(row.name))
      HOCKET_RETURN_IF_ERROR(assignSize(row.name, row.path));
  }
  if (flag("group_query_attention") && isSet("num_query_groups"))
    HOCKET_RETURN_IF_ERROR(assignSize("num_query_groups", "model.kv_heads"));
  // Newer versions say the tokenizer's size too; the rest of the rows is
  // padding.
  for (const char *name : {"vocab_size", "padded_vocab_size"})
    if (isSet(name))
      return assignSize(name, "model.vocab_size");
  return error("padded_vocab_size", "is not there, and a model needs it");
}

Status SettingsReader::readReals() {
  struct {
    const char *name;
    const char *path;
  } rows[] = {
      {"layernorm_epsilon", "model.norm_eps"}, // Before it was norm_epsilon.
      {"norm_epsilon", "model.norm_eps"},
      {"attention_dropout", "model.dropout.attention"},
      {"hidden_dropout", "model.dropout.residual"},
      {"hidden_dropout", "model.dropout.embedding"},
      {"init_method_std", "model.initializer.stddev"},
      {"softmax_scale", "model.attention_scale"},
  };
  for (const auto &row : rows)
    if (isSet(row.name))
      HOCKET_RETURN_IF_ERROR(assignReal(row.name, row.path));
  model().mutable_initializer()->set_depth_scaled(true);
  return okStatus();
}

Status SettingsReader::readLayers() {
  std::string norm = text("normalization", "LayerNorm");
  if (norm != "LayerNorm" && norm != "RMSNorm")
    return error("normalization",
                 "is '" + norm + "'; supported are LayerNorm and RMSNorm");
  bool isRms = norm == "RMSNorm", bias = flag("add_bias_linear");
  model().set_norm(isRms ? spec::Model::RMS_NORM : spec::Model::LAYER_NORM);
  model().set_norm_bias(!isRms);
  // Weights about zero, as newer versions call it.
  model().set_norm_zero_centered(flag("apply_layernorm_1p") ||
                                 flag("layernorm_zero_centered_gamma"));
  model().set_bias(bias);
  model().set_attention_qkv_bias(bias || flag("add_qkv_bias"));
  model().set_tied_embeddings(!flag("untie_embeddings_and_output_weights"));
  if (flag("qk_layernorm") && !isRms)
    return error("qk_layernorm", "is set; supported is that of RMSNorm alone");
  model().set_qk_norm(flag("qk_layernorm"));
  // Fused with the bias, gelu is its tanh approximation.
  bool tanh = flag("openai_gelu") || (bias && flag("bias_gelu_fusion"));
  model().set_activation(flag("swiglu")         ? spec::Model::SWIGLU
                         : flag("squared_relu") ? spec::Model::RELU_SQUARED
                         : tanh                 ? spec::Model::GELU_TANH
                                                : spec::Model::GELU);
  return readWindow();
}

/// (tokens before, tokens behind), or None.
Status SettingsReader::readWindow() {
  const Setting *window = find("window_size");
  if (!window)
    return okStatus();
  const auto *sizes = std::get_if<SettingList>(window);
  if (!sizes || sizes->size() != 2 || (*sizes)[1] > 0 || (*sizes)[0] < 0 ||
      (*sizes)[0] > INT32_MAX)
    return error("window_size", "is not (tokens before, 0)");
  model().set_sliding_window((*sizes)[0] + 1);
  return okStatus();
}

Status SettingsReader::readPositions() {
  std::string kind = text("position_embedding_type", "learned_absolute");
  if (kind == "learned_absolute") {
    // Before there were types, rope was a flag of its own.
    if (!flag("use_rotary_position_embeddings"))
      return okStatus(); // The spec's default.
    kind = "rope";
  }
  if (kind == "none") {
    model().set_position(spec::Model::NONE);
    return okStatus();
  }
  if (kind != "rope")
    return error("position_embedding_type",
                 "is '" + kind +
                     "'; supported are learned_absolute, rope and none");
  model().set_position(spec::Model::ROTARY);
  if (isSet("rotary_percent"))
    HOCKET_RETURN_IF_ERROR(
        assignReal("rotary_percent", "model.rope.rotary_percent"));
  if (isSet("rotary_base"))
    HOCKET_RETURN_IF_ERROR(assignReal("rotary_base", "model.rope.theta"));
  const std::string scaling = "model.rope.scaling.";
  bool isLlama3 = flag("use_rope_scaling");
  if (isLlama3 && isSet("rotary_seq_len_interpolation_factor"))
    return error("use_rope_scaling", "is set, and another scaling is too");
  if (isLlama3) { // Its other numbers are the spec's defaults, Llama 3.1's.
    model().mutable_rope()->mutable_scaling()->mutable_llama3();
    if (isSet("rope_scaling_factor"))
      return assignReal("rope_scaling_factor", scaling + "llama3.factor");
  } else if (isSet("rotary_seq_len_interpolation_factor")) {
    return assignReal("rotary_seq_len_interpolation_factor",
                      scaling + "linear.factor");
  }
  return okStatus();
}

StatusOr<LoadedSpec> SettingsReader::read() {
  HOCKET_RETURN_IF_ERROR(refuseUnsupported());
  HOCKET_RETURN_IF_ERROR(readSizes());
  HOCKET_RETURN_IF_ERROR(readReals());
  HOCKET_RETURN_IF_ERROR(readLayers());
  HOCKET_RETURN_IF_ERROR(readPositions());
  if (isSet("num_experts"))
    HOCKET_RETURN_IF_ERROR(readExperts());
  return std::move(loaded);
}

StatusOr<LoadedSpec> megatron::readSpec(const Model &model,
                                        const spec::LoadOptions &options) {
  HOCKET_ASSIGN_OR_RETURN(LoadedSpec loaded, SettingsReader(model).read());
  return spec::finishSpec(std::move(loaded), options);
}
