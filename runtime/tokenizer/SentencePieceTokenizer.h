//===- SentencePieceTokenizer.h - SentencePiece's tokenizers ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// BPE with byte fallback (Llama-2, Mistral) and unigram (T5), as SentencePiece
/// has them: a text is normalized, its spaces become U+2581, and it is cut into
/// pieces as a whole, without words.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_SENTENCEPIECETOKENIZER_H
#define HOCKET_RUNTIME_TOKENIZER_SENTENCEPIECETOKENIZER_H

#include "runtime/tokenizer/SentencePieceModel.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/text/Trie.h"

#include <array>

namespace hocket::tokenizer {

class SentencePieceTokenizer : public Tokenizer {
public:
  /// InvalidArgument if there is no unknown piece, if a model with byte
  /// fallback lacks a byte, or if the pieces are too long to be searched.
  static StatusOr<std::unique_ptr<Tokenizer>> create(SentencePieceModel model);

  std::string name() const override {
    return model.isUnigram ? "SentencePiece unigram" : "SentencePiece BPE";
  }
  uint64_t vocabularySize() const override { return model.types.size(); }
  std::optional<int32_t> endOfDocument() const override { return end; }
  void encode(std::string_view text, std::vector<int32_t> &tokens,
              TextPart part) const override;
  /// A prompt begins with the piece that begins a text, if there is one. The
  /// names of control pieces in it are text, as for SentencePiece itself.
  void encodePrompt(std::string_view text,
                    std::vector<int32_t> &tokens) const override;
  std::string decode(std::span<const int32_t> tokens,
                     SpecialTokens special) const override;
  size_t splitPoint(std::string_view text) const override;
  std::optional<std::string> tokenText(int32_t token) const override;
  std::vector<std::pair<std::string, std::string>> describe() const override;

private:
  explicit SentencePieceTokenizer(SentencePieceModel given);

  Status prepare();
  PieceType typeOf(int32_t id) const { return model.types[size_t(id)]; }
  CharacterMap::Match normalizePrefix(std::string_view text) const;
  std::string normalize(std::string_view text, TextPart part) const;
  void encodeUnigram(std::string_view text, std::vector<int32_t> &tokens) const;
  void encodeBytePairs(std::string_view text,
                       std::vector<int32_t> &tokens) const;
  /// Appends a piece, or what stands for one that is unknown.
  void emit(std::string_view piece, int32_t id, bool &followsUnknown,
            std::vector<int32_t> &tokens) const;

  SentencePieceModel model;
  Trie pieces;      ///< Those that text can become.
  Trie userDefined; ///< Those that are never cut nor normalized.
  std::array<int32_t, 256> tokenOfByte;
  int32_t unknown = noToken;
  std::optional<int32_t> begin, end;
  float unknownScore = 0, greatestScore = 0;
  bool crossesSpaces = false; ///< A piece has a space behind something else.
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_SENTENCEPIECETOKENIZER_H
