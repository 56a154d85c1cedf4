//===- HuggingFaceEntries.h - The tensors of one model ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table of a family (HuggingFaceNames.h) for one model: a row for each
/// tensor that Hugging Face stores. Import and export read it in their
/// directions.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACEENTRIES_H
#define HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACEENTRIES_H

#include "runtime/checkpoint/hugging_face/HuggingFace.h"
#include "runtime/checkpoint/hugging_face/HuggingFaceNames.h"

#include <optional>
#include <span>

namespace hocket::checkpoint {

/// A row of the table for one layer of one model.
struct HuggingFaceEntry {
  std::string theirs;
  std::vector<TensorSpec> parts;
  bool transposed = false;
  uint64_t rows = 0;      ///< Of all parts, without padding of a vocabulary.
  uint64_t columns = 1;   ///< Elements of a row.
  uint64_t skipped = 0;   ///< Rows before them that are no part's.
  bool vector = false;    ///< Rank 1.
  bool depthwise = false; ///< Theirs is [rows, 1, columns].
  bool patches = false;   ///< Theirs is [rows, 3, p, p].
  /// Which expert's matrix it is, where the part has one for each.
  std::optional<uint64_t> expert;
  /// How many have theirs in one tensor, [experts, rows, columns]; 0: it is no
  /// tensor of experts, or each has its own.
  uint64_t experts = 0;
  /// Parts stand in so many groups of equally many rows, each of all parts; 0:
  /// all of a part follows another.
  uint64_t groups = 0;
  /// Rows of a head whose first `rotated` ones stand in pairs; 0: none do.
  uint64_t pairedHead = 0, rotated = 0;
  bool rotatesLast = false; ///< Those are a head's last rows.
  /// The only part whose rows are such heads; of none: all parts.
  std::optional<size_t> pairedPart;

  bool isPaired(size_t part) const {
    return pairedHead > 0 && pairedPart.value_or(part) == part;
  }

  /// Turns whole heads from pairs into halves, as Hocket has them, or back.
  void halve(std::span<uint8_t> heads, uint64_t rowBytes) const;
  void pair(std::span<uint8_t> heads, uint64_t rowBytes) const;

  /// Rows [first, first + count) of a part that is no expert's.
  SliceBounds rowsOf(const TensorSpec &part, uint64_t first,
                     uint64_t count) const {
    SliceBounds bounds = wholeOf(part.shape);
    bounds.offset[0] = first;
    bounds.size[0] = count;
    return bounds;
  }

  /// Those of an expert in a part of a tensor that is theirs together.
  SliceBounds boundsOf(const TensorSpec &part, uint64_t of) const {
    return {{of, 0, 0}, {1, part.shape[1], part.shape[2]}};
  }

  /// Of the part, which is all of it but for experts.
  SliceBounds boundsOf(const TensorSpec &part) const {
    if (!expert)
      return wholeOf(part.shape);
    return {{*expert, 0, 0}, {1, rows, columns}};
  }

  /// As Hugging Face stores it.
  std::vector<uint64_t> theirShape() const {
    if (vector)
      return {rows};
    if (experts > 0)
      return {experts, rows, columns};
    if (depthwise)
      return {rows, 1, columns};
    if (patches) {
      uint64_t side = 0;
      while (3 * side * side < columns)
        ++side;
      return {rows, 3, side, side};
    }
    return transposed ? std::vector<uint64_t>{columns, rows}
                      : std::vector<uint64_t>{skipped + rows, columns};
  }
};

/// Every tensor of a model, in `table`'s names. InvalidArgument for one that
/// the family has no place for.
StatusOr<std::vector<HuggingFaceEntry>>
huggingFaceEntries(const NameTable &table, const ModelWeights &weights);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACEENTRIES_H
