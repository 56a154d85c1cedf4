//===- Names.cpp - What Megatron-LM calls its weights ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/Names.h"

#include <algorithm>
#include <charconv>
#include <string_view>

using namespace hocket;
using namespace hocket::megatron;

namespace {
struct Rename {
  std::string_view from, to;
};
} // namespace

/// Beginnings that say nothing.
static constexpr std::string_view kPrefixes[] = {"module.", "model.",
                                                 "language_model."};

/// Beginnings of the older classes.
static constexpr Rename kRoots[] = {
    {"encoder.", "decoder."},
    {"transformer.", "decoder."},
    {"decoder.final_norm.", "decoder.final_layernorm."},
};

/// Within a layer: Transformer Engine's modules hold the norm before them, and
/// the older classes have other names.
static constexpr Rename kLayerNames[] = {
    {"self_attention.linear_qkv.layer_norm_", "input_layernorm."},
    {"self_attention.linear_q_proj.layer_norm_", "input_layernorm."},
    {"self_attention.linear_q_up_proj.layer_norm_",
     "self_attention.q_layernorm."},
    {"self_attention.linear_kv_up_proj.layer_norm_",
     "self_attention.kv_layernorm."},
    {"mlp.linear_fc1.layer_norm_", "pre_mlp_layernorm."},
    {"mixer.in_proj.layer_norm_", "norm."},
    {"mixer.conv1d_", "mixer.conv1d."},
    {"self_attention.query_key_value.", "self_attention.linear_qkv."},
    {"self_attention.dense.", "self_attention.linear_proj."},
    {"mlp.dense_h_to_4h.", "mlp.linear_fc1."},
    {"mlp.dense_4h_to_h.", "mlp.linear_fc2."},
    {"input_norm.", "input_layernorm."},
    {"post_attention_layernorm.", "pre_mlp_layernorm."},
    {"post_attention_norm.", "pre_mlp_layernorm."},
    // Retro's encoder has a module around this norm.
    {"pre_mlp_layernorm.norm.", "pre_mlp_layernorm."},
};

/// Within a layer, where Retro has an encoder of layers of its own.
static constexpr std::string_view kRetriever =
    "cross_attention.encoder.layers.";

/// Beginnings of what is beside the weights.
static constexpr std::string_view kOthers[] = {"optimizer",
                                               "chained_",
                                               "opt_param_scheduler",
                                               "rng_state",
                                               "rerun_state",
                                               "scheduler",
                                               "iteration",
                                               "args",
                                               "checkpoint_version",
                                               "rotary_pos_emb",
                                               "word_embeddings_for_head",
                                               "word_embeddings."};

static bool isOther(std::string_view name) {
  if (name.find("_extra_state") != name.npos || name.ends_with(".inv_freq"))
    return true;
  return std::any_of(
      std::begin(kOthers), std::end(kOthers),
      [&](std::string_view other) { return name.starts_with(other); });
}

static void renameFirst(std::string &text, const Rename &rename) {
  if (text.starts_with(rename.from))
    text.replace(0, rename.from.size(), rename.to);
}

/// Takes a number from the front of `text`, if there is one before a dot or the
/// end.
static std::optional<uint64_t> takeIndex(std::string_view &text) {
  uint32_t index;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), index);
  auto length = size_t(end - text.data());
  if (error != std::errc() || (length < text.size() && text[length] != '.'))
    return std::nullopt;
  text.remove_prefix(std::min(length + 1, text.size()));
  return index;
}

static bool take(std::string_view &text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// mlp.experts.X as mlp.experts.{e}.Y.
static void readExpert(std::string_view rest, WeightName &name) {
  // Each expert a module, or all of them one with numbered weights.
  if (take(rest, "local_experts.") || take(rest, "experts."))
    name.expert = takeIndex(rest);
  std::string text(rest);
  size_t digits = text.find_last_not_of("0123456789") + 1;
  if (!name.expert && digits < text.size() &&
      std::string_view(text).substr(0, digits).ends_with("weight")) {
    std::string_view number = std::string_view(text).substr(digits);
    name.expert = takeIndex(number);
    text.resize(digits);
  }
  name.pattern += "mlp.experts.{e}." + text;
}

std::optional<WeightName> megatron::parseWeightName(const std::string &name) {
  std::string_view rest = name;
  while (std::any_of(
      std::begin(kPrefixes), std::end(kPrefixes),
      [&](std::string_view prefix) { return take(rest, prefix); })) {
  }
  if (isOther(rest))
    return std::nullopt;
  std::string text(rest);
  for (const Rename &rename : kRoots)
    renameFirst(text, rename);
  WeightName result;
  rest = text;
  if (!take(rest, "decoder.layers.")) {
    result.pattern = text;
    return result;
  }
  result.pattern = "decoder.layers.{i}.";
  result.layer = takeIndex(rest);
  if (take(rest, kRetriever)) {
    std::optional<uint64_t> layer = takeIndex(rest);
    result.pattern +=
        std::string(kRetriever) + (layer ? std::to_string(*layer) + "." : "");
  }
  std::string within(rest);
  for (const Rename &rename : kLayerNames)
    renameFirst(within, rename);
  rest = within;
  if (take(rest, "mlp.experts."))
    readExpert(rest, result);
  else
    result.pattern += within;
  return result;
}

std::string WeightName::text(uint64_t ofLayer, uint64_t ofExpert) const {
  std::string name = pattern;
  auto fill = [&](const char *place, uint64_t value) {
    if (size_t at = name.find(place); at != std::string::npos)
      name.replace(at, 3, std::to_string(value));
  };
  fill("{i}", ofLayer);
  fill("{e}", ofExpert);
  return name;
}

bool WeightName::isDepthwise() const {
  return pattern.find(".mixer.conv1d.weight") != std::string::npos;
}

Split megatron::splitOf(const std::string &pattern) {
  constexpr std::string_view rows[] = {"embedding.word_embeddings.",
                                       "output_layer.",
                                       ".linear_qkv.",
                                       ".linear_q_proj.",
                                       ".linear_q_up_proj.",
                                       ".linear_kv_up_proj.",
                                       ".linear_fc1.",
                                       ".mixer.",
                                       ".attn.linear_q.",
                                       ".attn.linear_kv."};
  constexpr std::string_view columns[] = {
      ".linear_proj.weight", ".linear_fc2.weight", ".mixer.out_proj.weight"};
  auto has = [&](std::string_view part) {
    return pattern.find(part) != std::string::npos;
  };
  if (std::any_of(std::begin(columns), std::end(columns), has))
    return Split::Columns;
  return std::any_of(std::begin(rows), std::end(rows), has) ? Split::Rows
                                                            : Split::None;
}
