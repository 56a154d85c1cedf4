//===- RetrievalTest.cpp - Neighbours of samples --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/NeighborSearch.h"
#include "runtime/data/samples/RandomState.h"
#include "runtime/data/samples/RetrievalDataset.h"
#include "runtime/data/samples/ShowSamples.h"
#include "test/runtime/data/TokenFiles.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace retrieval_test {

namespace {

constexpr uint64_t chunkLength = 4, sequenceLength = 16, neighborsEach = 2,
                   retrievedLength = 6, vocabulary = 97, dim = 40;
constexpr int32_t pad = 96;

/// What each token of a chunk adds to its embedding: small whole numbers, so
/// that distances are exact and many are equal.
std::vector<float> embeddingOf(std::span<const int32_t> tokens) {
  std::vector<float> row(dim);
  for (size_t i = 0; i < tokens.size(); ++i)
    row[size_t(tokens[i]) % 5] += float(tokens[i] % 7);
  return row;
}

class SumEmbedder : public ChunkEmbedder {
public:
  uint64_t dim() const override { return retrieval_test::dim; }
  Sha256::Digest digest() const override { return Sha256::of("sum"); }
  uint64_t atOnce() const override { return 3; }
  Status embed(std::span<const ChunkTokens> chunks,
               std::span<float> out) override {
    for (const ChunkTokens &chunk : chunks) {
      std::ranges::copy(embeddingOf(chunk), out.begin());
      out = out.subspan(retrieval_test::dim);
      ++embedded;
    }
    return okStatus();
  }
  uint64_t embedded = 0;
};

/// Two token files in a folder, of documents of any length, some empty.
class RetrievalTest : public testing::Test {
protected:
  RetrievalTest() {
    RandomState random(7);
    for (const char *name : {"a", "b"}) {
      std::vector<int32_t> lengths;
      for (int i = 0; i < 40; ++i)
        lengths.push_back(int32_t(random.interval(23)));
      writeTokenFile(folder / name, makeTokenFile(lengths, 90));
    }
  }

  GptDatasetOptions options() const {
    GptDatasetOptions options;
    options.sequenceLength = sequenceLength;
    options.vocabularySize = vocabulary;
    options.seed = 3;
    options.retrieval =
        RetrievalOptions{.shape = {chunkLength, neighborsEach, retrievedLength},
                         .corpus = {folder / "a", folder / "b"},
                         .pad = pad};
    return options;
  }

  NeighborSearchOptions searchOptions(unsigned threads = 2) const {
    NeighborSearchOptions search;
    search.corpus = options().retrieval->corpus;
    search.chunkLength = chunkLength;
    search.neighbors = neighborsEach;
    search.vocabularySize = vocabulary;
    search.threads = threads;
    search.embedder = std::make_shared<SumEmbedder>();
    return search;
  }

  NeighborTarget target(uint64_t samples) const {
    NeighborTarget target;
    target.options = options();
    target.file = std::make_shared<const IndexedDataset>(
        *IndexedDataset::open(folder / "a"));
    target.text =
        *GptDataset::create(target.file, options(), Split::Train, samples);
    target.samples = samples;
    return target;
  }

  /// Files whose names end in `extension`, and their bytes.
  std::string bytesOf(const std::string &extension) const {
    std::string bytes;
    for (const std::string &name : folder.list())
      if (name.ends_with(extension))
        bytes += name + "\n" + readBytes(folder / name);
    return bytes;
  }

  std::string neighborPath() const {
    for (const std::string &name : folder.list())
      if (name.ends_with(".neighbors"))
        return folder / name;
    return "";
  }

  void removeAllButTokens() const {
    for (const std::string &name : folder.list())
      if (!name.ends_with(".bin") && !name.ends_with(".idx"))
        std::filesystem::remove(folder / name);
  }

  ScratchFolder folder;
};

bool goOn(const std::string &, uint64_t, uint64_t) { return true; }

Status find(const NeighborSearchOptions &options, const NeighborTarget &target,
            const RetrievalProgress &progress = goOn) {
  auto search = NeighborSearch::open(options, progress);
  HOCKET_RETURN_IF_ERROR(search.status());
  return (*search)->find(target).status();
}

std::string withText(const Status &status) { return status.message(); }

} // namespace

