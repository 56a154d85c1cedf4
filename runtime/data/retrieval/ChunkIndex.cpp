//===- ChunkIndex.cpp - Searching the chunks of a corpus ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/retrieval/ChunkIndex.h"

#include "base/Format.h"
#include "base/Quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unistd.h>

using namespace hocket;
using namespace hocket::data;

static constexpr uint64_t wordsOfPart = 256; ///< What a byte of a code tells.
static constexpr uint64_t mostLists = 1 << 24;
static constexpr uint64_t blockRows = 4096; ///< Read from a source at a time.
static constexpr std::string_view centresKind = "HKTCENTR";
static constexpr std::string_view codesKind = "HKTCODES";

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

std::string IndexKind::name() const {
  if (lists == 0)
    return "Flat";
  return "IVF" + std::to_string(lists) + "," +
         (codeBytes > 0 ? "PQ" + std::to_string(codeBytes) : "Flat");
}

StatusOr<IndexKind> data::parseIndexKind(const std::string &text) {
  auto number = [](std::string_view word) -> uint64_t {
    uint64_t value = 0;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() ? value : 0;
  };
  IndexKind kind;
  if (text == "Flat")
    return kind;
  std::string_view rest = text;
  size_t comma = rest.find(',');
  if (rest.starts_with("IVF") && comma != rest.npos) {
    std::string_view codes = rest.substr(comma + 1);
    kind.lists = number(rest.substr(3, comma - 3));
    if (codes.starts_with("PQ"))
      kind.codeBytes = number(codes.substr(2));
    bool hasCodes = kind.codeBytes > 0 && kind.codeBytes <= mostEmbeddingDims;
    if (kind.lists > 0 && kind.lists <= mostLists &&
        (hasCodes || codes == "Flat"))
      return kind;
  }
  return invalidArgument("there is no index '" + text +
                         "': expected Flat, IVF<lists>,Flat or "
                         "IVF<lists>,PQ<bytes>, as in IVF4096,PQ64");
}

IndexKind data::indexKindFor(uint64_t chunks, uint64_t dim) {
  constexpr uint64_t mostFlat = 200'000;
  if (chunks <= mostFlat)
    return {};
  IndexKind kind;
  // Between 4 and 8 times the square root.
  kind.lists = 1;
  while (kind.lists * kind.lists < 16 * chunks && kind.lists < mostLists)
    kind.lists *= 2;
  for (uint64_t bytes : {64, 48, 32, 16, 8})
    if (dim % bytes == 0 && kind.codeBytes == 0)
      kind.codeBytes = bytes;
  return kind;
}

//===----------------------------------------------------------------------===//
// Parts of building one
//===----------------------------------------------------------------------===//

Status data::retrievalStopped() {
  return unavailable("interrupted; the same command goes on from here");
}

/// How an index is made, from which its results follow.
static Sha256::Digest digestOf(const EmbeddingSource &chunks,
                               const IndexKind &kind) {
  Sha256 hash;
  const std::string name = kind.name();
  Sha256::Digest made = chunks.digest();
  uint64_t rows = chunks.rows();
  hash.update(name.data(), name.size());
  hash.update(made.data(), made.size());
  hash.update(&rows, sizeof(rows));
  return hash.finish();
}

/// Up to `most` rows, evenly from the first to the last.
static StatusOr<RowMatrix> takeEvenly(EmbeddingSource &chunks, uint64_t most) {
  uint64_t count = std::min(most, chunks.rows());
  RowMatrix rows(count, chunks.dim()), one(1, chunks.dim());
  for (uint64_t i = 0; i < count; ++i) {
    auto at = uint64_t((unsigned __int128)(i)*chunks.rows() / count);
    HOCKET_RETURN_IF_ERROR(chunks.read(at, 1, one));
    std::copy_n(one.row(0), chunks.dim(), rows.row(i));
  }
  return rows;
}

/// Part `part` of rows that are cut into `parts`.
static RowMatrix partOf(const RowMatrix &rows, uint64_t count, uint64_t part,
                        uint64_t parts) {
  uint64_t width = rows.columns() / parts;
  RowMatrix result(count, width);
  for (uint64_t r = 0; r < count; ++r)
    std::copy_n(rows.row(r) + part * width, width, result.row(r));
  return result;
}

/// Takes from each row its centre.
static void subtractCentres(RowMatrix &rows, std::span<const uint32_t> lists,
                            const RowMatrix &centres) {
  for (uint64_t r = 0; r < lists.size(); ++r)
    for (uint64_t i = 0; i < rows.columns(); ++i)
      rows.row(r)[i] -= centres.row(lists[r])[i];
}

//===----------------------------------------------------------------------===//
// Flat
//===----------------------------------------------------------------------===//

