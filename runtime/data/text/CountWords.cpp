//===- CountWords.cpp - The words of a corpus -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/CountWords.h"

#include "base/WorkerPool.h"
#include "runtime/data/text/DocumentEncoder.h"

#include <mutex>

using namespace hocket;
using namespace hocket::data;

using tokenizer::WordCounts;

namespace {

/// Counts words where a tokenizer would encode them; a thread has its own.
class WordCounter : public tokenizer::Tokenizer {
public:
  WordCounter(tokenizer::WordPattern pattern, WordCounts &counts)
      : splitter(pattern), counts(counts) {}

  std::string name() const override { return "words"; }
  uint64_t vocabularySize() const override { return 0; }
  std::optional<int32_t> endOfDocument() const override { return std::nullopt; }
  void encode(std::string_view text, std::vector<int32_t> &tokens,
              tokenizer::TextPart part) const override {
    const char *at = text.data(), *end = at + text.size();
    while (at < end) {
      const char *next = splitter.wordEnd(at, end);
      ++counts[std::string(at, next)];
      at = next;
    }
  }
  std::string decode(std::span<const int32_t> tokens,
                     tokenizer::SpecialTokens special) const override {
    return "";
  }
  size_t splitPoint(std::string_view text) const override {
    return tokenizer::lastWordEnd(text);
  }
  std::optional<std::string> tokenText(int32_t token) const override {
    return std::nullopt;
  }

private:
  tokenizer::WordSplitter splitter;
  WordCounts &counts;
};

/// The documents, which threads take a chunk at a time.
class Counting {
public:
  Counting(DocumentReader &reader, const CountOptions &options,
           const std::function<void(uint64_t, uint64_t)> &progress)
      : reader(reader), options(options), report(progress) {}

  /// What each worker does.
  void work();

  Status failure;
  WordCounts counts;

private:
  StatusOr<std::optional<DocumentChunk>> take();
  void note(const Status &status, uint64_t bytes);

  DocumentReader &reader;
  const CountOptions &options;
  const std::function<void(uint64_t, uint64_t)> &report;
  std::mutex mutex;
  bool ended = false;
  uint64_t done = 0;
};

} // namespace

StatusOr<std::optional<DocumentChunk>> Counting::take() {
  std::lock_guard lock(mutex);
  if (ended)
    return std::optional<DocumentChunk>();
  auto chunk = reader.next();
  ended = !chunk.ok() || !*chunk;
  return chunk;
}

/// A chunk is done, or has failed, which ends the work.
void Counting::note(const Status &status, uint64_t bytes) {
  std::lock_guard lock(mutex);
  done += bytes;
  if (!status.ok() && failure.ok())
    failure = status;
  ended |= !status.ok();
  if (status.ok() && report)
    report(done, reader.totalBytes());
}

void Counting::work() {
  WordCounts own;
  WordCounter counter(options.pattern, own);
  EncoderOptions encoding;
  encoding.tokenizer = &counter;
  encoding.jsonKeys = {options.jsonKey};
  DocumentEncoder encoder(encoding);
  while (true) {
    auto chunk = take();
    if (!chunk.ok())
      note(chunk.status(), 0);
    if (!chunk.ok() || !*chunk)
      break;
    note(encoder.encode(**chunk).status(), (**chunk).fileBytes);
  }
  std::lock_guard lock(mutex);
  if (counts.empty())
    counts.swap(own);
  for (const auto &[word, count] : own)
    counts[word] += count;
}

StatusOr<WordCounts>
data::countWords(const CountOptions &options,
                 const std::function<void(uint64_t, uint64_t)> &progress) {
  unsigned threads = options.threads;
  if (threads == 0) {
    HOCKET_ASSIGN_OR_RETURN(threads, WorkerPool::defaultCount());
  }
  // Where documents may be cut is the same for every thread's counter.
  WordCounts none;
  WordCounter cuts(options.pattern, none);
  HOCKET_ASSIGN_OR_RETURN(
      DocumentReader reader,
      DocumentReader::open(
          options.inputs,
          [&](std::string_view text) { return cuts.splitPoint(text); },
          options.chunkBytes));
  Counting counting(reader, options, progress);
  WorkerPool pool(threads);
  pool.onEachWorker([&](unsigned) { counting.work(); });
  HOCKET_RETURN_IF_ERROR(counting.failure);
  if (counting.counts.empty())
    return invalidArgument("the inputs hold no text");
  return std::move(counting.counts);
}