TEST_F(RetrievalTest, ChunksAreThoseOfAPlainLoop) {
  auto corpus = *RetrievalCorpus::open({folder / "a", folder / "b"});
  auto table = *ChunkTable::create(*corpus, chunkLength);
  uint64_t chunk = 0, document = 0;
  for (const char *name : {"a", "b"}) {
    auto file = *IndexedDataset::open(folder / name);
    for (uint64_t s = 0; s < file.sequences(); ++s, ++document) {
      uint64_t length = *file.length(s);
      EXPECT_EQ(table.firstOf(document), chunk);
      for (uint64_t offset = 0; offset < length; offset += chunkLength) {
        ChunkTable::Place place = table.at(chunk++);
        EXPECT_EQ(place.document, document);
        EXPECT_EQ(place.offset, offset);
        std::vector<int32_t> tokens(chunkLength), wanted;
        uint64_t count = *corpus->read(document, offset, vocabulary, tokens);
        wanted.resize(std::min(chunkLength, length - offset));
        ASSERT_TRUE(file.read(s, offset, vocabulary, wanted).ok());
        tokens.resize(count);
        EXPECT_EQ(tokens, wanted);
      }
    }
  }
  EXPECT_EQ(table.size(), chunk);
}

/// Every chunk of the corpus, every chunk of every sample, all distances.
TEST_F(RetrievalTest, NeighboursAreThoseOfAPlainLoop) {
  NeighborTarget of = target(30); // Of more than one epoch.
  ASSERT_GT(of.text->sampleOrder().plan().epochs, 1u);
  ASSERT_EQ(withText(find(searchOptions(), of)), "");
  auto dataset =
      *RetrievalDataset::create(of.file, options(), Split::Train, 30);
  auto corpus = *RetrievalCorpus::open(options().retrieval->corpus);
  auto table = *ChunkTable::create(*corpus, chunkLength);
  std::vector<std::vector<float>> rows;
  std::vector<ChunkTable::Place> places;
  for (uint64_t c = 0; c < table.size(); ++c) {
    places.push_back(table.at(c));
    std::vector<int32_t> tokens(chunkLength);
    tokens.resize(*corpus->read(places[c].document, places[c].offset,
                                vocabulary, tokens));
    rows.push_back(embeddingOf(tokens));
  }
  uint64_t ties = 0;
  for (uint64_t s = 0; s < 30; ++s) {
    std::vector<int32_t> sample(sequenceLength + 1),
        found(dataset->neighborShape().tokens(sequenceLength)), wanted;
    ASSERT_TRUE(dataset->read(s, sample).ok());
    ASSERT_TRUE(dataset->readNeighbors(s, found).ok());
    std::set<uint64_t> own;
    for (const SampleSegment &segment : *dataset->segments(s))
      own.insert(segment.sequence); // "a" comes first in the corpus.
    for (uint64_t begin = 0; begin < sequenceLength; begin += chunkLength) {
      std::vector<float> query =
          embeddingOf(std::span(sample).subspan(begin, chunkLength));
      std::vector<std::pair<float, uint64_t>> order;
      for (uint64_t c = 0; c < rows.size(); ++c) {
        float sum = 0;
        for (uint64_t i = 0; i < dim; ++i)
          sum += (query[i] - rows[c][i]) * (query[i] - rows[c][i]);
        if (!own.contains(places[c].document))
          order.emplace_back(sum, c);
      }
      std::ranges::sort(order);
      ties += order[1].first == order[2].first;
      for (uint64_t n = 0; n < neighborsEach; ++n) {
        const ChunkTable::Place &place = places[order[n].second];
        std::vector<int32_t> tokens(retrievedLength, pad);
        ASSERT_TRUE(
            corpus->read(place.document, place.offset, vocabulary, tokens)
                .ok());
        wanted.insert(wanted.end(), tokens.begin(), tokens.end());
      }
    }
    EXPECT_EQ(found, wanted) << "sample " << s;
  }
  EXPECT_GT(ties, 10u);
}

