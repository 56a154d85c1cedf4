//===- Checkpoint.h - The state of a run on disk ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A checkpoint folder:
///
///   DIR/latest_checkpointed_iteration.txt   "100"
///   DIR/iter_0000100/manifest.json          what there is
///   DIR/iter_0000100/model.safetensors      weights, by canonical name
///   DIR/iter_0000100/optimizer.safetensors  "<name>.<slot>", if any
///
/// Tensors are stored by global name and shape, in slices that may be cut
/// differently when they are loaded. An iteration is written beside its final
/// place, made durable and renamed; then the .txt is replaced. A save that is
/// interrupted anywhere leaves the last checkpoint as it was.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define HOCKET_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/Slices.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hocket::checkpoint {

/// Dynamic loss scaling's state.
struct LossScaleState {
  double scale = 1;
  uint64_t goodSteps = 0; ///< Since the scale last changed.
  bool operator==(const LossScaleState &) const = default;
};

/// Everything but tensors that a run needs to continue.
struct RunState {
  uint64_t step = 0;            ///< Steps done.
  uint64_t consumedSamples = 0; ///< Of the training split.
  uint64_t seed = 0;
  std::optional<LossScaleState> lossScale;
  std::string specText; ///< As textproto, after all overrides.
};

/// Names a weight (slot "") or a part of its optimizer state ("exp_avg").
struct TensorKey {
  std::string name;
  std::string slot;
  auto operator<=>(const TensorKey &) const = default;
  /// "layers.0.mlp.up.weight" or "layers.0.mlp.up.weight.exp_avg".
  std::string text() const { return slot.empty() ? name : name + "." + slot; }
};

/// A tensor's key, type and global shape.
struct TensorSpec {
  TensorKey key;
  ElementType type = ElementType::F32;
  std::vector<uint64_t> shape;
};

/// Part of a tensor on its way to disk.
struct TensorSlice {
  SliceBounds bounds;
  ByteProducer bytes;
};

struct CheckpointTensor {
  TensorSpec spec;
  std::vector<TensorSlice> slices; ///< Disjoint; together the whole tensor.
};

/// A tensor that is in memory as a whole; `bytes` must outlive the save.
CheckpointTensor wholeTensor(TensorSpec spec, std::span<const uint8_t> bytes);

/// Writes DIR/iter_<step> and makes it the latest. Replaces an iteration of
/// the same step. On failure `dir` holds what it held before.
Status saveCheckpoint(const std::string &dir, const RunState &state,
                      const std::vector<CheckpointTensor> &tensors);

/// What must be the same in a checkpoint and who loads it.
enum class Completeness {
  Whole,
  /// A checkpoint may have no optimizer state at all, as one that was imported
  /// has none, but for biases of routers.
  SlotsOptional,
  /// Who trains nothing leaves optimizer state, and what counts steps, where it
  /// is.
  WeightsAlone,
};

/// An iteration that was saved, mapped; tensors are read when asked for.
class Checkpoint {
public:
  struct OpenOptions {
    /// Reads every byte once to compare SHA-256 digests; sizes and headers
    /// are checked always.
    bool verifyDigests = true;
    /// But not those of files that hold optimizer state.
    bool skipOptimizer = false;
  };

  /// `dir` is a checkpoint folder (its latest iteration is taken) or one
  /// iteration of it. NotFound if there is none, DataLoss for damage.
  static StatusOr<Checkpoint> open(const std::string &dir,
                                   const OpenOptions &options);
  static StatusOr<Checkpoint> open(const std::string &dir) {
    return open(dir, OpenOptions());
  }

  const std::string &path() const { return folder; }
  const RunState &state() const { return run; }

  /// Those that hold the tensors.
  const std::vector<SafetensorsFile> &safetensors() const { return files; }

  /// Every tensor, sorted by key.
  std::vector<TensorSpec> tensors() const;
  bool contains(const TensorKey &key) const;

  /// One error, which names it, for the first tensor of `expected` that is
  /// missing or has another shape or type, then for the first stored tensor
  /// that is not in `expected`, as far as `completeness` asks for it.
  Status expectTensors(const std::vector<TensorSpec> &expected,
                       Completeness completeness = Completeness::Whole) const;

  /// Fills `out` with the elements of `slice` of the tensor, converted to
  /// nothing: type and global shape must be `spec`'s.
  Status read(const TensorSpec &spec, const SliceBounds &slice,
              std::span<uint8_t> out) const;

  /// Gives the same bytes a few MiB at a time; the checkpoint outlives it.
  ByteProducer bytesOf(const TensorSpec &spec, const SliceBounds &slice) const;

private:
  struct StoredSlice {
    size_t file = 0; ///< Index into `files`.
    SliceBounds bounds;
    const TensorInfo *info = nullptr;
  };
  struct StoredTensor {
    TensorSpec spec;
    std::vector<StoredSlice> slices;
  };
  friend class ManifestReader;

  Status mismatch(const TensorSpec &expected) const;
  const StoredTensor *find(const TensorKey &key) const;

  std::string folder;
  RunState run;
  std::vector<SafetensorsFile> files;
  std::vector<StoredTensor> stored; ///< Sorted by key.
};

/// DIR/iter_0000100.
std::string iterationFolder(const std::string &dir, uint64_t step);

/// The step in DIR/latest_checkpointed_iteration.txt; NotFound if there is no
/// such file.
StatusOr<uint64_t> latestIteration(const std::string &dir);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_CHECKPOINT_H
