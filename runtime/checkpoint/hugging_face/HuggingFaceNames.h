//===- HuggingFaceNames.h - One table of names per family -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rows behind HuggingFace.h.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACENAMES_H
#define HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACENAMES_H

#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket::checkpoint {

/// One tensor of Hugging Face: the tensors `parts` of Hocket, stacked along
/// their first dim, then transposed if the row says so. "{i}" is the layer.
/// "{e}" is an expert: the one part then has a leading dim of experts, and each
/// is a tensor of Hugging Face.
struct NameRow {
  const char *theirs;
  std::vector<const char *> parts;
  bool transposed = false;
  /// Not all of a part follows another, but the rows of each key head: those of
  /// the queries that share it, its key and its value, then those of the next.
  bool byHead = false;
  /// Theirs has a dim of one between rows and columns: the channels that an
  /// output channel of a depthwise convolution reads.
  bool depthwise = false;
  /// Of models alone whose MLPs have a gate, or have none.
  std::optional<bool> gated = std::nullopt;
  /// Theirs has dims of three channels and of equal rows and columns of a patch
  /// in the place of columns.
  bool patches = false;
  /// The rows of a head that rotate stand in pairs, each of which turns; in
  /// Hocket's, the first rows of all pairs stand before the second ones.
  bool paired = false;
  /// The rows that rotate are the last ones of a head, and in Hocket's the
  /// first.
  bool rotatesLast = false;
  /// Paired is this one of several parts, whose rows are one head that rotates.
  const char *pairedPart = nullptr;
  /// So many rows stand before those of the parts, and nothing reads them. They
  /// are written as zeros.
  uint64_t skipped = 0;
  /// Of layers alone that have this tensor, or that lack it.
  const char *beside = nullptr, *inPlaceOf = nullptr;
};

struct NameTable {
  const char *family;
  /// A file may leave this out where `theirs` begins with it.
  const char *optionalPrefix;
  std::vector<NameRow> rows;
  /// Ends of names of buffers that are no weights, passed over when read.
  std::vector<const char *> ignored;
  /// What a file may have in the place of the beginning of a name, as the name
  /// has it and as the file has it.
  std::vector<std::pair<const char *, const char *>> otherPrefixes = {};
  /// What modules' names begin with in a model that was loaded, in the place of
  /// what a file has.
  std::pair<const char *, const char *> modulePrefix = {"", ""};
  /// Layers behind the last one, which predict more tokens, are passed over.
  bool hasLayersBehind = false;
};

/// InvalidArgument, naming the families that there are.
StatusOr<const NameTable *> findNameTable(const std::string &family);

std::span<const NameTable> nameTables();

/// Those of families that took Llama's names (LlamaNames.cpp).
std::vector<NameTable> llamaNameTables();

/// `text` with "{i}" replaced by `layer`.
std::string nameOfLayer(const char *text, uint64_t layer);

/// `text` with "{e}" replaced by `expert`.
std::string nameOfExpert(std::string text, uint64_t expert);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_HUGGING_FACE_HUGGINGFACENAMES_H
