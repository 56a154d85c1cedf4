//===- IndexedDataset.cpp - Megatron's token files ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/IndexedDataset.h"

#include "base/CheckedMath.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::data;

static constexpr uint64_t headerBytes = 34;
/// Numbers of a table that are read at a time.
static constexpr uint64_t chunkNumbers = 1 << 16;

/// Reads a little-endian value that need not be aligned.
template <typename T> static T load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

//===----------------------------------------------------------------------===//
// Token types
//===----------------------------------------------------------------------===//

uint64_t data::tokenBytes(TokenType type) {
  switch (type) {
  case TokenType::U8:
  case TokenType::I8:
    return 1;
  case TokenType::I16:
  case TokenType::U16:
    return 2;
  case TokenType::I32:
    return 4;
  case TokenType::I64:
    return 8;
  }
  return 0;
}

const char *data::tokenTypeName(TokenType type) {
  constexpr const char *names[] = {"",    "u8",  "i8",  "i16", "i32",
                                   "i64", "f64", "f32", "u16"};
  return names[size_t(type)];
}

TokenType data::tokenTypeFor(uint64_t vocabularySize) {
  return vocabularySize < 65500 ? TokenType::U16 : TokenType::I32;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

Status IndexedDataset::corrupt(const std::string &what) const {
  return dataLoss(filePrefix + ".idx: " + what);
}

Status IndexedDataset::parseHeader() {
  constexpr char magic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
  if (index.size() < headerBytes)
    return corrupt("expected a header of 34 bytes, the file has " +
                   std::to_string(index.size()));
  uint8_t header[headerBytes];
  HOCKET_RETURN_IF_ERROR(index.read(0, header, sizeof(header)));
  if (std::memcmp(header, magic, sizeof(magic)) != 0)
    return corrupt("not a Megatron index: it does not start with MMIDIDX");
  if (auto version = load<uint64_t>(header + 9); version != 1)
    return corrupt("expected version 1, found " + std::to_string(version));
  uint8_t code = header[17];
  if (code < 1 || code > 8)
    return corrupt("expected a token type from 1 to 8, found " +
                   std::to_string(code));
  if (code == 6 || code == 7)
    return corrupt("the file holds floating-point numbers, not tokens");
  type = TokenType(code);
  return okStatus();
}

/// Where the tables are.
Status IndexedDataset::parseTables() {
  uint64_t counts[2];
  HOCKET_RETURN_IF_ERROR(index.read(18, counts, sizeof(counts)));
  auto [sequences, bounds] = counts;
  auto forSequences = checkedMultiply(sequences, 12);
  auto forDocuments = checkedMultiply(bounds, 8);
  auto body = forSequences && forDocuments
                  ? checkedAdd(*forSequences, *forDocuments)
                  : std::nullopt;
  if (!body || *body > index.size() - headerBytes)
    return corrupt(std::to_string(sequences) + " sequences and " +
                   std::to_string(bounds) +
                   " document bounds do not fit in the file's " +
                   std::to_string(index.size()) + " bytes");
  if (bounds == 0)
    return corrupt("expected at least one document bound, found none");
  documentCount = bounds - 1;
  offsetsBegin = headerBytes + 4 * sequences;
  documentsBegin = offsetsBegin + 8 * sequences;
  sequenceCount = sequences;
  return okStatus();
}

/// Calls visit(i, number) for `count` 64-bit numbers from byte `begin` of the
/// index, until one fails.
template <typename Visit>
Status IndexedDataset::eachNumber(uint64_t begin, uint64_t count,
                                  Visit visit) const {
  std::vector<int64_t> numbers(std::min<uint64_t>(count, chunkNumbers));
  for (uint64_t i = 0; i < count;) {
    size_t got = std::min<uint64_t>(count - i, numbers.size());
    HOCKET_RETURN_IF_ERROR(index.read(begin + 8 * i, numbers.data(), 8 * got));
    for (size_t k = 0; k < got; ++k, ++i)
      HOCKET_RETURN_IF_ERROR(visit(i, numbers[k]));
  }
  return okStatus();
}

Status IndexedDataset::checkSequences(uint64_t mostKept) {
  int64_t previous = 0;
  std::vector<int32_t> some(std::min<uint64_t>(sequences(), chunkNumbers));
  HOCKET_RETURN_IF_ERROR(eachNumber(
      offsetsBegin, sequences(), [&](uint64_t i, int64_t offset) -> Status {
        auto place = [&] { return "sequence " + std::to_string(i) + ": "; };
        if (i % some.size() == 0)
          HOCKET_RETURN_IF_ERROR(
              lengths(i, std::span(some).first(std::min<uint64_t>(
                             some.size(), sequences() - i))));
        auto length = uint64_t(some[i % some.size()]);
        if (offset < previous)
          return corrupt(place() + "it begins at byte " +
                         std::to_string(offset) + ", before byte " +
                         std::to_string(previous) +
                         " where the last one begins");
        uint64_t bytes = length * tokenBytes(type);
        if (!rangeInside(uint64_t(offset), bytes, bin.size()))
          return corrupt(place() + std::to_string(bytes) + " bytes at byte " +
                         std::to_string(offset) + " pass the end of " +
                         filePrefix + ".bin, which has " +
                         std::to_string(bin.size()));
        previous = offset;
        tokenCount += length;
        return okStatus();
      }));
  if (sequences() > mostKept)
    return okStatus();
  std::vector<int32_t> all(sequences());
  HOCKET_RETURN_IF_ERROR(lengths(0, all));
  keptLengths = std::move(all);
  return okStatus();
}

Status IndexedDataset::checkDocuments() const {
  int64_t previous = 0;
  HOCKET_RETURN_IF_ERROR(eachNumber(
      documentsBegin, documentCount + 1,
      [&](uint64_t i, int64_t start) -> Status {
        if (i == 0 && start != 0)
          return corrupt("document 0 must begin at sequence 0, not at " +
                         std::to_string(start));
        if (start < previous)
          return corrupt("document " + std::to_string(i) +
                         ": it begins at sequence " + std::to_string(start) +
                         ", before sequence " + std::to_string(previous) +
                         " where the last one begins");
        previous = start;
        return okStatus();
      }));
  if (uint64_t(previous) != sequences())
    return corrupt("the last document ends at sequence " +
                   std::to_string(previous) + ", the file has " +
                   std::to_string(sequences()));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

StatusOr<IndexedDataset> IndexedDataset::open(const std::string &prefix,
                                              uint64_t mostKept) {
  IndexedDataset dataset;
  dataset.filePrefix = prefix;
  HOCKET_ASSIGN_OR_RETURN(dataset.index,
                          RandomAccessFile::open(prefix + ".idx"));
  HOCKET_ASSIGN_OR_RETURN(dataset.bin, RandomAccessFile::open(prefix + ".bin"));
  HOCKET_RETURN_IF_ERROR(dataset.parseHeader());
  HOCKET_RETURN_IF_ERROR(dataset.parseTables());
  HOCKET_RETURN_IF_ERROR(dataset.checkSequences(mostKept));
  HOCKET_RETURN_IF_ERROR(dataset.checkDocuments());
  return dataset;
}

StatusOr<uint64_t> IndexedDataset::length(uint64_t sequence) const {
  int32_t length = 0;
  HOCKET_RETURN_IF_ERROR(lengths(sequence, std::span(&length, 1)));
  return uint64_t(length);
}

Status IndexedDataset::lengths(uint64_t first, std::span<int32_t> out) const {
  if (!keptLengths.empty()) {
    std::copy_n(keptLengths.begin() + long(first), out.size(), out.begin());
    return okStatus();
  }
  HOCKET_RETURN_IF_ERROR(
      index.read(headerBytes + 4 * first, out.data(), out.size_bytes()));
  // Checked each time, as the file may have changed since it was opened.
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] < 0)
      return corrupt("sequence " + std::to_string(first + i) +
                     ": its length is negative, " + std::to_string(out[i]));
  return okStatus();
}

