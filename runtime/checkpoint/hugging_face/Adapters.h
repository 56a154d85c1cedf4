//===- Adapters.h - Low-rank adapters from and for PEFT ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LoRA (arXiv 2106.09685): the linear layer of a target multiplies with
///
///   W + alpha / rank B A,  A of [rank, in], B of [out, rank]
///
/// A and B are `layers.{i}.attention.q.lora_A.weight` and `...lora_B.weight`
/// here, of all experts together with a first dim of experts. PEFT's folder
/// holds them alone:
///
///   adapter_config.json         "r", "lora_alpha", "target_modules", ...
///   adapter_model.safetensors   base_model.model.<module>.lora_A.weight, ...
///
/// where <module> is what the family's weight (HuggingFaceNames.h) is called.
/// Experts' are there in one of two ways:
///
///   each    an expert has matrices of its own: `transformers` before 5
///   joined  all experts of a layer have matrices for each of the module's two
///           parameters, gate_up_proj and down_proj, which "target_parameters"
///           names (PEFT 0.17): A of [experts rank, in], B of [out, rank
///           experts], the expert changing fastest. gate_up_proj's rows are
///           those of the gate, then those of up.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_ADAPTERS_H
#define HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_ADAPTERS_H

#include "runtime/checkpoint/hugging_face/HuggingFace.h"

#include <string>
#include <string_view>
#include <vector>

namespace hocket::checkpoint {

/// Whether `name` is that of an adapter's matrix.
bool isAdapter(std::string_view name);

/// The matrices of `weights.lora`, as f32, in the order of the layers; none
/// without it. InvalidArgument for a target that no layer has.
StatusOr<std::vector<TensorSpec>> adaptersOf(const ModelWeights &weights);

/// How a folder of PEFT's has the adapters of a model, whose own rank is that
/// of the widest: a narrower one is zero beyond its rank.
struct AdapterLayout {
  uint64_t rank = 0;      ///< "r"
  bool isJoined = false;  ///< Experts.
  uint64_t firstRank = 0; ///< Of a joined gate_up_proj.
  /// That has the gate's adapter of `rank` first and then that of up, each with
  /// rows of its own in B. Else they share A.
  bool isApart = false;
};

/// What a folder of PEFT's says of its adapters.
struct AdapterConfig {
  LoraDims lora;        ///< Its targets are Hocket's names.
  std::string baseName; ///< base_model_name_or_path; may be empty.
  AdapterLayout layout;
};

/// Reads DIR/adapter_config.json, of a model of `family`. InvalidArgument with
/// the key for what is not LoRA as Hocket has it: a variant (DoRA, rsLoRA),
/// ranks by layer, biases or modules that are trained whole, and modules that
/// the family's layers have not. Of gate_up_proj another rank is read, as PEFT
/// has it where it has joined adapters of each expert itself.
StatusOr<AdapterConfig> readAdapterConfig(const std::string &dir,
                                          const std::string &family);

/// The adapters in DIR/adapter_model.safetensors, of which its `config` was
/// read, as tensors to save, F32. InvalidArgument for the first that is
/// missing, has another shape, or is not part of the model; and for layers
/// without an adapter that have a role of those with one.
StatusOr<std::vector<CheckpointTensor>>
importAdapters(const std::string &dir, const std::string &family,
               const ModelWeights &weights, const AdapterConfig &config);

/// Writes the adapters of `checkpoint` to `dir`, which `baseName` is told of as
/// the model that they belong to; those of experts joined, or of each.
/// InvalidArgument if the checkpoint has none, if the family joins a target
/// with others (GPT-2's q, k and v), or if the folder holds adapters already.
Status exportAdapters(const Checkpoint &checkpoint, const std::string &family,
                      const ModelWeights &weights, const std::string &dir,
                      const std::string &baseName, bool joinsExperts);

/// Adds to `rows`, which are the whole rows `bounds` of `weight` as f32, what
/// its adapter in `checkpoint` adds. `weight` has one.
Status mergeAdapter(const Checkpoint &checkpoint, const LoraDims &lora,
                    const TensorSpec &weight, const SliceBounds &bounds,
                    std::span<float> rows);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_ADAPTERS_H
