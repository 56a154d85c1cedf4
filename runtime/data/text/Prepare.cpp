//===- Prepare.cpp - Text files to token files ----------------------------===//
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
#include "runtime/data/text/DocumentReader.h"
#include "runtime/data/text/PrepareImages.h"
#include "runtime/tokenizer/EndOfDocument.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

using namespace hocket;
using namespace hocket::data;

/// A chunk's images wait in memory for their turn: some 100, or 30 MB.
static constexpr size_t imageChunkBytes = size_t(32) << 10;

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

  /// Has conversations packed by `into`, which writes, and their images, if
  /// there are any, written to `file`.
  void pack(ConversationPacker &into, ImageFileWriter *file) {
    packer = &into;
    images = file;
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
  Status packChunk(const EncodedChunk &chunk);
  Status countBadLines(const EncodedChunk &chunk);
  Status endSequence(size_t key);
  Status endDocument();

  DocumentReader &reader;
  std::vector<TokenFileWriter> &writers; ///< One a key.
  const EncoderOptions &options;
  const uint64_t maxBadLines;
  const std::function<void(const PrepareProgress &)> &report;
  ConversationPacker *packer = nullptr;
  ImageFileWriter *images = nullptr;

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

Status Preparation::packChunk(const EncodedChunk &chunk) {
  for (LearnedTokens conversation : chunk.conversations) {
    packer->cut(conversation); // No image is written that it loses.
    for (uint32_t &image : conversation.images) {
      HOCKET_ASSIGN_OR_RETURN(image, images->add(chunk.pixels[image]));
    }
    HOCKET_RETURN_IF_ERROR(packer->add(std::move(conversation)));
  }
  done.bytes += chunk.fileBytes;
  done.textBytes += chunk.textBytes;
  done.documents = packer->conversations();
  done.tokens = writers.front().tokens();
  if (report)
    report(done);
  return okStatus();
}

Status Preparation::writeChunk(const EncodedChunk &chunk) {
  HOCKET_RETURN_IF_ERROR(countBadLines(chunk));
  if (packer)
    return packChunk(chunk);
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
  if (packer)
    HOCKET_RETURN_IF_ERROR(packer->finish());
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

//===----------------------------------------------------------------------===//
// Conversations
//===----------------------------------------------------------------------===//

namespace {
/// Where packed conversations go: token files, their mask and their images.
class ConversationFiles {
public:
  static StatusOr<std::unique_ptr<ConversationFiles>>
  create(TokenFileWriter &tokens, const std::string &prefix,
         const PrepareOptions &options, const EncoderOptions &encoding,
         int32_t end) {
    HOCKET_ASSIGN_OR_RETURN(LossMaskWriter mask,
                            LossMaskWriter::create(prefix));
    std::unique_ptr<ConversationFiles> files(new ConversationFiles(
        tokens, std::move(mask), options.packedLength, encoding, end));
    if (encoding.images) {
      ImageFileHead head;
      head.imageSize = encoding.images->imageSize;
      head.tokensPerImage = encoding.images->tokensPerImage;
      head.imageToken = uint64_t(encoding.images->token);
      head.mostPerDocument = encoding.images->imagesPerSequence;
      HOCKET_ASSIGN_OR_RETURN(files->images,
                              ImageFileWriter::create(prefix, head));
    }
    return files;
  }

  ConversationPacker packer;
  std::optional<ImageFileWriter> images;

  /// Once the token files are there.
  Status finish(PrepareResult &result) {
    result.documents = packer.conversations();
    result.learned = mask.learned();
    result.cut = packer.conversationsCut();
    result.endOfConversation = end;
    if (images) {
      HOCKET_RETURN_IF_ERROR(images->finish(tokens.tokens()));
      result.images = images->head().images;
      result.imageUses = images->head().uses;
    }
    return mask.finish(length, uint64_t(end));
  }

private:
  ConversationFiles(TokenFileWriter &tokens, LossMaskWriter mask,
                    uint64_t length, const EncoderOptions &encoding,
                    int32_t end)
      : packer(
            length, end,
            [this](const LearnedTokens &sequence) { return write(sequence); },
            packedImages(encoding)),
        tokens(tokens), mask(std::move(mask)), type(encoding.type),
        length(length), end(end) {}

  static PackedImages packedImages(const EncoderOptions &encoding) {
    if (!encoding.images)
      return {};
    return {encoding.images->token, encoding.images->tokensPerImage,
            encoding.images->imagesPerSequence};
  }

  Status write(const LearnedTokens &sequence) {
    std::string bytes;
    appendTokens(sequence.tokens, type, bytes);
    HOCKET_RETURN_IF_ERROR(tokens.append(bytes));
    HOCKET_RETURN_IF_ERROR(tokens.endSequence(sequence.tokens.size()));
    tokens.endDocument();
    if (images)
      images->endDocument(sequence.images);
    return mask.append(sequence.learned);
  }

  TokenFileWriter &tokens;
  LossMaskWriter mask;
  TokenType type;
  uint64_t length;
  int32_t end;
};
} // namespace

static Status checkConversations(const PrepareOptions &options,
                                 const tokenizer::Tokenizer &tokenizer) {
  constexpr uint64_t least = 2, most = uint64_t(1) << 31;
  if (options.packedLength < least || options.packedLength >= most)
    return invalidArgument(
        "conversations are packed into sequences of one length; write --pack "
        "N, the training.sequence_length that they are for");
  if (options.jsonKeys.size() != 1 || options.sentences != SentenceSplit::None)
    return invalidArgument("conversations stand under one JSON key, and are "
                           "not split into sentences");
  for (const std::string &path : options.inputs)
    if (!holdsJsonLines(path))
      return invalidArgument(path + ": is plain text; conversations are lines "
                                    "of JSON (.jsonl)");
  if (!tokenizer.findsSpecialTokens() && tokenizer.name() != "byte")
    return invalidArgument(
        options.tokenizer + ": a " + tokenizer.name() +
        " tokenizer finds no special tokens in what a chat template makes; "
        "use the model's tokenizer.json");
  if (!tokenizer.endOfDocument())
    return invalidArgument(options.tokenizer +
                           ": has no token that ends a document, such as " +
                           std::string(tokenizer::documentEnds[0]) +
                           ", which stands between conversations");
  return okStatus();
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
  std::optional<chat::ChatTemplate> chat;
  if (options.conversations) {
    HOCKET_RETURN_IF_ERROR(checkConversations(options, *tokenizer));
    HOCKET_ASSIGN_OR_RETURN(
        chat, chat::openChatTemplate(options.tokenizer, options.chatTemplate));
  }
  unsigned threads = options.threads;
  if (threads == 0) {
    HOCKET_ASSIGN_OR_RETURN(threads, WorkerPool::defaultCount());
  }
  EncoderOptions encoding;
  size_t chunkBytes = options.chunkBytes;
  if (options.images.perSequence > 0) {
    HOCKET_ASSIGN_OR_RETURN(encoding.images,
                            imageEncodingOf(options, *tokenizer));
    chunkBytes = std::min(chunkBytes, imageChunkBytes);
  }
  HOCKET_ASSIGN_OR_RETURN(
      DocumentReader reader,
      DocumentReader::open(options.inputs,
                           splitPointOf(options.sentences, *tokenizer),
                           chunkBytes));
  encoding.tokenizer = tokenizer.get();
  encoding.type = tokenTypeFor(tokenizer->vocabularySize());
  encoding.jsonKeys = options.jsonKeys;
  encoding.skipsBadLines = options.maxBadLines > 0;
  encoding.sentences = options.sentences;
  if (options.appendEndOfDocument)
    encoding.endOfDocument = tokenizer->endOfDocument();
  if (chat)
    encoding.chat = &*chat;
  PrepareResult result;
  std::vector<TokenFileWriter> writers;
  const char *level =
      options.sentences == SentenceSplit::None ? "_document" : "_sentence";
  for (const std::string &key : options.jsonKeys) {
    result.files.push_back({options.prefix + "_" + key + level});
    if (!options.conversations)
      HOCKET_RETURN_IF_ERROR(removeLossMask(result.files.back().prefix));
    if (!encoding.images)
      HOCKET_RETURN_IF_ERROR(removeImageFile(result.files.back().prefix));
    HOCKET_RETURN_IF_ERROR(removeClassFile(result.files.back().prefix));
    HOCKET_RETURN_IF_ERROR(removeWordFile(result.files.back().prefix));
    HOCKET_ASSIGN_OR_RETURN(
        TokenFileWriter writer,
        TokenFileWriter::create(result.files.back().prefix, encoding.type));
    writers.push_back(std::move(writer));
  }
  Preparation preparation(reader, writers, encoding, options.maxBadLines,
                          progress);
  std::unique_ptr<ConversationFiles> conversations;
  if (chat) {
    HOCKET_ASSIGN_OR_RETURN(
        conversations, ConversationFiles::create(
                           writers.front(), result.files.front().prefix,
                           options, encoding, *tokenizer->endOfDocument()));
    preparation.pack(conversations->packer,
                     conversations->images ? &*conversations->images : nullptr);
  }
  WorkerPool pool(threads);
  pool.onEachWorker([&](unsigned) { preparation.work(); });
  HOCKET_RETURN_IF_ERROR(preparation.finish());
  preparation.tell(result);
  // Last, so that they are never of other tokens than those beside them.
  if (conversations)
    HOCKET_RETURN_IF_ERROR(conversations->finish(result));
  if (auto continues = tokenizer->wordContinuations();
      continues && !options.conversations)
    for (const PreparedFiles &files : result.files)
      HOCKET_RETURN_IF_ERROR(
          writeWordFile(files.prefix, files.tokens, *continues));
  result.vocabularySize = tokenizer->vocabularySize();
  result.tokenizerDigest = tokenizer->digest();
  return result;
}