namespace {

class FlatIndex : public ChunkIndex {
public:
  explicit FlatIndex(std::shared_ptr<EmbeddingSource> chunks)
      : chunks(std::move(chunks)) {}

  Sha256::Digest digest() const override { return digestOf(*chunks, {}); }

  Status search(const RowMatrix &queries, std::span<NearestRows> best,
                WorkerPool &pool) override {
    RowMatrix block(std::min(blockRows, chunks->rows()), chunks->dim());
    for (uint64_t at = 0; at < chunks->rows(); at += blockRows) {
      uint64_t count = std::min(blockRows, chunks->rows() - at);
      HOCKET_RETURN_IF_ERROR(chunks->read(at, count, block));
      offerRows(queries, block, count, at, best, pool);
    }
    return okStatus();
  }

private:
  std::shared_ptr<EmbeddingSource> chunks;
};

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

class ListIndex : public ChunkIndex {
public:
  ListIndex(std::shared_ptr<EmbeddingSource> chunks, IndexOptions options)
      : chunks(std::move(chunks)), options(std::move(options)),
        kind(this->options.kind), made(digestOf(*this->chunks, kind)) {}

  Status build(WorkerPool &pool, const RetrievalProgress &progress) {
    HOCKET_RETURN_IF_ERROR(check());
    HOCKET_RETURN_IF_ERROR(train(pool, progress));
    HOCKET_RETURN_IF_ERROR(add(pool, progress));
    return load(progress);
  }

  Sha256::Digest digest() const override {
    Sha256 hash;
    uint64_t probes = options.probes;
    hash.update(made.data(), made.size());
    hash.update(&probes, sizeof(probes));
    return hash.finish();
  }

  Status search(const RowMatrix &queries, std::span<NearestRows> best,
                WorkerPool &pool) override {
    uint64_t probes = std::min(options.probes, kind.lists);
    std::vector<NearestRows> lists(best.size(), NearestRows(probes, {}));
    offerRows(queries, centres, centres.rows(), 0, lists, pool);
    pool.parallelFor(int64_t(best.size()), 1,
                     [&](int64_t begin, int64_t end, unsigned) {
                       for (auto q = uint64_t(begin); q < uint64_t(end); ++q)
                         for (const FoundRow &list : lists[q].rows())
                           searchList(queries.row(q), list.row, best[q]);
                     });
    return okStatus();
  }

private:
  uint64_t parts() const { return kind.codeBytes; }
  uint64_t codeRowBytes() const { return 4 + kind.codeBytes; }
  std::string pathOf(std::string_view extension) const {
    return rowFilePath(options.prefix, made, extension);
  }

  /// Whether there are rows enough for the centres.
  Status check() const {
    uint64_t least = std::max(kind.lists, parts() > 0 ? wordsOfPart : 1);
    if (chunks->rows() < least)
      return invalidArgument("an index " + kind.name() + " needs at least " +
                             formatNoun(least, "chunk") + ", the corpus has " +
                             std::to_string(chunks->rows()) +
                             "; Flat takes any number");
    if (parts() > 0 && chunks->dim() % parts() != 0)
      return invalidArgument(
          "an embedding of " + std::to_string(chunks->dim()) +
          " elements has no " + std::to_string(parts()) +
          " equal parts, as index " + kind.name() + " needs them");
    return okStatus();
  }

  /// 1. The centres of lists and, one part behind the other, of parts.
  Status train(WorkerPool &pool, const RetrievalProgress &progress) {
    centres = RowMatrix(kind.lists, chunks->dim());
    for (uint64_t part = 0; part < parts(); ++part)
      words.emplace_back(wordsOfPart, chunks->dim() / parts());
    if (readCentres())
      return okStatus();
    constexpr uint64_t rowsOfList = 64, rowsOfWord = 256;
    uint64_t all = 1 + parts();
    const std::string what = "training the index " + kind.name();
    if (!progress(what, 0, all))
      return retrievalStopped();
    HOCKET_ASSIGN_OR_RETURN(
        RowMatrix rows,
        takeEvenly(*chunks,
                   std::max(rowsOfList * kind.lists,
                            parts() > 0 ? rowsOfWord * wordsOfPart : 0)));
    centres = clusterRows(rows, kind.lists, 10, 0, pool);
    if (parts() > 0) {
      std::vector<uint32_t> lists = nearestOf(rows, rows.rows(), centres, pool);
      subtractCentres(rows, lists, centres);
    }
    uint64_t most = std::min(rows.rows(), rowsOfWord * wordsOfPart);
    for (uint64_t part = 0; part < parts(); ++part) {
      if (!progress(what, 1 + part, all))
        return retrievalStopped();
      words[part] = clusterRows(partOf(rows, most, part, parts()), wordsOfPart,
                                25, uint32_t(part + 1), pool);
    }
    return writeCentres();
  }

