//===- Prepare.cpp - Text files to token files ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Prepare.h"

#include "runtime/base/WorkerPool.h"
#include "runtime/data/DocumentEncoder.h"
#include "runtime/data/DocumentReader.h"
#include "runtime/data/TokenFileWriter.h"
#include "runtime/tokenizer/EndOfDocument.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

using namespace hocket;
using namespace hocket::data;

namespace {

/// Every worker takes the next chunk, encodes it, waits for its turn and
/// writes it. A failure is reported at its turn too, so that the first one in
/// the order of the inputs wins, whatever the threads did.
class Preparation {
public:
  Preparation(DocumentReader &reader, std::vector<TokenFileWriter> &writers,
              const EncoderOptions &options, uint64_t maxBadLines,
              const std::function<void(const PrepareProgress &)> &progress)
      : reader(reader), writers(writers), options(options),
        maxBadLines(maxBadLines), report(progress), openTokens(writers.size()) {
    done.totalBytes = reader.totalBytes();
  }

  /// What each worker does.
  void work();
  Status finish();
  void tell(PrepareResult &result);

private:
  using Chunk = StatusOr<std::optional<DocumentChunk>>;

  Chunk take(uint64_t &turn);
  bool write(uint64_t turn, const StatusOr<EncodedChunk> &encoded);
  Status writeChunk(const EncodedChunk &chunk);
  Status countBadLines(const EncodedChunk &chunk);
  Status endSequence(size_t key);
  Status endDocument();

  DocumentReader &reader;
  std::vector<TokenFileWriter> &writers; ///< One a key.
  const EncoderOptions &options;
  const uint64_t maxBadLines;
  const std::function<void(const PrepareProgress &)> &report;

  std::mutex readMutex;
  uint64_t nextToRead = 0;
  bool exhausted = false;

  std::mutex writeMutex;
  std::condition_variable turnChanged;
  uint64_t nextToWrite = 0;
  Status failure;
  bool documentOpen = false;
  std::vector<uint64_t> openTokens; ///< Of the sequence being written.
  PrepareProgress done;
  uint64_t badLines = 0;
  std::vector<std::string> firstBadLines;
};

} // namespace

Preparation::Chunk Preparation::take(uint64_t &turn) {
  std::lock_guard lock(readMutex);
  if (exhausted)
    return std::optional<DocumentChunk>();
  auto chunk = reader.next();
  exhausted = !chunk.ok() || !*chunk;
  turn = nextToRead++;
  return chunk;
}

Status Preparation::endSequence(size_t key) {
  return writers[key].endSequence(std::exchange(openTokens[key], 0));
}

Status Preparation::endDocument() {
  if (!documentOpen)
    return okStatus();
  documentOpen = false;
  for (size_t k = 0; k < writers.size(); ++k) {
    HOCKET_RETURN_IF_ERROR(endSequence(k));
    writers[k].endDocument();
  }
  return okStatus();
}

Status Preparation::countBadLines(const EncodedChunk &chunk) {
  badLines += chunk.badLines;
  for (const std::string &wrong : chunk.wrong)
    if (firstBadLines.size() < EncodedChunk::mostWrong)
      firstBadLines.push_back(wrong);
  if (badLines <= maxBadLines)
    return okStatus();
  return invalidArgument("more than " + std::to_string(maxBadLines) +
                         " bad lines, which --max-bad-lines allows; the first "
                         "is " +
                         firstBadLines.front());
}

Status Preparation::writeChunk(const EncodedChunk &chunk) {
  HOCKET_RETURN_IF_ERROR(countBadLines(chunk));
  for (size_t k = 0; k < writers.size(); ++k)
    HOCKET_RETURN_IF_ERROR(writers[k].append(chunk.texts[k].bytes));
  std::vector<size_t> next(writers.size()); // In lengths, of each key.
  for (size_t i = 0; i < chunk.texts.front().sequences.size(); ++i) {
    if (i > 0 || !chunk.continuesDocument)
      HOCKET_RETURN_IF_ERROR(endDocument());
    documentOpen = true;
    for (size_t k = 0; k < writers.size(); ++k)
      for (size_t n = chunk.texts[k].sequences[i]; n > 0; --n, ++next[k]) {
        if (next[k] > 0 || !chunk.continuesSequence)
          HOCKET_RETURN_IF_ERROR(endSequence(k));
        openTokens[k] += chunk.texts[k].lengths[next[k]];
      }
  }
  done.bytes += chunk.fileBytes;
  done.textBytes += chunk.textBytes;
  done.documents = writers.front().documents() + documentOpen;
  done.tokens = 0;
  for (size_t k = 0; k < writers.size(); ++k)
    done.tokens += writers[k].tokens() + openTokens[k];
  if (report)
    report(done);
  return okStatus();
}

/// Writes at this chunk's turn; false if the work ends here.
bool Preparation::write(uint64_t turn, const StatusOr<EncodedChunk> &encoded) {
  std::unique_lock lock(writeMutex);
  turnChanged.wait(lock, [&] { return nextToWrite == turn || !failure.ok(); });
  if (failure.ok())
    failure = encoded.ok() ? writeChunk(*encoded) : encoded.status();
  ++nextToWrite;
  turnChanged.notify_all();
  return failure.ok();
}