TEST_F(RetrievalTest, ThreadsAndInterruptionsLeaveTheBytesAsTheyAre) {
  for (const char *kind : {"Flat", "IVF6,Flat", "IVF3,PQ5"}) {
    // Codes need 256 chunks.
    if (std::string(kind).ends_with("PQ5"))
      writeTokenFile(folder / "b", makeTokenFile({900, 400}, 89));
    NeighborSearchOptions wanted = searchOptions(1);
    wanted.index = *parseIndexKind(kind);
    wanted.probes = 2;
    removeAllButTokens();
    NeighborTarget of = target(600);
    ASSERT_EQ(withText(find(wanted, of)), "") << kind;
    std::string bytes = bytesOf("");
    EXPECT_THAT(bytes, Not(HasSubstr(".part")));
    for (unsigned threads : {2, 5}) {
      removeAllButTokens();
      wanted.threads = threads;
      uint64_t stops = 0;
      // Each attempt fills a page of rows, or trains the index.
      for (Status status = unavailable("not begun"); !status.ok(); ++stops) {
        ASSERT_LT(stops, 1000u) << status.message();
        uint64_t calls = 0;
        status = find(wanted, of, [&](const std::string &, uint64_t, uint64_t) {
          return ++calls <= 12;
        });
        if (!status.ok()) {
          EXPECT_EQ(status.code(), StatusCode::Unavailable);
        }
      }
      EXPECT_GT(stops, 5u) << kind;
      EXPECT_EQ(bytesOf("") == bytes, true) << kind << " " << threads;
    }
  }
}

TEST_F(RetrievalTest, WhatIsCompleteIsNotMadeAgainAndIsContinued) {
  NeighborSearchOptions search = searchOptions();
  auto embedder = std::make_shared<SumEmbedder>();
  search.embedder = embedder;
  // Two runs that read the data as often.
  NeighborTarget of = target(60), shorter = of;
  shorter.samples = 20;
  ASSERT_EQ(withText(find(search, shorter)), "");
  uint64_t first = embedder->embedded;
  ASSERT_EQ(withText(find(search, of)), "");
  EXPECT_EQ(embedder->embedded - first, 40 * sequenceLength / chunkLength);
  std::string bytes = bytesOf(".neighbors");
  first = embedder->embedded;
  ASSERT_EQ(withText(find(search, of)), "");
  ASSERT_EQ(withText(find(search, shorter)), "");
  EXPECT_EQ(embedder->embedded, first);
  EXPECT_EQ(bytesOf(".neighbors") == bytes, true);
  removeAllButTokens();
  ASSERT_EQ(withText(find(search, of)), "");
  EXPECT_EQ(bytesOf(".neighbors") == bytes, true);
  // Another index would find other neighbours.
  search.index = IndexKind{.lists = 2};
  EXPECT_THAT(withText(find(search, of)),
              HasSubstr("was made with another embedder or index; remove it"));
}

/// A kill leaves a file of any length; a disk that fails, any bytes.
TEST_F(RetrievalTest, WhatAKillHasLeftIsContinued) {
  RowFileHead head{embeddingsKind, Sha256::of("of"), Sha256::of("made"), 52,
                   700};
  std::string rows;
  for (uint64_t i = 0; i < head.rows * head.rowBytes; ++i)
    rows.push_back(char(i * i % 251));
  auto write = [&](const std::string &path, uint64_t atOnce) {
    auto file = RowFileWriter::open(path, head);
    ASSERT_EQ(withText(file.status()), "");
    while (file->rows() < head.rows) {
      uint64_t count = std::min(atOnce, head.rows - file->rows());
      ASSERT_TRUE(
          file->append(rows.data() + file->rows() * head.rowBytes, count).ok());
    }
    ASSERT_EQ(withText(file->commit()), "");
  };
  write(folder / "whole", 13);
  const std::string whole = readBytes(folder / "whole");
  for (uint64_t size = 0; size < whole.size(); size += 1009)
    for (bool damage : {false, true}) {
      std::string part = whole.substr(0, size);
      if (damage && size > 0)
        part[size / 2] ^= 1;
      writeBytes(folder / "again.part", part);
      write(folder / "again", 57);
      EXPECT_EQ(readBytes(folder / "again") == whole, true) << size;
    }
  EXPECT_EQ(std::filesystem::exists(folder / "again.part"), false);
  head.made = Sha256::of("otherwise");
  writeBytes(folder / "other.part", whole);
  auto other = RowFileWriter::open(folder / "other", head);
  EXPECT_THAT(withText(other.status()),
              HasSubstr("other.part: was begun with"));
  EXPECT_EQ(readBytes(folder / "other.part") == whole, true);
}

TEST_F(RetrievalTest, TwoProcessesDoNotWriteOneFile) {
  RowFileHead head{embeddingsKind, {}, {}, 8, 2};
  auto first = *RowFileWriter::open(folder / "rows", head);
  EXPECT_THAT(withText(RowFileWriter::open(folder / "rows", head).status()),
              HasSubstr("another process is writing it"));
}

