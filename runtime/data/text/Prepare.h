//===- Prepare.h - Text files to token files --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `hocket data prepare`: reads documents, encodes them on all threads, and
/// writes `<prefix>_<key>_document.{bin,idx}` for each key, or with sentences
/// as sequences `<prefix>_<key>_sentence.{bin,idx}`; of a WordPiece vocabulary
/// also `.words` beside them (WordFile.h). The files do not depend on
/// the number of threads: chunks are written in the order of the inputs. Memory
/// is a few chunks a thread, and 4 bytes a document.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_PREPARE_H
#define HOCKET_RUNTIME_DATA_TEXT_PREPARE_H

#include "base/Status.h"
#include "runtime/data/text/Sentences.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hocket::data {

/// What is made of the images of conversations (ImageConversations.h).
struct ImagePreparation {
  uint64_t perSequence = 0; ///< The most; 0: conversations are text alone.
  /// 0 and "": those of the model in the folder of the tokenizer.
  uint64_t imageSize = 0, patchSize = 0;
  std::string features = {}; ///< "default", or "full": one token more.
  std::string token = "<image>";
  std::string folder = {}; ///< Of files; empty: the one that names them.
};

struct PrepareOptions {
  std::vector<std::string> inputs; ///< In this order; see DocumentReader.h.
  std::string prefix;
  std::string tokenizer = "byte"; ///< As openTokenizer() takes it.
  std::vector<std::string> jsonKeys = {"text"}; ///< Each its own files.
  bool appendEndOfDocument = false; ///< After each document with text.
  SentenceSplit sentences = SentenceSplit::None;
  /// Makes conversations of messages, of a single key, by the template of the
  /// tokenizer's folder or, if it is not empty, `chatTemplate`: sequences of
  /// `packedLength` tokens (Conversations.h), and a mask of answers
  /// (LossMask.h).
  bool conversations = false;
  std::string chatTemplate = {};
  uint64_t packedLength = 0;
  /// Writes their images beside them (ImageFile.h).
  ImagePreparation images = {};
  /// Labelled texts of a task (TaskFiles.h), with prepareTask(); else empty.
  std::string task = {};
  /// Bad lines of JSON, or bad rows, are skipped up to so many.
  uint64_t maxBadLines = 0;
  unsigned threads = 0; ///< 0: WorkerPool::defaultCount().
  size_t chunkBytes = size_t(4) << 20;
};

struct PrepareProgress {
  uint64_t bytes = 0;      ///< Of the input files, done.
  uint64_t totalBytes = 0; ///< Of all input files.
  uint64_t textBytes = 0;  ///< Done, decompressed.
  uint64_t documents = 0;
  uint64_t tokens = 0; ///< Of all keys.
};

/// A pair of files, of one key.
struct PreparedFiles {
  std::string prefix; ///< With the key and "_document" or "_sentence".
  uint64_t sequences = 0;
  uint64_t tokens = 0;
};

struct PrepareResult {
  std::vector<PreparedFiles> files; ///< In the order of the keys.
  uint64_t bytes = 0;               ///< Of text: of the inputs, decompressed.
  uint64_t documents = 0;           ///< Of each pair.
  uint64_t badLines = 0;            ///< That were skipped,
  std::vector<std::string> firstBadLines; ///< what is wrong with the first 10.
  uint64_t learned = 0; ///< Tokens of conversations that are answers.
  uint64_t cut = 0;     ///< Conversations that were too long.
  std::optional<int32_t> endOfConversation = {};
  uint64_t images = 0;    ///< Different ones of conversations,
  uint64_t imageUses = 0; ///< and how often they have them.
  /// Of labelled texts: the classes, how many documents each has, and how many
  /// had none and were left out.
  std::vector<std::string> classes = {};
  std::vector<uint64_t> ofClass = {};
  uint64_t unlabelled = 0;
  uint64_t vocabularySize = 0; ///< What a model of these tokens needs.
  std::string tokenizerDigest; ///< Tokenizer::digest().
};

/// `progress`, if set, is called after each chunk, by one thread at a time.
/// InvalidArgument, with file:line:column, for bad input, of lines that are bad
/// for more than maxBadLines of them, and where there is not one token under a
/// key. On failure no file is changed.
StatusOr<PrepareResult>
prepare(const PrepareOptions &options,
        const std::function<void(const PrepareProgress &)> &progress = {});

/// The same of labelled texts, options.task: writes
/// `<prefix>_<task>_document.{bin,idx,classes}` (ClassFile.h). Special tokens
/// are not added: what frames a sample is up to who trains. Memory: that of all
/// texts, and 4 bytes a token. On failure no file is changed.
StatusOr<PrepareResult> prepareTask(const PrepareOptions &options);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_PREPARE_H