Status IndexedDataset::eachLength(
    uint64_t begin, uint64_t end,
    const std::function<Status(uint64_t, uint64_t)> &visit) const {
  std::vector<int32_t> some(std::min<uint64_t>(end - begin, chunkNumbers));
  for (uint64_t first = begin; first < end; first += some.size()) {
    some.resize(std::min<uint64_t>(some.size(), end - first));
    HOCKET_RETURN_IF_ERROR(lengths(first, some));
    for (size_t i = 0; i < some.size(); ++i)
      HOCKET_RETURN_IF_ERROR(visit(first + i, uint64_t(some[i])));
  }
  return okStatus();
}

StatusOr<uint64_t> IndexedDataset::byteOffset(uint64_t sequence) const {
  uint64_t offset = 0;
  HOCKET_RETURN_IF_ERROR(
      index.read(offsetsBegin + 8 * sequence, &offset, sizeof(offset)));
  return offset;
}

Status IndexedDataset::byteOffsets(uint64_t first,
                                   std::span<uint64_t> out) const {
  return index.read(offsetsBegin + 8 * first, out.data(), out.size_bytes());
}

StatusOr<uint64_t> IndexedDataset::documentStart(uint64_t document) const {
  uint64_t start = 0;
  HOCKET_RETURN_IF_ERROR(
      index.read(documentsBegin + 8 * document, &start, sizeof(start)));
  return start;
}