TEST_F(RetrievalTest, ForeignFilesAreRefused) {
  NeighborTarget of = target(20);
  ASSERT_EQ(withText(find(searchOptions(), of)), "");
  const std::string path = neighborPath(), bytes = readBytes(path);
  auto messageOf = [&](const std::string &changed, uint64_t samples = 20,
                       uint64_t neighbors = neighborsEach) {
    writeBytes(path, changed);
    GptDatasetOptions with = options();
    with.retrieval->shape.neighbors = neighbors;
    auto dataset =
        RetrievalDataset::create(of.file, with, Split::Train, samples);
    if (!dataset.ok())
      return dataset.status().message();
    std::vector<int32_t> tokens(with.retrieval->shape.tokens(sequenceLength));
    for (uint64_t s = 0; s < samples; ++s)
      if (Status status = (*dataset)->readNeighbors(s, tokens); !status.ok())
        return status.message();
    return std::string();
  };
  EXPECT_EQ(messageOf(bytes), "");
  EXPECT_EQ(messageOf(bytes, 20, 1), ""); // The nearest alone.
  EXPECT_THAT(messageOf(bytes, 20, 3),
              HasSubstr("a chunk has 2 neighbours, and the model takes 3"));
  EXPECT_THAT(messageOf(bytes, 21), HasSubstr("`hocket data neighbors"));
  EXPECT_THAT(messageOf(bytes.substr(0, bytes.size() - 1)),
              HasSubstr("are no row of whole pages"));
  EXPECT_THAT(messageOf(""), HasSubstr("too short"));
  std::string damaged = bytes;
  damaged[200] ^= 1;
  EXPECT_THAT(messageOf(damaged), HasSubstr("is not what was written"));
  // Whose pages are whole, and whose numbers are wrong.
  auto withRow = [&](const std::vector<Neighbor> &row, Sha256::Digest digest) {
    std::filesystem::remove(path);
    RowFileHead head = {neighborsKind, digest, {}, 8 * row.size(), 20};
    auto file = *RowFileWriter::open(path, head);
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(file.append(row.data(), 1).ok());
    EXPECT_TRUE(file.commit().ok());
    return readBytes(path);
  };
  writeBytes(path, bytes);
  Sha256::Digest digest = RowFile::open(path, neighborsKind)->head().of;
  EXPECT_THAT(messageOf(withRow(std::vector<Neighbor>(8, {80, 0}), digest)),
              HasSubstr("there is no token 0 of sequence 80"));
  EXPECT_THAT(messageOf(withRow(std::vector<Neighbor>(8, {3, 23}), digest)),
              HasSubstr("sample 0: "));
  EXPECT_THAT(messageOf(withRow(std::vector<Neighbor>(7, {3, 0}), digest)),
              HasSubstr("its rows are not of 4 chunks"));
  EXPECT_THAT(messageOf(withRow(std::vector<Neighbor>(8, {3, 0}), {})),
              HasSubstr("is of other samples"));
  std::filesystem::remove(path);
  GptDatasetOptions with = options();
  with.retrieval->split = Split::Valid;
  EXPECT_THAT(
      withText(
          RetrievalDataset::create(of.file, with, Split::Train, 20).status()),
      HasSubstr("a: nothing was retrieved for these samples, " + path +
                " is missing; `hocket data neighbors --split valid`"));
}

TEST_F(RetrievalTest, OtherSamplesHaveOtherFiles) {
  NeighborTarget of = target(20);
  auto corpus = *RetrievalCorpus::open(options().retrieval->corpus);
  auto same =
      *neighborRequestOf(*of.file, *of.text, options(), Split::Train, *corpus);
  std::set<std::string> paths = {neighborFilePath("a", same)};
  auto add = [&](const NeighborRequest &request) {
    EXPECT_TRUE(paths.insert(neighborFilePath("a", request)).second);
  };
  NeighborRequest other = same;
  other.seed = 4, add(other), other = same;
  other.sequenceLength = 32, add(other), other = same;
  other.chunkLength = 8, add(other), other = same;
  other.epochs.epochs += 1, add(other), other = same;
  other.bounds[1] -= 1, add(other), other = same;
  other.file[0] ^= 1, add(other), other = same;
  other.corpus[0] ^= 1, add(other);
}

