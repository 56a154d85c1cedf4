//===- Embed.h - Embeddings of texts by an encoder --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What Retro retrieves by (arXiv 2112.04426, section 2.2): a text is encoded
/// as [CLS] text [SEP], cut to the length of the program's sequences, and its
/// embedding is the mean of what the last layer made of its tokens, without
/// these two. A text without tokens has zeros.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_EMBED_H
#define HOCKET_RUNTIME_INFERENCE_EMBED_H

#include "runtime/inference/ModelRun.h"

#include <memory>
#include <span>
#include <vector>

namespace hocket::inference {

/// The ranks of a program, each of which waits in a thread for texts.
class TextEmbedder {
public:
  /// A program that passed checkProgram(), compiled to embed; InvalidArgument
  /// for any other. Returns when the weights are loaded.
  static StatusOr<std::unique_ptr<TextEmbedder>>
  open(std::shared_ptr<const program::Program> program,
       const ModelOptions &options);
  ~TextEmbedder();

  /// Elements of an embedding.
  uint64_t dim() const;
  /// Texts that are encoded together.
  uint64_t rows() const;

  /// Fills `out`, [texts, dim], for the tokens of texts. A text's numbers do
  /// not depend on the others. InvalidArgument for a token outside the
  /// vocabulary. One caller at a time.
  Status embed(std::span<const std::vector<int32_t>> texts,
               std::span<float> out);

private:
  struct Shared;
  explicit TextEmbedder(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared;
};

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_EMBED_H