  /// Calls visit(values, count) for each run of numbers of .index.
  template <typename Visit> void eachRun(Visit visit) {
    for (uint64_t c = 0; c < centres.rows(); ++c)
      visit(centres.row(c), centres.columns());
    for (RowMatrix &part : words)
      for (uint64_t w = 0; w < part.rows(); ++w)
        visit(part.row(w), part.columns());
  }

  RowFileHead centresHead() const {
    return {centresKind, made, made, 4,
            (kind.lists + (parts() > 0 ? wordsOfPart : 0)) * chunks->dim()};
  }

  Status writeCentres() {
    HOCKET_ASSIGN_OR_RETURN(
        RowFileWriter file,
        RowFileWriter::open(pathOf("index"), centresHead()));
    std::vector<float> values;
    eachRun([&](float *run, uint64_t count) {
      values.insert(values.end(), run, run + count);
    });
    HOCKET_RETURN_IF_ERROR(
        file.append(values.data() + file.rows(), values.size() - file.rows()));
    return file.commit();
  }

  /// Whether sound ones were kept.
  bool readCentres() {
    auto file = RowFile::open(pathOf("index"), centresKind);
    RowFileHead head = centresHead();
    if (!file.ok() || file->head().made != head.made ||
        file->head().rows != head.rows ||
        file->head().rowBytes != head.rowBytes)
      return false;
    std::vector<float> values(head.rows);
    if (!file->read(0, head.rows, values.data()).ok() ||
        !std::ranges::all_of(values, [](float f) { return std::isfinite(f); }))
      return false;
    const float *next = values.data();
    eachRun([&](float *run, uint64_t count) {
      std::copy_n(next, count, run);
      next += count;
    });
    return true;
  }

  /// 2. The list and the code of each chunk.
  Status add(WorkerPool &pool, const RetrievalProgress &progress) {
    const std::string path = pathOf("codes");
    RowFileHead head{codesKind, made, made, codeRowBytes(), chunks->rows()};
    if (auto whole = RowFile::open(path, codesKind);
        whole.ok() && whole->head().made == made &&
        whole->head().rows == head.rows &&
        whole->head().rowBytes == head.rowBytes)
      return okStatus();
    HOCKET_ASSIGN_OR_RETURN(RowFileWriter file,
                            RowFileWriter::open(path, head));
    RowMatrix block(std::min(blockRows, chunks->rows()), chunks->dim());
    while (file.rows() < chunks->rows()) {
      uint64_t at = file.rows();
      uint64_t count = std::min(blockRows, chunks->rows() - at);
      if (!progress("adding to the index", at, chunks->rows()))
        return retrievalStopped();
      HOCKET_RETURN_IF_ERROR(chunks->read(at, count, block));
      std::vector<uint8_t> codes = encode(block, count, pool);
      HOCKET_RETURN_IF_ERROR(file.append(codes.data(), count));
    }
    return file.commit();
  }

  std::vector<uint8_t> encode(RowMatrix &rows, uint64_t count,
                              WorkerPool &pool) const {
    std::vector<uint8_t> codes(count * codeRowBytes());
    std::vector<uint32_t> lists = nearestOf(rows, count, centres, pool);
    for (uint64_t r = 0; r < count; ++r)
      std::memcpy(&codes[r * codeRowBytes()], &lists[r], 4);
    if (parts() > 0)
      subtractCentres(rows, lists, centres);
    for (uint64_t part = 0; part < parts(); ++part) {
      std::vector<uint32_t> of = nearestOf(partOf(rows, count, part, parts()),
                                           count, words[part], pool);
      for (uint64_t r = 0; r < count; ++r)
        codes[r * codeRowBytes() + 4 + part] = uint8_t(of[r]);
    }
    return codes;
  }

  /// 3. All lists in memory, one behind the other, each in the order of the
  /// corpus.
  Status load(const RetrievalProgress &progress) {
    HOCKET_ASSIGN_OR_RETURN(RowFile file,
                            RowFile::open(pathOf("codes"), codesKind));
    uint64_t count = chunks->rows();
    uint64_t bytes = count * (8 + (parts() > 0 ? parts() : chunks->dim() * 4));
    uint64_t memory =
        uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
    if (bytes > memory)
      return resourceExhausted("index " + kind.name() + " needs " +
                               formatBytes(bytes) +
                               " of memory, this machine "
                               "has " +
                               formatBytes(memory) +
                               (parts() > 0 ? ""
                                            : "; IVF<lists>,PQ<bytes> "
                                              "needs less"));
    begins.assign(kind.lists + 1, 0);
    HOCKET_RETURN_IF_ERROR(eachCode(
        file, [&](uint64_t, uint32_t list, auto *) { ++begins[list + 1]; }));
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<uint64_t> next(begins.begin(), begins.end() - 1);
    numbers.resize(count);
    codes.resize(count * parts());
    std::vector<uint64_t> places(parts() > 0 ? 0 : count);
    HOCKET_RETURN_IF_ERROR(
        eachCode(file, [&](uint64_t row, uint32_t list, const uint8_t *code) {
          uint64_t place = next[list]++;
          numbers[place] = row;
          if (parts() > 0)
            std::copy_n(code, parts(), codes.begin() + long(place * parts()));
          else
            places[row] = place;
        }));
    return parts() > 0 ? okStatus() : loadRows(places, progress);
  }

