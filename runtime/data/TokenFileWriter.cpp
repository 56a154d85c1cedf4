//===- TokenFileWriter.cpp - Writes Megatron's token files ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenFileWriter.h"

#include <limits>

using namespace hocket;
using namespace hocket::data;

StatusOr<TokenFileWriter> TokenFileWriter::create(const std::string &prefix,
                                                  TokenType type) {
  HOCKET_ASSIGN_OR_RETURN(TokenFilePair files, TokenFilePair::create(prefix));
  return TokenFileWriter(type, std::move(files));
}

Status TokenFileWriter::endSequence(uint64_t tokens) {
  if (tokens > uint64_t(std::numeric_limits<int32_t>::max()))
    return invalidArgument("document " + std::to_string(documents()) + " has " +
                           std::to_string(tokens) +
                           " tokens; the format holds at most 2147483647");
  if (tokens) {
    entries.push_back(int32_t(tokens));
    ++sequenceCount;
    tokenCount += tokens;
  }
  return okStatus();
}

void TokenFileWriter::endDocument() {
  if (entries.empty() || entries.back() < 0)
    entries.push_back(0);
  entries.back() = -1 - entries.back();
  ++documentCount;
}

static int32_t tokensOf(int32_t entry) {
  return entry < 0 ? -1 - entry : entry;
}

Status TokenFileWriter::writeIndex() {
  HOCKET_RETURN_IF_ERROR(files.putHeader(type, sequenceCount, documentCount));
  for (int32_t entry : entries)
    if (int32_t tokens = tokensOf(entry))
      HOCKET_RETURN_IF_ERROR(files.put(tokens));
  int64_t offset = 0;
  for (int32_t entry : entries) {
    if (tokensOf(entry))
      HOCKET_RETURN_IF_ERROR(files.put(offset));
    offset += tokensOf(entry) * int64_t(tokenBytes(type));
  }
  int64_t sequence = 0;
  HOCKET_RETURN_IF_ERROR(files.put(sequence));
  for (int32_t entry : entries) {
    sequence += tokensOf(entry) > 0;
    if (entry < 0)
      HOCKET_RETURN_IF_ERROR(files.put(sequence));
  }
  return okStatus();
}

Status TokenFileWriter::finish() {
  HOCKET_RETURN_IF_ERROR(writeIndex());
  return files.finish();
}
