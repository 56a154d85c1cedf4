//===- Families.h - Model families of Hugging Face --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What each supported `model_type` means in a spec, as data: what the family
/// always has, and which key holds which field. Reading and writing a
/// config.json go through the same rows.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_HUGGINGFACE_FAMILIES_H
#define HOCKET_FRONTENDS_HUGGINGFACE_FAMILIES_H

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::huggingface {

/// One key of a config.json and the field of the spec that it sets.
struct Row {
  const char *key;
  const char *path;
  bool required = false;
  /// "auto" says that it follows from others.
  bool automatic = false;
};

/// One name of an activation; `value` is the name of Model::Activation.
struct ActivationName {
  const char *name;
  const char *value;
};

/// A key that would change what a model computes, and its one value that is
/// supported, as `describe` writes it; "null" where no value is.
struct OnlyValue {
  const char *key;
  const char *value;
};

/// What a family says in keys that set no field by themselves.
enum class Trait {
  MixedWindows,    ///< Layers may differ in their sliding window,
  WindowSwitch,    ///< which `use_sliding_window` turns on.
  WindowPattern,   ///< Without `layer_types` every sixth layer has none,
  AlternateWindow, ///< or every second,
  FourthFull,      ///< or every fourth (windowsByPattern()).
  FullNope,        ///< If any layer has a window, only those rotate that do,
  WindowRope,      ///< and if none has, none.
  LocalRope,       ///< Layers with a window have a rope of their own.
  TwoRopes,        ///< `rope_parameters` has both by name.
  PlainRope,       ///< No rope is scaled.
  MixedRope,       ///< Some layers do not rotate (`no_rope_layers`).
  FalconHeads, ///< How many key heads and norms there are is said in switches.
  RotaryDim,   ///< `rotary_dim` elements of a head rotate.
  PartialRotary,   ///< `partial_rotary_factor` may be below 1.
  Parallel,        ///< `use_parallel_residual` puts branches side by side,
  ParallelOneNorm, ///< and on the result of one norm.
  Experts,         ///< Layers have a mixture of experts,
  DenseLayers,     ///< but those in `mlp_only_layers`.
  SharedExpert,    ///< All tokens have an expert of a width of its own.
  HeadScalar,      ///< Scores are scaled by query_pre_attn_scalar^-0.5.
  RootEmbedding,   ///< Embeddings are scaled by the root of their size.
  LogitsScaling,   ///< Logits are divided by `logits_scaling`.
  StateSpace,      ///< Layers have a state space,
  ExpandedWidth,   ///< whose width is said a second time,
  AttentionLayers, ///< but those in `attn_layer_indices` attend.
  LayerLetters,    ///< Each layer has one branch; a letter or word says which.
  RopeObject,      ///< The rope is written as `rope_parameters` alone.
  ScaleSwitch,     ///< `scale_attn_weights` may turn the scale of scores off.
  Encoder,         ///< Masked tokens are learned; `architectures` says whether
                   ///< the order of texts is, too.
  TwoStacks,       ///< An encoder stands before the decoder,
  ScaledHead,      ///< whose states may be scaled before the head.
  LatentAttention, ///< Queries, keys and values are made of latents.
  ScoreBias,       ///< A router's scores have a bias for the choice, and groups
                   ///< are worth their two best experts.
  Vision,          ///< A tower sees images: a config of three.
  OtherName,       ///< Of models that another family has, which they leave as.
};

struct Family {
  const char *modelType;     ///< "llama"
  const char *architecture;  ///< "LlamaForCausalLM"
  const char *base;          ///< The family's Model before any key is read.
  const char *activationKey; ///< "hidden_act"
  std::span<const Row> rows;
  std::span<const ActivationName> activations;
  std::span<const Trait> traits;
  std::span<const OnlyValue> only = {}; ///< Other values are refused.

  /// Whether `key` sets a field.
  bool reads(std::string_view key) const {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Row &row) { return key == row.key; });
  }
  bool has(Trait trait) const {
    return std::find(traits.begin(), traits.end(), trait) != traits.end();
  }
  /// Whether a pattern says which layers have a window, which is of 4096 tokens
  /// where the config does not say; null is none.
  bool windowsByPattern() const {
    return has(Trait::WindowPattern) || has(Trait::AlternateWindow) ||
           has(Trait::FourthFull);
  }
};

/// The architecture of an encoder that learns the order of texts, too.
inline constexpr char bertPretraining[] = "BertForPreTraining";
/// That of one that tells classes of sequences.
inline constexpr char bertClassification[] = "BertForSequenceClassification";
/// That of one that tells which of several choices is right.
inline constexpr char bertMultipleChoice[] = "BertForMultipleChoice";

/// In the order in which a model's family is looked for.
std::span<const Family> families();

/// The family of `modelType`, or null.
const Family *findFamily(std::string_view modelType);

/// That of the language model of a family that sees images, in a config of its
/// own within the other.
const Family &languageFamily();

/// "gpt2, llama, ...", for messages.
std::string supportedFamilies();

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_FAMILIES_H