TEST_F(RetrievalTest, AFewChunksLeaveNeighboursOut) {
  // All of the corpus but 3 tokens is the sample's own document.
  writeTokenFile(folder / "a", makeTokenFile({17}, 90));
  writeTokenFile(folder / "b", makeTokenFile({3}, 90));
  NeighborTarget of = target(1);
  ASSERT_EQ(withText(find(searchOptions(), of)), "");
  auto dataset = *RetrievalDataset::create(of.file, options(), Split::Train, 1);
  std::vector<int32_t> tokens(dataset->neighborShape().tokens(sequenceLength));
  ASSERT_TRUE(dataset->readNeighbors(0, tokens).ok());
  for (size_t chunk = 0; chunk < 4; ++chunk)
    EXPECT_THAT(
        std::vector(tokens.begin() + long(chunk * 12),
                    tokens.begin() + long(chunk * 12 + 12)),
        ElementsAre(0, 1, 2, pad, pad, pad, pad, pad, pad, pad, pad, pad));
  std::ostringstream out;
  ASSERT_TRUE(showSamples(*dataset, {.range = {0, 1}}, out).ok());
  EXPECT_THAT(out.str(),
              HasSubstr("  chunk 3, neighbour 0: 0 1 2 96 96 96\n"
                        "  chunk 3, neighbour 1: 96 96 96 96 96 96"));
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
RowMatrix randomRows(uint64_t rows, uint64_t columns, uint32_t seed) {
  RowMatrix result(rows, columns);
  RandomState random(seed);
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t i = 0; i < columns; ++i)
      result.row(r)[i] = float(random.uniform() - 0.5);
  return result;
}
} // namespace

TEST(NearestTest, IsTheSameForAnyThreadsAndBlocks) {
  RowMatrix base = randomRows(301, 37, 1), queries = randomRows(67, 37, 2);
  std::vector<RowRange> unwanted = {{10, 60}, {299, 301}};
  std::vector<std::vector<std::pair<float, uint64_t>>> all;
  for (unsigned threads : {1, 2, 7})
    for (uint64_t block : {301, 32, 5}) {
      WorkerPool pool(threads);
      std::vector<NearestRows> best(queries.rows(), NearestRows(6, unwanted));
      for (uint64_t at = 0; at < base.rows(); at += block) {
        uint64_t count = std::min(block, base.rows() - at);
        RowMatrix part(count, 37);
        for (uint64_t r = 0; r < count; ++r)
          std::copy_n(base.row(at + r), 37, part.row(r));
        offerRows(queries, part, count, at, best, pool);
      }
      auto &found = all.emplace_back();
      for (const NearestRows &of : best)
        for (const FoundRow &row : of.rows())
          found.emplace_back(row.distance, row.row);
      EXPECT_EQ(found, all.front());
    }
  for (uint64_t q = 0; q < queries.rows(); ++q) {
    std::vector<std::pair<double, uint64_t>> order;
    for (uint64_t r = 0; r < base.rows(); ++r) {
      double sum = 0;
      for (uint64_t i = 0; i < 37; ++i)
        sum += std::pow(double(queries.row(q)[i]) - base.row(r)[i], 2);
      if ((r < 10 || r >= 60) && r < 299)
        order.emplace_back(sum, r);
    }
    std::ranges::sort(order);
    for (uint64_t n = 0; n < 6; ++n) {
      EXPECT_EQ(all[0][q * 6 + n].second, order[n].second);
      EXPECT_NEAR(all[0][q * 6 + n].first, order[n].first, 1e-5);
    }
  }
}

TEST(NearestTest, ClustersAreFoundAndNoneStaysEmpty) {
  // Three heaps, of which one has most rows, and as many centres as rows.
  RowMatrix rows(90, 3);
  RandomState random(5);
  for (uint64_t r = 0; r < 90; ++r)
    for (uint64_t i = 0; i < 3; ++i)
      rows.row(r)[i] = float(i == r % 3 ? 100 : 0) + float(random.uniform());
  WorkerPool one(1), many(4);
  RowMatrix centres = clusterRows(rows, 3, 10, 0, one);
  std::set<uint32_t> heaps;
  for (uint64_t c = 0; c < 3; ++c)
    for (uint32_t i = 0; i < 3; ++i)
      if (centres.row(c)[i] > 90)
        heaps.insert(i);
  EXPECT_EQ(heaps.size(), 3u);
  RowMatrix again = clusterRows(rows, 3, 10, 0, many);
  for (uint64_t c = 0; c < 3; ++c)
    EXPECT_TRUE(std::equal(centres.row(c), centres.row(c) + 3, again.row(c)));
  RowMatrix equal(20, 3); // Rows that are all the same leave clusters empty.
  RowMatrix split = clusterRows(equal, 5, 4, 0, many);
  for (uint64_t c = 0; c < 5; ++c)
    EXPECT_TRUE(std::isfinite(split.row(c)[0]));
}