Status IndexedDataset::eachDocumentEnd(
    const std::function<Status(uint64_t)> &visit) const {
  // The file may have changed since it was checked.
  uint64_t previous = 0;
  return eachNumber(documentsBegin + 8, documentCount,
                    [&](uint64_t i, int64_t end) -> Status {
                      if (uint64_t(end) < previous ||
                          uint64_t(end) > sequences())
                        return corrupt("document " + std::to_string(i) +
                                       ": it has changed while it was read");
                      previous = uint64_t(end);
                      return visit(previous);
                    });
}

/// Widens tokens to 32 bits; returns the position of the first that is not in
/// [0, limit), or out.size().
template <typename T>
static size_t widen(const uint8_t *from, uint64_t limit,
                    std::span<int32_t> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    // A negative token becomes a huge one.
    auto token = uint64_t(int64_t(load<T>(from + i * sizeof(T))));
    if (token >= limit)
      return i;
    out[i] = int32_t(token);
  }
  return out.size();
}

static size_t widen(TokenType type, const uint8_t *from, uint64_t limit,
                    std::span<int32_t> out) {
  switch (type) {
  case TokenType::U8:
    return widen<uint8_t>(from, limit, out);
  case TokenType::I8:
    return widen<int8_t>(from, limit, out);
  case TokenType::I16:
    return widen<int16_t>(from, limit, out);
  case TokenType::I32:
    return widen<int32_t>(from, limit, out);
  case TokenType::I64:
    return widen<int64_t>(from, limit, out);
  case TokenType::U16:
    return widen<uint16_t>(from, limit, out);
  }
  return 0;
}

static int64_t tokenAt(TokenType type, const uint8_t *from) {
  switch (type) {
  case TokenType::U8:
    return load<uint8_t>(from);
  case TokenType::I8:
    return load<int8_t>(from);
  case TokenType::I16:
    return load<int16_t>(from);
  case TokenType::I32:
    return load<int32_t>(from);
  case TokenType::I64:
    return load<int64_t>(from);
  case TokenType::U16:
    return load<uint16_t>(from);
  }
  return 0;
}

Status IndexedDataset::read(uint64_t sequence, uint64_t offset,
                            uint64_t vocabularySize,
                            std::span<int32_t> out) const {
  uint64_t size = 0;
  if (sequence < sequences()) {
    HOCKET_ASSIGN_OR_RETURN(size, length(sequence));
  }
  if (sequence >= sequences() || !rangeInside(offset, out.size(), size))
    return internalError("tokens outside sequence " + std::to_string(sequence) +
                         " of " + filePrefix);
  HOCKET_ASSIGN_OR_RETURN(uint64_t begin, byteOffset(sequence));
  begin += offset * tokenBytes(type);
  uint8_t bytes[16384];
  for (size_t done = 0; done < out.size();) {
    size_t count =
        std::min(out.size() - done, sizeof(bytes) / tokenBytes(type));
    HOCKET_RETURN_IF_ERROR(bin.read(begin + done * tokenBytes(type), bytes,
                                    count * tokenBytes(type)));
    size_t good = widen(type, bytes, vocabularySize, out.subspan(done, count));
    done += good;
    if (good < count)
      return dataLoss(
          filePrefix + ".bin: sequence " + std::to_string(sequence) +
          ", position " + std::to_string(offset + done) + ": token " +
          std::to_string(tokenAt(type, bytes + good * tokenBytes(type))) +
          " is not in the vocabulary of " + std::to_string(vocabularySize) +
          " entries");
  }
  return okStatus();
}
