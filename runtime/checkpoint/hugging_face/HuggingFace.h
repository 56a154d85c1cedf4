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
/// that is read in both directions. frontends/spec/model/Parameters.h lists
/// Hocket's names; its weights are [out, in].
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACE_H
#define HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACE_H

#include "runtime/checkpoint/Checkpoint.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hocket::checkpoint {

/// Low-rank adapters (Adapters.h).
struct LoraDims {
  uint64_t rank = 0;
  double alpha = 0, dropout = 0;
  /// Linear layers by their names within a layer, such as "attention.q".
  std::vector<std::string> targets;

  double scale() const { return alpha / double(rank); }
};

/// What a model stores, and what of it is not seen in its tensors' shapes. The
/// front end that knows the model makes it.
struct ModelWeights {
  /// As f32, in the order of the forward pass.
  std::vector<TensorSpec> tensors;
  /// What biases routers' choices have, as a checkpoint keeps them: state of
  /// the training that some families store beside the weights.
  std::vector<TensorSpec> routerBiases = {};
  uint64_t layers = 0;     ///< Of the deeper stack, where there are two.
  uint64_t vocabulary = 0; ///< The rows of a vocabulary that are no padding.
  bool tied = false;       ///< The head is the embedding.
  bool classes = false;    ///< Classes of sequences are told, and no tokens.
  bool gated = false;      ///< MLPs have a gate.
  uint64_t heads = 0, kvHeads = 0, headDim = 0;
  uint64_t valueDim = 0; ///< Of a head's values in attention to latents, or 0.
  uint64_t rotatedDim = 0; ///< Elements of a head that rotate, the first ones.
  std::optional<LoraDims> lora = std::nullopt; ///< Adapters beside them.
};

/// Those that have a table of names.
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
/// the model. Of a model that tells classes, heads of tokens in the folder are
/// passed over; and where `fresh` is not null, tensors of its head that are
/// missing are left out, and their names added to it.
StatusOr<std::vector<CheckpointTensor>>
importHuggingFace(const HuggingFaceFolder &folder, const std::string &family,
                  const ModelWeights &weights,
                  std::vector<std::string> *fresh = nullptr);

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
/// index. Adapters are merged into the weights that they belong to. A few MiB
/// are in memory at once. InvalidArgument if the checkpoint has other weights,
/// the family has no place for one of its tensors, a number is too large for
/// the type, or the folder holds weights already. After an error there is no
/// more than before.
Status exportHuggingFace(const Checkpoint &checkpoint,
                         const ModelWeights &weights,
                         const HuggingFaceExport &to);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACE_H