TEST(IndexKindTest, NamesAreThoseOfFaiss) {
  for (const char *name : {"Flat", "IVF4096,Flat", "IVF16,PQ8"})
    EXPECT_EQ(parseIndexKind(name)->name(), name);
  for (const char *name :
       {"", "flat", "IVF", "IVF0,Flat", "IVF16", "IVF16,", "IVF16,PQ",
        "IVF16,PQ0", "IVF16,SQ8", "HNSW32", "IVF99999999999999999999,Flat",
        "OPQ32_64,IVF65536_HNSW8,PQ32", "IVF-1,Flat", "IVF16,PQ8x4"})
    EXPECT_THAT(parseIndexKind(name).status().message(),
                HasSubstr("there is no index '" + std::string(name) + "'"));
  EXPECT_EQ(indexKindFor(200'000, 768).name(), "Flat");
  EXPECT_EQ(indexKindFor(1'000'000, 768).name(), "IVF4096,PQ64");
  EXPECT_EQ(indexKindFor(1'000'000, 7).name(), "IVF4096,Flat");
}

//===----------------------------------------------------------------------===//
// NumPy files
//===----------------------------------------------------------------------===//

namespace {
std::string npyFile(const std::string &header, const std::vector<float> &rows,
                    char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  if (version == 1)
    appendBytes<uint16_t>(bytes, uint16_t(header.size()));
  else
    appendBytes<uint32_t>(bytes, uint32_t(header.size()));
  bytes += header;
  for (float value : rows)
    appendBytes(bytes, value);
  return bytes;
}
} // namespace

TEST(NpyTest, OthersAreRefused) {
  ScratchFolder folder;
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }  \n";
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6};
  auto messageOf = [&](const std::string &bytes) {
    writeBytes(folder / "e.npy", bytes);
    auto file = openNpyEmbeddings(folder / "e.npy", 3, "chunks of the corpus");
    if (!file.ok())
      return file.status().message();
    RowMatrix out(3, (*file)->dim());
    return (*file)->read(0, 3, out).message();
  };
  auto changed = [&](const std::string &from, const std::string &to) {
    std::string header = good;
    header.replace(header.find(from), from.size(), to);
    return messageOf(npyFile(header, rows));
  };
  for (char version : {1, 2, 3})
    EXPECT_EQ(messageOf(npyFile(good, rows, version)), "");
  EXPECT_THAT(changed("<f4", "<f8"), HasSubstr("does not hold float32"));
  EXPECT_THAT(changed("False", "True"), HasSubstr("is not in C order"));
  EXPECT_THAT(changed("(3, 2)", "(6,)"), HasSubstr("does not hold a matrix"));
  EXPECT_THAT(changed("(3, 2)", "(3, 2, 1)"),
              HasSubstr("does not hold a matrix"));
  EXPECT_THAT(changed("(3, 2)", "(2, 3)"), HasSubstr("holds [2, 3]"));
  EXPECT_THAT(changed("(3, 2)", "(3, 0)"), HasSubstr("holds [3, 0]"));
  EXPECT_THAT(changed("(3, 2)", "(3, 3)"), HasSubstr("has another size"));
  EXPECT_THAT(changed("(3, 2)", "(3, 99999999999999999999)"),
              HasSubstr("does not hold a matrix"));
  EXPECT_THAT(changed("'shape'", "'shale'"),
              HasSubstr("does not hold a matrix"));
  std::string bytes = npyFile(good, rows);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(messageOf(bytes.substr(0, size)), "") << size;
  EXPECT_THAT(messageOf(bytes + "x"), HasSubstr("has another size"));
  EXPECT_THAT(messageOf(npyFile(good, {1, 2, 3, NAN, 5, 6})),
              HasSubstr("row 1 has a number that is not finite"));
  EXPECT_THAT(messageOf(npyFile(good, {1, 2, 3, 4, INFINITY, 6})),
              HasSubstr("row 2 has a number that is not finite"));
}

} // namespace retrieval_test
