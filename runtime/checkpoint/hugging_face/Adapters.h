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
/// where <module> is what the family's weight (HuggingFaceNames.h) is called;
/// each expert has matrices of its own there. PEFT joins those itself where
/// `transformers` has all experts in one parameter.
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

/// What a folder of PEFT's says of its adapters.
struct AdapterConfig {
  LoraDims lora;        ///< Its targets are Hocket's names.
  std::string baseName; ///< base_model_name_or_path; may be empty.
};

/// Reads DIR/adapter_config.json, of a model of `family`. InvalidArgument with
/// the key for what is not LoRA as Hocket has it: a variant (DoRA, rsLoRA),
/// ranks by layer, biases or modules that are trained whole, and modules that
/// the family's layers have not.
StatusOr<AdapterConfig> readAdapterConfig(const std::string &dir,
                                          const std::string &family);

/// The adapters in DIR/adapter_model.safetensors as tensors to save, F32.
/// InvalidArgument for the first that is missing, has another shape, or is not
/// part of the model.
StatusOr<std::vector<CheckpointTensor>>
importAdapters(const std::string &dir, const std::string &family,
               const ModelWeights &weights);

/// Writes the adapters of `checkpoint` to `dir`, which `baseName` is told of as
/// the model that they belong to. InvalidArgument if the checkpoint has none,
/// if the family joins a target with others (GPT-2's q, k and v), or if the
/// folder holds adapters already.
Status exportAdapters(const Checkpoint &checkpoint, const std::string &family,
                      const ModelWeights &weights, const std::string &dir,
                      const std::string &baseName);

/// Adds to `rows`, which are the whole rows `bounds` of `weight` as f32, what
/// its adapter in `checkpoint` adds. `weight` has one.
Status mergeAdapter(const Checkpoint &checkpoint, const LoraDims &lora,
                    const TensorSpec &weight, const SliceBounds &bounds,
                    std::span<float> rows);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_ADAPTERS_H
