//===- EmbeddingFile.h - Embeddings of chunks -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where the embeddings of chunks come from: rows of f32, one a chunk. Those
/// that an encoder makes are kept in a RowFile; those that another program made
/// are NumPy files, .npy of version 1 to 3, of f32 [chunks, dim] in C order.
/// They are hostile until checked, and each number is when it is read.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_RETRIEVAL_EMBEDDINGFILE_H
#define HOCKET_RUNTIME_DATA_RETRIEVAL_EMBEDDINGFILE_H

#include "base/File.h"
#include "runtime/data/retrieval/Nearest.h"
#include "runtime/data/retrieval/RowFile.h"

#include <memory>

namespace hocket::data {

inline constexpr std::string_view embeddingsKind = "HKTEMBED";
/// Elements of an embedding.
inline constexpr uint64_t mostEmbeddingDims = 1 << 16;

class EmbeddingSource {
public:
  virtual ~EmbeddingSource() = default;

  virtual uint64_t rows() const = 0;
  virtual uint64_t dim() const = 0;
  /// Equal digests, equal numbers.
  virtual Sha256::Digest digest() const = 0;

  /// Fills out[i] with row first + i, for `count` rows that are there. One
  /// caller at a time.
  virtual Status read(uint64_t first, uint64_t count, RowMatrix &out) = 0;
};

/// A .npy file. DataLoss if it is none, or does not hold f32 [rows, dim] with a
/// row for each of `rows` chunks ("chunks of the corpus").
StatusOr<std::unique_ptr<EmbeddingSource>>
openNpyEmbeddings(const std::string &path, uint64_t rows,
                  const std::string &what);

/// Those that an encoder made. DataLoss if the file holds others.
StatusOr<std::unique_ptr<EmbeddingSource>>
openKeptEmbeddings(const std::string &path);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_RETRIEVAL_EMBEDDINGFILE_H
