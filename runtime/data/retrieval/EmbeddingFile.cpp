//===- EmbeddingFile.cpp - Embeddings of chunks ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/retrieval/EmbeddingFile.h"

#include "base/CheckedMath.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

using namespace hocket;
using namespace hocket::data;

/// DataLoss if a number of rows [0, count) is not finite.
static Status checkFinite(const std::string &path, const RowMatrix &rows,
                          uint64_t first, uint64_t count) {
  for (uint64_t r = 0; r < count; ++r)
    for (uint64_t i = 0; i < rows.columns(); ++i)
      if (!std::isfinite(rows.row(r)[i]))
        return dataLoss(path + ": row " + std::to_string(first + r) +
                        " has a number that is not finite");
  return okStatus();
}

//===----------------------------------------------------------------------===//
// NumPy files
//===----------------------------------------------------------------------===//

namespace {

class NpyEmbeddings : public EmbeddingSource {
public:
  NpyEmbeddings(RandomAccessFile file, uint64_t begin, uint64_t rows,
                uint64_t dim, const Sha256::Digest &digest)
      : file(std::move(file)), begin(begin), rowCount(rows), columns(dim),
        made(digest) {}

  uint64_t rows() const override { return rowCount; }
  uint64_t dim() const override { return columns; }
  Sha256::Digest digest() const override { return made; }

  Status read(uint64_t first, uint64_t count, RowMatrix &out) override {
    for (uint64_t r = 0; r < count; ++r)
      HOCKET_RETURN_IF_ERROR(file.read(begin + (first + r) * columns * 4,
                                       out.row(r), columns * 4));
    return checkFinite(file.path(), out, first, count);
  }

private:
  RandomAccessFile file;
  uint64_t begin, rowCount, columns;
  Sha256::Digest made;
};

/// What stands behind `key` in the header, a Python dictionary of one line.
std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "'");
  if (at == header.npos)
    return {};
  at = header.find(':', at);
  if (at == header.npos)
    return {};
  std::string_view rest = header.substr(at + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

/// "(12, 768)"
std::optional<std::pair<uint64_t, uint64_t>> shapeOf(std::string_view text) {
  uint64_t numbers[2];
  const char *at = text.data(), *end = at + text.size();
  auto skip = [&](char wanted) {
    while (at < end && *at == ' ')
      ++at;
    if (at == end || *at != wanted)
      return false;
    ++at;
    while (at < end && *at == ' ')
      ++at;
    return true;
  };
  for (int i = 0; i < 2; ++i) {
    if (!skip(i == 0 ? '(' : ','))
      return std::nullopt;
    auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc())
      return std::nullopt;
    at = next;
  }
  if (!skip(')'))
    return std::nullopt;
  return std::pair{numbers[0], numbers[1]};
}

} // namespace

StatusOr<std::unique_ptr<EmbeddingSource>>
data::openNpyEmbeddings(const std::string &path, uint64_t rows,
                        const std::string &what) {
  HOCKET_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::open(path));
  auto wrong = [&](const std::string &text) {
    return dataLoss(path + ": " + text + "; expected a .npy file of float32 [" +
                    std::to_string(rows) + ", dim], a row for each of the " +
                    what);
  };
  constexpr uint64_t fixed = 8, mostHeader = 1 << 16;
  uint8_t start[12] = {};
  if (file.size() < sizeof(start))
    return wrong("is too short");
  HOCKET_RETURN_IF_ERROR(file.read(0, start, sizeof(start)));
  if (std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3)
    return wrong("is no NumPy file");
  uint64_t lengthBytes = start[6] == 1 ? 2 : 4, length = 0;
  std::memcpy(&length, start + fixed, lengthBytes);
  uint64_t begin = fixed + lengthBytes + length;
  if (length > mostHeader || begin > file.size())
    return wrong("ends within its header");
  std::string header(length, '\0');
  HOCKET_RETURN_IF_ERROR(
      file.read(fixed + lengthBytes, header.data(), header.size()));
  if (!valueOf(header, "descr").starts_with("'<f4'"))
    return wrong("does not hold float32");
  if (!valueOf(header, "fortran_order").starts_with("False"))
    return wrong("is not in C order");
  auto shape = shapeOf(valueOf(header, "shape"));
  if (!shape)
    return wrong("does not hold a matrix");
  auto [found, dim] = *shape;
  if (found != rows || dim == 0 || dim > mostEmbeddingDims)
    return wrong("holds [" + std::to_string(found) + ", " +
                 std::to_string(dim) + "]");
  auto bytes = checkedMultiply(rows, dim * 4);
  if (!bytes || file.size() - begin != *bytes)
    return wrong("has another size than its shape");
  // What it holds is told by all of it.
  Sha256 hash;
  std::vector<uint8_t> block(1 << 20);
  for (uint64_t at = 0; at < file.size(); at += block.size()) {
    uint64_t count = std::min<uint64_t>(block.size(), file.size() - at);
    HOCKET_RETURN_IF_ERROR(file.read(at, block.data(), count));
    hash.update(block.data(), count);
  }
  return std::unique_ptr<EmbeddingSource>(std::make_unique<NpyEmbeddings>(
      std::move(file), begin, rows, dim, hash.finish()));
}

//===----------------------------------------------------------------------===//
// Those that were kept
//===----------------------------------------------------------------------===//

namespace {

class KeptEmbeddings : public EmbeddingSource {
public:
  explicit KeptEmbeddings(RowFile file) : file(std::move(file)) {}

  uint64_t rows() const override { return file.head().rows; }
  uint64_t dim() const override { return file.head().rowBytes / 4; }
  Sha256::Digest digest() const override {
    Sha256 hash;
    hash.update(file.head().of.data(), file.head().of.size());
    hash.update(file.head().made.data(), file.head().made.size());
    return hash.finish();
  }

  Status read(uint64_t first, uint64_t count, RowMatrix &out) override {
    std::vector<float> bytes(count * dim());
    HOCKET_RETURN_IF_ERROR(file.read(first, count, bytes.data()));
    for (uint64_t r = 0; r < count; ++r)
      std::copy_n(bytes.data() + r * dim(), dim(), out.row(r));
    return checkFinite(file.path(), out, first, count);
  }

private:
  RowFile file;
};

} // namespace

StatusOr<std::unique_ptr<EmbeddingSource>>
data::openKeptEmbeddings(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(RowFile file, RowFile::open(path, embeddingsKind));
  uint64_t bytes = file.head().rowBytes;
  if (bytes % 4 != 0 || bytes / 4 > mostEmbeddingDims)
    return dataLoss(path + ": its rows are no embeddings");
  return std::unique_ptr<EmbeddingSource>(
      std::make_unique<KeptEmbeddings>(std::move(file)));
}