void Preparation::work() {
  DocumentEncoder encoder(options);
  while (true) {
    uint64_t turn = 0;
    Chunk chunk = take(turn);
    if (chunk.ok() && !*chunk)
      return;
    bool goOn = chunk.ok() ? write(turn, encoder.encode(**chunk))
                           : write(turn, chunk.status());
    if (!goOn)
      return;
  }
}

Status Preparation::finish() {
  HOCKET_RETURN_IF_ERROR(failure);
  HOCKET_RETURN_IF_ERROR(endDocument());
  for (size_t k = 0; k < writers.size(); ++k)
    if (writers[k].tokens() == 0)
      return invalidArgument(
          "the inputs hold no text" +
          (writers.size() > 1 ? " under the key '" + options.jsonKeys[k] + "'"
                              : "") +
          ": " + std::to_string(writers[k].documents()) +
          " documents, 0 tokens");
  for (TokenFileWriter &writer : writers)
    HOCKET_RETURN_IF_ERROR(writer.finish());
  return okStatus();
}

void Preparation::tell(PrepareResult &result) {
  result.bytes = done.textBytes;
  result.documents = writers.front().documents();
  for (size_t k = 0; k < writers.size(); ++k) {
    result.files[k].sequences = writers[k].sequences();
    result.files[k].tokens = writers[k].tokens();
  }
  result.badLines = badLines;
  result.firstBadLines = std::move(firstBadLines);
}

static Status checkKey(const std::string &key) {
  if (key.empty() || key.find('/') != std::string::npos ||
      key.find('\0') != std::string::npos)
    return invalidArgument("expected a JSON key without '/', found '" + key +
                           "'; it becomes part of the file name");
  return okStatus();
}

static Status checkKeys(const PrepareOptions &options) {
  const std::vector<std::string> &keys = options.jsonKeys;
  if (keys.empty())
    return invalidArgument("expected at least one JSON key");
  for (size_t k = 0; k < keys.size(); ++k) {
    HOCKET_RETURN_IF_ERROR(checkKey(keys[k]));
    if (std::find(keys.begin(), keys.begin() + k, keys[k]) != keys.begin() + k)
      return invalidArgument("the JSON key '" + keys[k] + "' is named twice");
  }
  for (const std::string &path : options.inputs)
    if (keys.size() > 1 && !holdsJsonLines(path))
      return invalidArgument(path + ": is plain text, which has no JSON keys; "
                                    "prepare it by itself");
  return okStatus();
}

/// Where a chunk of plain text may end.
static DocumentReader::SplitPoint
splitPointOf(SentenceSplit sentences, const tokenizer::Tokenizer &tokenizer) {
  if (sentences != SentenceSplit::None)
    return lastSentenceEnd;
  return [&](std::string_view text) { return tokenizer.splitPoint(text); };
}

StatusOr<PrepareResult>
data::prepare(const PrepareOptions &options,
              const std::function<void(const PrepareProgress &)> &progress) {
  HOCKET_RETURN_IF_ERROR(checkKeys(options));
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(options.tokenizer));
  if (options.appendEndOfDocument && !tokenizer->endOfDocument())
    return invalidArgument(options.tokenizer +
                           ": has no token that ends a document, such as " +
                           std::string(tokenizer::documentEnds[0]) +
                           "; prepare the data without --append-eod");
  unsigned threads = options.threads;
  if (threads == 0) {
    HOCKET_ASSIGN_OR_RETURN(threads, WorkerPool::defaultCount());
  }
  HOCKET_ASSIGN_OR_RETURN(
      DocumentReader reader,
      DocumentReader::open(options.inputs,
                           splitPointOf(options.sentences, *tokenizer),
                           options.chunkBytes));
  EncoderOptions encoding;
  encoding.tokenizer = tokenizer.get();
  encoding.type = tokenTypeFor(tokenizer->vocabularySize());
  encoding.jsonKeys = options.jsonKeys;
  encoding.skipsBadLines = options.maxBadLines > 0;
  encoding.sentences = options.sentences;
  if (options.appendEndOfDocument)
    encoding.endOfDocument = tokenizer->endOfDocument();
  PrepareResult result;
  std::vector<TokenFileWriter> writers;
  const char *level =
      options.sentences == SentenceSplit::None ? "_document" : "_sentence";
  for (const std::string &key : options.jsonKeys) {
    result.files.push_back({options.prefix + "_" + key + level});
    HOCKET_ASSIGN_OR_RETURN(
        TokenFileWriter writer,
        TokenFileWriter::create(result.files.back().prefix, encoding.type));
    writers.push_back(std::move(writer));
  }
  Preparation preparation(reader, writers, encoding, options.maxBadLines,
                          progress);
  WorkerPool pool(threads);
  pool.onEachWorker([&](unsigned) { preparation.work(); });
  HOCKET_RETURN_IF_ERROR(preparation.finish());
  preparation.tell(result);
  result.vocabularySize = tokenizer->vocabularySize();
  result.tokenizerDigest = tokenizer->digest();
  return result;
}
