//===- TokenFileWriter.cpp - Writes Megatron's token files ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenFileWriter.h"

#include <cstdio>
#include <limits>

using namespace hocket;
using namespace hocket::data;

StatusOr<TokenFileWriter> TokenFileWriter::create(const std::string &prefix,
                                                  TokenType type) {
  HOCKET_ASSIGN_OR_RETURN(AtomicFile bin, AtomicFile::create(prefix + ".bin"));
  HOCKET_ASSIGN_OR_RETURN(AtomicFile index,
                          AtomicFile::create(prefix + ".idx"));
  return TokenFileWriter(prefix, type, std::move(bin), std::move(index));
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

namespace {
/// Gathers numbers and writes them in large chunks.
class NumberSink {
public:
  explicit NumberSink(AtomicFile &file) : file(file) {}
  template <typename T> Status put(T value) {
    pending.append(reinterpret_cast<const char *>(&value), sizeof(T));
    return pending.size() < (1 << 20) ? okStatus() : flush();
  }
  Status flush() {
    Status status = file.append(pending);
    pending.clear();
    return status;
  }

private:
  AtomicFile &file;
  std::string pending;
};
} // namespace

Status TokenFileWriter::writeIndex() {
  NumberSink sink(index);
  HOCKET_RETURN_IF_ERROR(index.append(std::string_view("MMIDIDX\0\0", 9)));
  HOCKET_RETURN_IF_ERROR(sink.put(uint64_t(1)));
  HOCKET_RETURN_IF_ERROR(sink.put(uint8_t(type)));
  HOCKET_RETURN_IF_ERROR(sink.put(sequenceCount));
  HOCKET_RETURN_IF_ERROR(sink.put(documentCount + 1));
  for (int32_t entry : entries)
    if (int32_t tokens = tokensOf(entry))
      HOCKET_RETURN_IF_ERROR(sink.put(tokens));
  int64_t offset = 0;
  for (int32_t entry : entries) {
    if (tokensOf(entry))
      HOCKET_RETURN_IF_ERROR(sink.put(offset));
    offset += tokensOf(entry) * int64_t(tokenBytes(type));
  }
  int64_t sequence = 0;
  HOCKET_RETURN_IF_ERROR(sink.put(sequence));
  for (int32_t entry : entries) {
    sequence += tokensOf(entry) > 0;
    if (entry < 0)
      HOCKET_RETURN_IF_ERROR(sink.put(sequence));
  }
  return sink.flush();
}

Status TokenFileWriter::finish() {
  HOCKET_RETURN_IF_ERROR(writeIndex());
  // An old index must never stand beside the new tokens.
  std::remove((prefix + ".idx").c_str());
  HOCKET_RETURN_IF_ERROR(bin.commit());
  Status status = index.commit();
  if (!status.ok())
    std::remove((prefix + ".bin").c_str());
  return status;
}
