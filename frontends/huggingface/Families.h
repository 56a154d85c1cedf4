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
};

/// One name of an activation; `value` is the name of Model::Activation.
struct ActivationName {
  const char *name;
  const char *value;
};

struct Family {
  const char *modelType;     ///< "llama"
  const char *architecture;  ///< "LlamaForCausalLM"
  const char *base;          ///< The family's Model before any key is read.
  const char *activationKey; ///< "hidden_act"
  std::span<const Row> rows;
  std::span<const ActivationName> activations;
  bool mixedWindows; ///< Layers may differ in their sliding window.
  bool experts;      ///< Layers have a mixture of experts.
};

/// gpt2, llama, mistral, mixtral, qwen2, qwen3, qwen3_moe.
std::span<const Family> families();

/// The family of `modelType`, or null.
const Family *findFamily(std::string_view modelType);

/// "gpt2, llama, ...", for messages.
std::string supportedFamilies();

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_FAMILIES_H
