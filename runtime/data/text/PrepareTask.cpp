//===- PrepareTask.cpp - Labelled texts to token files --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/Prepare.h"

#include "base/WorkerPool.h"
#include "runtime/data/ClassFile.h"
#include "runtime/data/ImageFile.h"
#include "runtime/data/LossMask.h"
#include "runtime/data/TokenFileWriter.h"
#include "runtime/data/WordFile.h"
#include "runtime/data/text/DocumentEncoder.h"
#include "runtime/data/text/TaskFiles.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::data;

/// The tokens of each text of a document.
using Encoded = std::vector<std::vector<int32_t>>;

static std::vector<Encoded> encodeAll(const tokenizer::Tokenizer &tokenizer,
                                      const std::vector<LabelledTexts> &samples,
                                      unsigned threads) {
  std::vector<Encoded> encoded(samples.size());
  WorkerPool pool(threads);
  constexpr int64_t grain = 64;
  pool.parallelFor(int64_t(samples.size()), grain,
                   [&](int64_t begin, int64_t end, unsigned) {
                     for (auto i = size_t(begin); i < size_t(end); ++i)
                       for (const std::string &text : samples[i].texts)
                         tokenizer.encode(text, encoded[i].emplace_back());
                   });
  return encoded;
}

/// A text that encodes to nothing would be no sequence.
static Status checkTokens(const LabelledTexts &sample, const Encoded &encoded) {
  for (size_t t = 0; t < encoded.size(); ++t)
    if (encoded[t].empty())
      return invalidArgument(sample.place + ": text " + std::to_string(t + 1) +
                             " has no token under this tokenizer");
  return okStatus();
}

StatusOr<PrepareResult> data::prepareTask(const PrepareOptions &options) {
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(options.tokenizer));
  unsigned threads = options.threads;
  if (threads == 0) {
    HOCKET_ASSIGN_OR_RETURN(threads, WorkerPool::defaultCount());
  }
  HOCKET_ASSIGN_OR_RETURN(
      TaskSamples task,
      readTask(options.task, options.inputs, options.maxBadLines));
  std::vector<Encoded> encoded = encodeAll(*tokenizer, task.samples, threads);
  PrepareResult result;
  result.files.push_back({options.prefix + "_" + options.task + "_document"});
  PreparedFiles &files = result.files.front();
  TokenType type = tokenTypeFor(tokenizer->vocabularySize());
  HOCKET_ASSIGN_OR_RETURN(TokenFileWriter writer,
                          TokenFileWriter::create(files.prefix, type));
  DocumentClasses classes{task.classes, task.areChoices, {}};
  result.ofClass.resize(classes.names.size());
  for (size_t i = 0; i < encoded.size(); ++i) {
    HOCKET_RETURN_IF_ERROR(checkTokens(task.samples[i], encoded[i]));
    for (const std::vector<int32_t> &text : encoded[i]) {
      std::string bytes;
      appendTokens(text, type, bytes);
      HOCKET_RETURN_IF_ERROR(writer.append(bytes));
      HOCKET_RETURN_IF_ERROR(writer.endSequence(text.size()));
    }
    writer.endDocument();
    classes.labels.push_back(task.samples[i].label);
    ++result.ofClass[task.samples[i].label];
  }
  HOCKET_RETURN_IF_ERROR(removeLossMask(files.prefix));
  HOCKET_RETURN_IF_ERROR(removeWordFile(files.prefix));
  HOCKET_RETURN_IF_ERROR(removeImageFile(files.prefix));
  HOCKET_RETURN_IF_ERROR(writer.finish());
  // Last, so that classes are never of other texts than those beside them.
  HOCKET_RETURN_IF_ERROR(writeClassFile(files.prefix, classes));
  files.sequences = writer.sequences();
  files.tokens = writer.tokens();
  result.bytes = task.bytes;
  result.documents = writer.documents();
  result.badLines = task.badLines;
  result.firstBadLines = std::move(task.firstBadLines);
  result.unlabelled = task.unlabelled;
  result.classes = std::move(classes.names);
  result.vocabularySize = tokenizer->vocabularySize();
  result.tokenizerDigest = tokenizer->digest();
  return result;
}
