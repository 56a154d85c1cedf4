//===- SentencePieceModel.h - Reads tokenizer.model -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// SentencePiece's ModelProto, read field by field from its wire format:
/// Debian's library brings a protobuf of its own, which does not go with ours
/// in one process. What the tree does not use is skipped.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H
#define HOCKET_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H

#include "runtime/tokenizer/text/CharacterMap.h"
#include "runtime/tokenizer/text/SourceText.h"
#include "runtime/tokenizer/text/Vocabulary.h"

#include <vector>

namespace hocket::tokenizer {

/// The numbers of SentencePiece's schema.
enum class PieceType : uint8_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6,
};

struct SentencePieceModel {
  bool isUnigram = true; ///< Else BPE.
  bool hasByteFallback = false;
  bool spaceIsSuffix = false; ///< Words end with their space.
  std::string unknownSurface = " \xe2\x81\x87 ";

  Vocabulary pieces;
  std::vector<float> scores;
  std::vector<PieceType> types;

  CharacterMap map;
  bool addDummyPrefix = true;
  bool removeExtraSpaces = true;
  bool escapeSpaces = true; ///< As U+2581.
};

/// InvalidArgument with the byte at which a file is no such model, or a model
/// of another kind.
StatusOr<SentencePieceModel> readSentencePieceModel(const SourceText &file);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H
