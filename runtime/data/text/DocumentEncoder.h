//===- DocumentEncoder.h - A chunk of documents to tokens -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Turns one chunk into the bytes of a token file. Chunks are independent of
/// each other, so threads encode them at the same time, one encoder each.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_DOCUMENTENCODER_H
#define HOCKET_RUNTIME_DATA_TEXT_DOCUMENTENCODER_H

#include "runtime/data/IndexedDataset.h"
#include "runtime/data/text/Conversations.h"
#include "runtime/data/text/DocumentReader.h"
#include "runtime/data/text/ImageConversations.h"
#include "runtime/data/text/Sentences.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::data {

/// What a chunk holds under one key.
struct EncodedText {
  std::string bytes; ///< Tokens of the file's type.
  /// Tokens of each sequence: each document or, at either end, part of one; or
  /// each sentence, whole.
  std::vector<uint64_t> lengths;
  /// How many of them each document has, or part of one at either end.
  std::vector<uint64_t> sequences;
};

struct EncodedChunk {
  std::vector<EncodedText> texts; ///< One a key, of the same documents.
  std::vector<LearnedTokens> conversations; ///< In the place of texts.
  /// Of the images of conversations, whose numbers count these.
  std::vector<std::vector<uint8_t>> pixels;
  bool continuesDocument = false; ///< sequences[0] is of the last chunk's,
  bool continuesSequence = false; ///< and lengths[0] of its last sequence.
  uint64_t textBytes = 0;         ///< Bytes of input, decompressed,
  uint64_t fileBytes = 0;         ///< and as they lie on disk.
  uint64_t badLines = 0;          ///< That were skipped,
  std::vector<std::string> wrong; ///< and what is wrong with the first few.

  static constexpr size_t mostWrong = 10;
};

struct EncoderOptions {
  /// Outlives the encoder.
  const tokenizer::Tokenizer *tokenizer = nullptr;
  TokenType type = TokenType::U16;
  /// At least one. Plain text is what a single key has.
  std::vector<std::string> jsonKeys = {"text"};
  /// Skips bad lines of JSON and counts them.
  bool skipsBadLines = false;
  SentenceSplit sentences = SentenceSplit::None;
  /// Ends each document with text, if there is one.
  std::optional<int32_t> endOfDocument;
  /// Makes a conversation of the messages under the only key of a line;
  /// outlives the encoder. nullptr: lines hold texts.
  const chat::ChatTemplate *chat = nullptr;
  /// Conversations may be about images (ImageConversations.h).
  std::optional<ImageEncoding> images = std::nullopt;
};

/// Appends `tokens` as a file of `type` has them.
void appendTokens(std::span<const int32_t> tokens, TokenType type,
                  std::string &bytes);

class DocumentEncoder {
public:
  explicit DocumentEncoder(const EncoderOptions &options);
  ~DocumentEncoder();

  /// InvalidArgument, with file, line and column, for text that is not UTF-8
  /// and lines that are no JSON object with one string under each key, or have
  /// more than 4 million values. Memory: the tokens, the longest line once
  /// more, and 32 bytes for each of its values.
  StatusOr<EncodedChunk> encode(const DocumentChunk &chunk);

private:
  struct Json;

  Status encodeText(const DocumentChunk &chunk, EncodedChunk &out);
  Status encodeLines(const DocumentChunk &chunk, EncodedChunk &out);
  Status wrongAt(const DocumentChunk &chunk, size_t offset,
                 const std::string &message) const;
  Status wrongJson(const DocumentChunk &chunk, size_t begin,
                   std::string_view line, int error) const;
  void reachLine(const DocumentChunk &chunk, size_t offset);
  /// Parses one line, which `json` then holds.
  Status parseJson(const DocumentChunk &chunk, std::string_view line);
  Status parseLine(const DocumentChunk &chunk, std::string_view line);
  StatusOr<ImageMessages> readMessages() const;
  Status parseConversation(const DocumentChunk &chunk, std::string_view line,
                           EncodedChunk &out);
  size_t partOf(std::string_view text) const;
  uint64_t flushTokens(EncodedText &out);
  uint64_t encodeSequence(std::string_view text, bool continues,
                          EncodedText &out);
  void emit(std::string_view text, bool continuesDocument, bool endsDocument,
            EncodedText &out);

  EncoderOptions options;
  chat::ContentForms contents; ///< What the chat template takes.
  std::unique_ptr<Json> json;
  std::vector<int32_t> tokens;
  std::vector<std::string_view> lineTexts; ///< Of a line, one a key.
  /// A line of the chunk in work, and where it is; places are counted from it.
  size_t reached = 0;
  TextPlace reachedPlace;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_DOCUMENTENCODER_H
