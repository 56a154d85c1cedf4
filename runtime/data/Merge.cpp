//===- Merge.cpp - Several token files as one -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Merge.h"

#include "runtime/data/ClassFile.h"
#include "runtime/data/ImageFile.h"
#include "runtime/data/LossMask.h"
#include "runtime/data/TokenFilePair.h"
#include "runtime/data/WordFile.h"

#include <algorithm>
#include <filesystem>
#include <span>

using namespace hocket;
using namespace hocket::data;

static StatusOr<std::vector<IndexedDataset>>
openAll(const std::vector<std::string> &prefixes, const std::string &output) {
  std::error_code notThere;
  if (prefixes.size() < 2)
    return invalidArgument("expected at least two datasets to merge, found " +
                           std::to_string(prefixes.size()));
  std::vector<IndexedDataset> parts;
  for (const std::string &given : prefixes) {
    HOCKET_ASSIGN_OR_RETURN(std::string prefix, resolvePrefix(given));
    HOCKET_ASSIGN_OR_RETURN(IndexedDataset part, IndexedDataset::open(prefix));
    if (std::filesystem::equivalent(prefix + ".idx", output + ".idx", notThere))
      return invalidArgument(output + ": is one of the datasets to merge; "
                                      "name another for the whole");
    if (std::filesystem::exists(lossMaskPath(prefix), notThere))
      return invalidArgument(prefix +
                             ": holds conversations and which of their "
                             "tokens are answers; prepare all files "
                             "at once in place of merging");
    if (std::filesystem::exists(classFilePath(prefix), notThere))
      return invalidArgument(prefix + ": holds texts with their classes; "
                                      "prepare all files at once in place of "
                                      "merging");
    parts.push_back(std::move(part));
    const IndexedDataset &first = parts.front(), &last = parts.back();
    if (first.tokenType() != last.tokenType())
      return invalidArgument(last.prefix() + ": has tokens of type " +
                             tokenTypeName(last.tokenType()) + ", " +
                             first.prefix() + " of " +
                             tokenTypeName(first.tokenType()) +
                             "; prepare both with the same tokenizer");
  }
  return parts;
}

/// What all parts say of their vocabulary; nothing where one of them does not.
static StatusOr<std::optional<WordContinuations>>
wordsOf(const std::vector<IndexedDataset> &parts) {
  std::optional<WordContinuations> all;
  const IndexedDataset *of = nullptr;
  bool isOfAll = true;
  for (const IndexedDataset &part : parts) {
    HOCKET_ASSIGN_OR_RETURN(auto words,
                            readWordFile(part.prefix(), part.tokens()));
    if (words && of && *words != *all)
      return invalidArgument(wordFilePath(part.prefix()) +
                             ": other tokens continue a word than in " +
                             wordFilePath(of->prefix()) +
                             "; prepare both with the same tokenizer");
    isOfAll = isOfAll && words;
    if (words && !of) {
      all = std::move(words);
      of = &part;
    }
  }
  return isOfAll ? std::move(all) : std::nullopt;
}

namespace {
/// Copies the tokens of datasets, as few large ranges of bytes.
class TokenCopy {
public:
  TokenCopy(TokenFilePair &out, uint64_t all,
            const std::function<void(uint64_t, uint64_t)> &progress)
      : out(out), all(all), report(progress), buffer(size_t(1) << 20, '\0') {}

  Status copy(const IndexedDataset &part);
  uint64_t copied() const { return done; }

private:
  Status copyRange(const IndexedDataset &part, uint64_t begin, uint64_t end);

  TokenFilePair &out;
  uint64_t all, done = 0;
  const std::function<void(uint64_t, uint64_t)> &report;
  std::string buffer;
};
} // namespace

Status TokenCopy::copyRange(const IndexedDataset &part, uint64_t begin,
                            uint64_t end) {
  while (begin < end) {
    size_t size = std::min<uint64_t>(end - begin, buffer.size());
    HOCKET_RETURN_IF_ERROR(part.readBytes(begin, buffer.data(), size));
    HOCKET_RETURN_IF_ERROR(out.appendTokens({buffer.data(), size}));
    begin += size;
    done += size;
    if (report)
      report(done, all);
  }
  return okStatus();
}

