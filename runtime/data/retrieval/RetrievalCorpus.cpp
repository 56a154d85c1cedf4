//===- RetrievalCorpus.cpp - Texts that neighbours come from --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/retrieval/RetrievalCorpus.h"

#include "base/CheckedMath.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::data;

StatusOr<Sha256::Digest> data::fingerprintOf(const IndexedDataset &file) {
  constexpr uint64_t blocks = 64, blockBytes = 4096;
  Sha256 hash;
  std::vector<uint8_t> bytes(blockBytes);
  for (const char *extension : {".idx", ".bin"}) {
    HOCKET_ASSIGN_OR_RETURN(RandomAccessFile opened,
                            RandomAccessFile::open(file.prefix() + extension));
    uint64_t size = opened.size(), count = std::min(size, blockBytes);
    hash.update(&size, sizeof(size));
    // From the first bytes to the last; of a short file all.
    for (uint64_t i = 0; i < blocks && count > 0; ++i) {
      auto at = uint64_t(double(size - count) * double(i) / (blocks - 1));
      HOCKET_RETURN_IF_ERROR(
          opened.read(std::min(at, size - count), bytes.data(), count));
      hash.update(bytes.data(), count);
    }
  }
  return hash.finish();
}

StatusOr<std::shared_ptr<const RetrievalCorpus>>
RetrievalCorpus::open(const std::vector<std::string> &prefixes,
                      uint64_t mostKept) {
  if (prefixes.empty())
    return invalidArgument("expected token files to retrieve from, found none");
  auto corpus = std::make_shared<RetrievalCorpus>();
  Sha256 hash;
  for (const std::string &given : prefixes) {
    HOCKET_ASSIGN_OR_RETURN(std::string prefix, resolvePrefix(given));
    HOCKET_ASSIGN_OR_RETURN(IndexedDataset file,
                            IndexedDataset::open(prefix, mostKept));
    HOCKET_ASSIGN_OR_RETURN(Sha256::Digest print, fingerprintOf(file));
    hash.update(print.data(), print.size());
    uint64_t sequences = file.sequences();
    corpus->parts.push_back({std::move(file), corpus->documentCount, print});
    corpus->documentCount += sequences;
    constexpr uint64_t most = 0xfffffffe;
    if (corpus->documentCount > most)
      return resourceExhausted(prefix +
                               ": what is retrieved from has more than " +
                               std::to_string(most) + " documents");
  }
  corpus->digest = hash.finish();
  return std::shared_ptr<const RetrievalCorpus>(std::move(corpus));
}

std::optional<uint64_t>
RetrievalCorpus::firstOf(const Sha256::Digest &file) const {
  for (const Part &part : parts)
    if (part.fingerprint == file)
      return part.first;
  return std::nullopt;
}

Status RetrievalCorpus::eachLength(
    const std::function<Status(uint64_t, uint64_t)> &visit) const {
  for (const Part &part : parts)
    HOCKET_RETURN_IF_ERROR(part.file.eachLength(
        0, part.file.sequences(), [&](uint64_t sequence, uint64_t tokens) {
          return visit(part.first + sequence, tokens);
        }));
  return okStatus();
}

StatusOr<uint64_t> RetrievalCorpus::read(uint64_t document, uint64_t offset,
                                         uint64_t vocabularySize,
                                         std::span<int32_t> out) const {
  auto wrong = [&](const IndexedDataset &file, uint64_t sequence) {
    return dataLoss(file.prefix() + ": there is no token " +
                    std::to_string(offset) + " of sequence " +
                    std::to_string(sequence));
  };
  if (document >= documentCount)
    return wrong(parts.front().file, document);
  auto part =
      std::ranges::find_if(parts.rbegin(), parts.rend(), [&](const Part &part) {
        return part.first <= document && part.file.sequences() > 0;
      });
  uint64_t sequence = document - part->first;
  HOCKET_ASSIGN_OR_RETURN(uint64_t length, part->file.length(sequence));
  if (offset >= length)
    return wrong(part->file, sequence);
  uint64_t count = std::min<uint64_t>(length - offset, out.size());
  HOCKET_RETURN_IF_ERROR(
      part->file.read(sequence, offset, vocabularySize, out.first(count)));
  return count;
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

StatusOr<ChunkTable> ChunkTable::create(const RetrievalCorpus &corpus,
                                        uint64_t chunkLength) {
  if (chunkLength == 0)
    return invalidArgument("expected chunks of at least 1 token, found 0");
  ChunkTable table;
  table.chunkLength = chunkLength;
  table.begins.reserve(corpus.documents() + 1);
  HOCKET_RETURN_IF_ERROR(corpus.eachLength([&](uint64_t, uint64_t tokens) {
    uint64_t chunks = (tokens + chunkLength - 1) / chunkLength;
    table.begins.push_back(table.begins.back() + chunks);
    return okStatus();
  }));
  return table;
}

ChunkTable::Place ChunkTable::at(uint64_t chunk) const {
  auto behind = std::ranges::upper_bound(begins, chunk);
  auto document = uint64_t(behind - begins.begin()) - 1;
  return {document, (chunk - begins[document]) * chunkLength};
}