  Status loadRows(const std::vector<uint64_t> &places,
                  const RetrievalProgress &progress) {
    rows = RowMatrix(places.size(), chunks->dim());
    RowMatrix block(std::min(blockRows, chunks->rows()), chunks->dim());
    for (uint64_t at = 0; at < places.size(); at += blockRows) {
      uint64_t count = std::min(blockRows, places.size() - at);
      if (!progress("reading the index", at, places.size()))
        return retrievalStopped();
      HOCKET_RETURN_IF_ERROR(chunks->read(at, count, block));
      for (uint64_t r = 0; r < count; ++r)
        std::copy_n(block.row(r), chunks->dim(), rows.row(places[at + r]));
    }
    return okStatus();
  }

  /// Calls visit(chunk, list, code) for each.
  template <typename Visit>
  Status eachCode(const RowFile &file, Visit visit) const {
    std::vector<uint8_t> bytes(blockRows * codeRowBytes());
    for (uint64_t at = 0; at < file.head().rows; at += blockRows) {
      uint64_t count = std::min(blockRows, file.head().rows - at);
      HOCKET_RETURN_IF_ERROR(file.read(at, count, bytes.data()));
      for (uint64_t r = 0; r < count; ++r) {
        const uint8_t *row = &bytes[r * codeRowBytes()];
        uint32_t list = 0;
        std::memcpy(&list, row, 4);
        if (list >= kind.lists)
          return dataLoss(file.path() + ": chunk " + std::to_string(at + r) +
                          " is in list " + std::to_string(list) + " of " +
                          std::to_string(kind.lists));
        visit(at + r, list, row + 4);
      }
    }
    return okStatus();
  }

  void searchList(const float *query, uint64_t list, NearestRows &best) const {
    uint64_t begin = begins[list], count = begins[list + 1] - begin;
    if (count == 0)
      return;
    if (parts() == 0) {
      std::vector<float> found(count);
      distancesTo(query, rows, begin, found);
      for (uint64_t i = 0; i < count; ++i)
        best.offer({found[i], numbers[begin + i]});
      return;
    }
    std::vector<float> table = tableOf(query, list);
    for (uint64_t i = begin; i < begin + count; ++i) {
      const uint8_t *code = &codes[i * parts()];
      float sum = 0;
      for (uint64_t part = 0; part < parts(); ++part)
        sum += table[part * wordsOfPart + code[part]];
      best.offer({sum, numbers[i]});
    }
  }

  /// The distances of each part of a query, less the list's centre, to the
  /// centres of such parts: [parts, wordsOfPart].
  std::vector<float> tableOf(const float *query, uint64_t list) const {
    std::vector<float> table(parts() * wordsOfPart);
    uint64_t width = chunks->dim() / parts();
    for (uint64_t part = 0; part < parts(); ++part) {
      std::vector<float> piece(words[part].strideOf());
      for (uint64_t i = 0; i < width; ++i)
        piece[i] =
            query[part * width + i] - centres.row(list)[part * width + i];
      distancesTo(piece.data(), words[part], 0,
                  std::span(table).subspan(part * wordsOfPart, wordsOfPart));
    }
    return table;
  }

  std::shared_ptr<EmbeddingSource> chunks;
  IndexOptions options;
  IndexKind kind;
  Sha256::Digest made;
  RowMatrix centres;
  std::vector<RowMatrix> words;  ///< Of each part.
  std::vector<uint64_t> begins;  ///< Of each list, in what follows:
  std::vector<uint64_t> numbers; ///< chunks,
  std::vector<uint8_t> codes;    ///< their codes,
  RowMatrix rows;                ///< or their embeddings.
};

} // namespace

StatusOr<std::unique_ptr<ChunkIndex>>
data::openChunkIndex(std::shared_ptr<EmbeddingSource> chunks,
                     const IndexOptions &options, WorkerPool &pool,
                     const RetrievalProgress &progress) {
  if (options.kind.lists == 0)
    return std::unique_ptr<ChunkIndex>(
        std::make_unique<FlatIndex>(std::move(chunks)));
  auto index = std::make_unique<ListIndex>(std::move(chunks), options);
  HOCKET_RETURN_IF_ERROR(index->build(pool, progress));
  return std::unique_ptr<ChunkIndex>(std::move(index));
}