Status TokenCopy::copy(const IndexedDataset &part) {
  // Sequences that touch each other are one range.
  uint64_t begin = 0, end = 0, width = tokenBytes(part.tokenType());
  std::vector<uint64_t> offsets(std::min<uint64_t>(part.sequences(), 1 << 16));
  std::vector<int32_t> lengths(offsets.size());
  for (uint64_t first = 0; first < part.sequences();) {
    uint64_t count =
        std::min<uint64_t>(offsets.size(), part.sequences() - first);
    HOCKET_RETURN_IF_ERROR(
        part.byteOffsets(first, std::span(offsets).first(count)));
    HOCKET_RETURN_IF_ERROR(
        part.lengths(first, std::span(lengths).first(count)));
    for (uint64_t i = 0; i < count; ++i) {
      if (offsets[i] != end) {
        HOCKET_RETURN_IF_ERROR(copyRange(part, begin, end));
        begin = offsets[i];
      }
      end = offsets[i] + uint64_t(lengths[i]) * width;
    }
    first += count;
  }
  return copyRange(part, begin, end);
}

static Status writeTables(const std::vector<IndexedDataset> &parts,
                          uint64_t sequences, uint64_t documents,
                          TokenFilePair &out) {
  TokenType type = parts.front().tokenType();
  HOCKET_RETURN_IF_ERROR(out.putHeader(type, sequences, documents));
  for (const IndexedDataset &part : parts)
    HOCKET_RETURN_IF_ERROR(
        part.eachLength(0, part.sequences(), [&](uint64_t, uint64_t length) {
          return out.put(int32_t(length));
        }));
  int64_t offset = 0;
  for (const IndexedDataset &part : parts)
    HOCKET_RETURN_IF_ERROR(
        part.eachLength(0, part.sequences(), [&](uint64_t, uint64_t length) {
          int64_t begin = offset;
          offset += int64_t(length * tokenBytes(type));
          return out.put(begin);
        }));
  int64_t before = 0;
  HOCKET_RETURN_IF_ERROR(out.put(before));
  for (const IndexedDataset &part : parts) {
    HOCKET_RETURN_IF_ERROR(part.eachDocumentEnd([&](uint64_t sequence) {
      return out.put(before + int64_t(sequence));
    }));
    before += int64_t(part.sequences());
  }
  return okStatus();
}

StatusOr<MergeResult>
data::mergeDatasets(const std::vector<std::string> &prefixes,
                    const std::string &output,
                    const std::function<void(uint64_t, uint64_t)> &progress) {
  HOCKET_ASSIGN_OR_RETURN(auto parts, openAll(prefixes, output));
  HOCKET_ASSIGN_OR_RETURN(auto words, wordsOf(parts));
  HOCKET_ASSIGN_OR_RETURN(TokenFilePair out, TokenFilePair::create(output));
  MergeResult result;
  uint64_t sequences = 0;
  for (const IndexedDataset &part : parts) {
    sequences += part.sequences();
    result.documents += part.documents();
    result.tokens += part.tokens();
  }
  result.bytes = result.tokens * tokenBytes(parts.front().tokenType());
  TokenCopy copy(out, result.bytes, progress);
  for (const IndexedDataset &part : parts)
    HOCKET_RETURN_IF_ERROR(copy.copy(part));
  if (copy.copied() != result.bytes)
    return dataLoss("the token files have changed while they were merged");
  HOCKET_RETURN_IF_ERROR(writeTables(parts, sequences, result.documents, out));
  HOCKET_RETURN_IF_ERROR(removeWordFile(output));
  HOCKET_RETURN_IF_ERROR(removeImageFile(output));
  HOCKET_RETURN_IF_ERROR(out.finish());
  if (words)
    HOCKET_RETURN_IF_ERROR(writeWordFile(output, result.tokens, *words));
  return result;
}
