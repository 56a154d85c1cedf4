//===- CorpusSummary.cpp - What token files hold --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/CorpusSummary.h"

#include "runtime/data/ClassFile.h"

#include <algorithm>
#include <bit>

using namespace hocket;
using namespace hocket::data;

/// Tokens of each document.
static StatusOr<std::vector<uint64_t>>
documentLengths(const IndexedDataset &file) {
  std::vector<uint64_t> lengths;
  lengths.reserve(file.documents());
  uint64_t sequence = 0;
  HOCKET_RETURN_IF_ERROR(file.eachDocumentEnd([&](uint64_t end) {
    uint64_t tokens = 0;
    Status status =
        file.eachLength(sequence, end, [&](uint64_t, uint64_t length) {
          tokens += length;
          return okStatus();
        });
    sequence = end;
    lengths.push_back(tokens);
    return status;
  }));
  return lengths;
}

StatusOr<CorpusSummary> data::summarizeCorpus(const std::string &prefix) {
  HOCKET_ASSIGN_OR_RETURN(IndexedDataset file, IndexedDataset::open(prefix));
  HOCKET_ASSIGN_OR_RETURN(std::vector<uint64_t> lengths, documentLengths(file));
  CorpusSummary summary;
  summary.prefix = prefix;
  summary.type = file.tokenType();
  summary.documents = file.documents();
  summary.sequences = file.sequences();
  summary.tokens = file.tokens();
  HOCKET_ASSIGN_OR_RETURN(std::optional<LossMask> mask,
                          LossMask::open(prefix, file.tokens()));
  if (mask)
    summary.mask = mask->head();
  HOCKET_ASSIGN_OR_RETURN(
      auto images, ImageFile::open(prefix, file.documents(), file.tokens()));
  if (images)
    summary.images = images->head();
  HOCKET_ASSIGN_OR_RETURN(auto classes,
                          readClassFile(prefix, file.documents()));
  if (classes) {
    for (const std::string &name : classes->names)
      summary.classes.emplace_back(name, 0);
    for (uint16_t label : classes->labels)
      ++summary.classes[label].second;
  }
  for (uint64_t length : lengths) {
    LengthBucket &bucket = summary.buckets[size_t(std::bit_width(length))];
    ++bucket.documents;
    bucket.tokens += length;
  }
  if (lengths.empty())
    return summary;
  std::sort(lengths.begin(), lengths.end());
  auto quantile = [&](uint64_t percent) {
    uint64_t rank = (lengths.size() * percent + 99) / 100;
    return lengths[std::max<uint64_t>(rank, 1) - 1];
  };
  summary.shortest = lengths.front();
  summary.median = quantile(50);
  summary.p90 = quantile(90);
  summary.p99 = quantile(99);
  summary.longest = lengths.back();
  return summary;
}
