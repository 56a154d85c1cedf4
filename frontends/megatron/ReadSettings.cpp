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
    "enable_hyper_connections",
    "experimental_attention_variant",
    "glu_linear_offset",
    "head_wise_attn_gate",
    "heterogeneous_layers_config_path",
    "moe_apply_probs_on_input",
    "moe_expert_rank_capacity_factor",
    "moe_latent_size",
    "moe_mlp_glu_interleave_size",
    "moe_n_hash_layers",
    "moe_router_force_biased",
    "moe_router_force_load_balancing",
    "moe_router_topk_limited_devices",
    "moe_shared_expert_glu_interleave_size",
    "mtp_num_layers",
    "qk_l2_norm",
    "quick_geglu",
    "rotary_base_per_layer",
    "rotary_interleaved",
    "use_mup",
};

Status SettingsReader::refuseUnsupported() const {
  for (const char *name : kUnsupported)
    if (isSet(name))
      return error(name, "is set, and Hocket has no such model");
  if (std::string kind = text("softmax_type", "vanilla"); kind != "vanilla")
    return error("softmax_type", "is '" + kind + "'; supported is vanilla");
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
  if (flag("multi_latent_attention")) // Its heads have sizes of their own.
    model().clear_head_dim();
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
  return okStatus();
}

/// (tokens before, tokens behind), or None.
StatusOr<int64_t> SettingsReader::readWindow() {
  const Setting *window = find("window_size");
  if (!window)
    return 0;
  const auto *sizes = std::get_if<SettingList>(window);
  if (!sizes || sizes->size() != 2 || (*sizes)[1] > 0 || (*sizes)[0] < 0 ||
      (*sizes)[0] > INT32_MAX)
    return error("window_size", "is not (tokens before, 0)");
  return (*sizes)[0] + 1;
}

StatusOr<std::vector<bool>> SettingsReader::marks(const std::string &name,
                                                  bool absent,
                                                  int64_t first) const {
  auto layers = static_cast<size_t>(loaded.spec.model().layers());
  const Setting *setting = find(name);
  if (!setting)
    return std::vector<bool>(layers, absent);
  const auto *every = std::get_if<int64_t>(setting);
  const auto *list = std::get_if<SettingList>(setting);
  if (every ? *every < 1 : !list || list->size() != layers)
    return error(name, "is neither a number of layers nor a list with a 0 or a "
                       "1 for each of the " +
                           std::to_string(layers));
  std::vector<bool> marked(layers);
  for (size_t i = 0; i < layers; ++i) {
    if (list && (*list)[i] != 0 && (*list)[i] != 1)
      return error(name, "has a number that is neither 0 nor 1");
    marked[i] =
        list ? (*list)[i] == 1
             : static_cast<int64_t>(i + 1) % *every == (first + 1) % *every;
  }
  return marked;
}

/// Layers differ in whether they have a window (of every n-th, none has one),
/// rotate (of every n-th, none does), and have experts (layers 0, n, 2n, ...).
Status SettingsReader::readDifferences() {
  if (!hasSoundLayers())
    return okStatus(); // An error of the specification.
  HOCKET_ASSIGN_OR_RETURN(int64_t window, readWindow());
  const char *skipsWindow = "window_attn_skip_freq";
  const Setting *skips = find(skipsWindow);
  bool isNumber = skips && std::holds_alternative<int64_t>(*skips);
  HOCKET_ASSIGN_OR_RETURN(std::vector<bool> windowed,
                          marks(skipsWindow, true, -1));
  HOCKET_ASSIGN_OR_RETURN(std::vector<bool> still,
                          marks("no_rope_freq", false, -1));
  std::vector<bool> experts(windowed.size(), false);
  if (model().has_moe() && letters.empty()) {
    HOCKET_ASSIGN_OR_RETURN(experts, marks("moe_layer_freq", true, 0));
  }
  bool rotates = model().position() == spec::Model::ROTARY;
  std::vector<spec::ListedLayer> layers;
  for (size_t i = 0; i < windowed.size(); ++i) {
    layers.push_back(letters.empty() ? spec::ListedLayer()
                                     : *spec::layerOfLetter(letters[i]));
    spec::ListedLayer &layer = layers.back();
    layer.experts = layer.experts || experts[i];
    if (layer.mixer != spec::LayerKind::ATTENTION)
      continue;
    layer.windowed = window > 0 && windowed[i] != isNumber;
    layer.rotary = !rotates || !still[i];
  }
  spec::setLayers(model(), layers, window, nullptr);
  return okStatus();
}

Status SettingsReader::readPositions() {
  std::string kind = text("position_embedding_type", "learned_absolute");
  if (flag("multi_latent_attention") && kind != "rope")
    return error("position_embedding_type",
                 "is '" + kind +
                     "'; supported with multi_latent_attention is rope");
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
  if (flag("multi_latent_attention"))
    return readLatentAttention();
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

/// A neighbour is a chunk that was found and those behind it.
Status SettingsReader::readRetrieval() {
  if (!flag("retro_add_retriever"))
    return okStatus();
  spec::Retrieval &retrieval = *model().mutable_retrieval();
  struct {
    const char *name;
    const char *path;
  } sizes[] = {{"retro_encoder_layers", "encoder_layers"},
               {"retro_num_neighbors", "neighbors"},
               {"retro_gpt_chunk_length", "chunk_length"}},
    shares[] = {
        {"retro_encoder_hidden_dropout", "encoder_dropout"},
        {"retro_encoder_attention_dropout", "encoder_attention_dropout"}};
  const std::string within = "model.retrieval.";
  for (const auto &row : sizes)
    if (isSet(row.name))
      HOCKET_RETURN_IF_ERROR(assignSize(row.name, within + row.path));
  for (const auto &row : shares)
    if (find(row.name))
      HOCKET_RETURN_IF_ERROR(assignReal(row.name, within + row.path));
  const char *chunks = "retro_num_retrieved_chunks";
  HOCKET_ASSIGN_OR_RETURN(uint64_t count, sizeSetting(from, chunks, 2));
  if (count < 1 || count > 1 << 20)
    return error(chunks, "is no number of chunks");
  int64_t chunk = retrieval.chunk_length();
  if (chunk >= 1 && chunk <= 1 << 20) // Else an error of the specification.
    retrieval.set_retrieved_length(static_cast<int64_t>(count) * chunk);
  return okStatus();
}

StatusOr<LoadedSpec> SettingsReader::read() {
  HOCKET_RETURN_IF_ERROR(refuseUnsupported());
  HOCKET_RETURN_IF_ERROR(readSizes());
  HOCKET_RETURN_IF_ERROR(readReals());
  HOCKET_RETURN_IF_ERROR(readLayers());
  HOCKET_RETURN_IF_ERROR(readPositions());
  HOCKET_RETURN_IF_ERROR(readHybrid());
  if (letters.empty() ? isSet("num_experts")
                      : letters.find('E') != std::string::npos)
    HOCKET_RETURN_IF_ERROR(readExperts());
  HOCKET_RETURN_IF_ERROR(readDifferences());
  HOCKET_RETURN_IF_ERROR(readRetrieval());
  return std::move(loaded);
}

StatusOr<LoadedSpec> megatron::readSpec(const Model &model,
                                        const spec::LoadOptions &options) {
  HOCKET_ASSIGN_OR_RETURN(LoadedSpec loaded, SettingsReader(model).read());
  return spec::finishSpec(std::move(loaded), options);
}
