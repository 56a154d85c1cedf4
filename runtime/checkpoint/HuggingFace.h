//===- HuggingFace.h - Weights from and for Hugging Face --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Weights are the same numbers under other names, and in GPT-2's case
/// transposed and joined. Each family is a table of rows
///
///   Hugging Face's tensor  <-  Hocket's tensors, layout
///
/// that is read in both directions. Hocket's names, with weights [out, in]:
///
///   embedding.weight [V, H]            position_embedding.weight [P, H]
///   layers.{i}.attention_norm.{weight,bias}       [H]
///   layers.{i}.attention.{q,k,v,o}.{weight,bias}
///   layers.{i}.attention.{q_norm,k_norm}.weight   [head_dim]
///   layers.{i}.mlp_norm.{weight,bias}             [H]
///   layers.{i}.mlp.{gate,up,down}.{weight,bias}
/// or, with E experts,
///   layers.{i}.mlp.router.weight [E, H]
///   layers.{i}.mlp.experts.{gate,up,down}.weight [E, out, in]
///   layers.{i}.mlp.shared.{gate,up,down}.weight
///   final_norm.{weight,bias} [H]       head.weight [V, H]
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_HUGGINGFACE_H
#define HOCKET_RUNTIME_CHECKPOINT_HUGGINGFACE_H

#include "runtime/checkpoint/Checkpoint.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hocket::checkpoint {

/// What decides which tensors a model has, and their shapes.
struct ModelDims {
  uint64_t layers = 0;
  uint64_t hidden = 0;
  uint64_t heads = 0;
  uint64_t kvHeads = 0;
  uint64_t headDim = 0;
  uint64_t ffn = 0;
  uint64_t vocabulary = 0;
  uint64_t paddedVocabulary = 0; ///< Rows stored here; 0: vocabulary.
  uint64_t positions = 0;        ///< Learned ones; 0: none.
  bool tied = false;             ///< No head.weight.
  bool gated = false;            ///< mlp.gate exists.
  bool qkNorm = false;
  bool qkvBias = false;
  bool outputBias = false; ///< Of attention.o.
  bool mlpBias = false;
  bool normBias = false;

  uint64_t experts = 0; ///< 0: every layer is dense.
  uint64_t expertFfn = 0;
  uint64_t sharedFfn = 0;      ///< Of all shared experts together; 0: none.
  uint64_t denseLayers = 0;    ///< Before the first layer with experts.
  uint64_t expertInterval = 1; ///< Of the layers from there, every one has.
  bool hasExperts(uint64_t layer) const {
    return experts && layer >= denseLayers &&
           (layer - denseLayers + 1) % expertInterval == 0;
  }
};

/// The weights that a model has, as f32, by Hocket's names. InvalidArgument if
/// a size is 0 or their product overflows.
StatusOr<std::vector<TensorSpec>> weightsOf(const ModelDims &dims);

/// gpt2, llama, mistral, mixtral, qwen2, qwen3, qwen3_moe.
std::vector<std::string> huggingFaceFamilies();

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// The tensors of a folder: model.safetensors, or the files that
/// model.safetensors.index.json names. Those names are untrusted and must be
/// plain file names.
class HuggingFaceFolder {
public:
  static StatusOr<HuggingFaceFolder> open(const std::string &dir);

  struct Found {
    const SafetensorsFile *file = nullptr; ///< nullptr: there is none.
    const TensorInfo *info = nullptr;
  };
  Found find(const std::string &name) const;
  std::vector<std::string> names() const;
  const std::string &path() const { return folder; }

private:
  Status openFile(const std::string &name);
  Status openIndex(const std::string &path);

  std::string folder;
  std::vector<SafetensorsFile> files;
  std::map<std::string, size_t> fileOf; ///< Index into `files`, by tensor.
};

/// The weights of `folder`, a model of `family`, as tensors to save: F32,
/// converted when they are written, rows of a padded vocabulary zero. `folder`
/// must outlive the save. InvalidArgument for the first tensor that is
/// missing, has another shape, is no floating-point type, or is not part of
/// the model.
StatusOr<std::vector<CheckpointTensor>>
importHuggingFace(const HuggingFaceFolder &folder, const std::string &family,
                  const ModelDims &dims);

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

/// Where an export goes and what it is called there.
struct HuggingFaceExport {
  std::string dir;
  std::string family;
  std::string configText; ///< Becomes config.json.
  /// What lies beside it, such as a tokenizer's files: by name, their text.
  std::map<std::string, std::string> otherFiles = {};
  /// F32, BF16 or F16, to which numbers are rounded; else as they are stored.
  std::optional<ElementType> type = std::nullopt;
  /// A file holds no more of tensors than this, or one tensor.
  uint64_t mostFileBytes = std::numeric_limits<uint64_t>::max();
  /// Called with the bytes that were read since the last call.
  std::function<void(uint64_t bytes)> progress = [](uint64_t) {};
};

/// Writes config.json and model.safetensors, or, where that would be larger
/// than a file may be, model-00001-of-00003.safetensors and so on with their
/// index. A few MiB are in memory at once. InvalidArgument if the checkpoint is
/// not of `dims`, the family has no place for one of its tensors, a number is
/// too large for the type, or the folder holds weights already. After an error
/// there is no more than before.
Status exportHuggingFace(const Checkpoint &checkpoint, const ModelDims &dims,
                         const HuggingFaceExport &to);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_HUGGINGFACE_H
