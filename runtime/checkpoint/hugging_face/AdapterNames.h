//===- AdapterNames.h - Adapters by the names of PEFT -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where the matrices of adapters stand in a file of PEFT's (Adapters.h): what
/// reads and writes its folders has this alike.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_ADAPTERNAMES_H
#define HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_ADAPTERNAMES_H

#include "runtime/checkpoint/hugging_face/Adapters.h"
#include "runtime/checkpoint/hugging_face/HuggingFaceNames.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::checkpoint {

inline constexpr std::string_view adapterSuffixes[] = {".lora_A.weight",
                                                       ".lora_B.weight"};
inline constexpr std::string_view adapterPrefix = "base_model.model.";
inline constexpr const char *adapterWeightsFile = "/adapter_model.safetensors";
inline constexpr const char *adapterConfigFile = "/adapter_config.json";

/// The module whose parameters, gate_up_proj and down_proj, are all experts of
/// a layer, in all families that have experts, from `transformers` 5 on.
inline constexpr const char *joinedExperts = "model.layers.{i}.mlp.experts";

/// "a.weight" without ".weight".
std::string withoutWeight(std::string name);

/// `name` with an asterisk for each part that is a number.
std::string withoutNumbers(std::string_view name);

/// A linear layer that an adapter can have, and its module there.
struct AdapterModule {
  std::string target; ///< "attention.q"
  std::string theirs; ///< "model.layers.{i}.self_attn.q_proj"

  bool isOfExperts() const { return target.starts_with("mlp.experts."); }
  /// "*.experts.*.w1", which tells of no layer and no expert.
  std::string pattern() const;
};

/// Those of a family that stand alone in their tensor, in rows of its order. Of
/// experts, those that have a tensor each.
std::vector<AdapterModule> adapterModulesOf(const NameTable &table);

/// The last part of a module's name, or as many of them as no other one ends
/// in. Of experts always the last: PEFT looks for that where a model has all of
/// them in one parameter, and adapters that are not in the file are zero.
std::string shortName(const AdapterModule &module,
                      const std::vector<AdapterModule> &all);

/// A matrix of PEFT's, and the part of a tensor of Hocket's that it holds.
/// Elements of the part are `steps` apart in it, from expert to expert, row to
/// row and column to column, from `begin` on.
struct AdapterMatrix {
  std::string key;
  std::vector<uint64_t> shape;
  SliceBounds part;
  uint64_t begin = 0;
  std::array<uint64_t, 3> steps = {};
};

/// The text of an adapter_config.json. `modules` are adapted, of `table`.
std::string adapterConfigText(const NameTable &table, const LoraDims &lora,
                              const std::string &baseName,
                              const std::vector<AdapterModule> &modules,
                              const AdapterLayout &layout);

/// What PEFT has of an adapter's matrix `spec`.
std::vector<AdapterMatrix>
adapterMatricesOf(const AdapterModule &module, uint64_t layer,
                  std::string_view suffix, const TensorSpec &spec,
                  const LoraDims &lora, const AdapterLayout &layout);

/// Visits the elements of the part, by their places in `held`, which it lies
/// in, and in the matrix.
void forEachElement(
    const AdapterMatrix &matrix, const SliceBounds &held,
    const std::function<void(uint64_t ours, uint64_t theirs)> &visit);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_ADAPTERNAMES_H
