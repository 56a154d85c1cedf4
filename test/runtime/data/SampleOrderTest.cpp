//===- SampleOrderTest.cpp - Sample indices in files ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CacheSize.h"
#include "runtime/data/samples/BlendedDataset.h"
#include "test/runtime/data/TokenFiles.h"

#include <cstring>
#include <gmock/gmock.h>
#include <mutex>
#include <thread>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Token files of 400 sequences, some of them empty, and their samples.
class SampleOrders : public testing::Test {
protected:
  void SetUp() override {
    setenv("HOCKET_CACHE", (folder / "cache").c_str(), 1);
    std::filesystem::create_directory(folder / "data");
    for (int i = 0; i < 400; ++i)
      lengths.push_back(i % 7 == 3 ? 0 : (i * 37) % 61);
    write();
    options.sequenceLength = 8;
    options.vocabularySize = 1000;
    options.seed = 4;
    options.splitWeights = "1";
  }
  void TearDown() override { unsetenv("HOCKET_CACHE"); }

  void write() { writeTokenFile(prefix, makeTokenFile(lengths, 1000)); }

  StatusOr<std::unique_ptr<SampleSource>> open(uint64_t inMemoryBytes,
                                               uint64_t samples = 3000) {
    options.cache.inMemoryBytes = inMemoryBytes;
    options.cache.note = [this](const std::string &line) {
      std::lock_guard lock(mutex);
      notes.push_back(line);
    };
    return openSamples({{1, prefix}}, options, Split::Train, samples);
  }

  /// The files that hold orders.
  std::vector<std::string> orders(const std::string &where) {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(where, error))
      if (entry.path().extension() == ".samples" && entry.is_regular_file())
        found.push_back(entry.path().string());
    return found;
  }

  static std::vector<int32_t> allTokens(const SampleSource &source) {
    std::vector<int32_t> all, tokens(9);
    for (uint64_t i = 0; i < source.size(); ++i) {
      Status status = source.read(i, tokens);
      EXPECT_TRUE(status.ok()) << status.message();
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
    return all;
  }

  ScratchFolder folder;
  std::string prefix = folder / "data/t";
  std::vector<int32_t> lengths;
  GptDatasetOptions options;
  std::mutex mutex;
  std::vector<std::string> notes;
};

TEST_F(SampleOrders, AreTheSameFromAFile) {
  // One epoch, several that are shuffled together, a last one apart.
  for (uint64_t samples : {100, 2000, 3000, 4000}) {
    auto memory = open(1 << 30, samples);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    EXPECT_THAT(notes, testing::IsEmpty());
    for (int again : {0, 1}) {
      auto kept = open(0, samples);
      ASSERT_TRUE(kept.ok()) << kept.status().message();
      EXPECT_EQ((*kept)->size(), (*memory)->size());
      EXPECT_EQ(allTokens(**kept), allTokens(**memory)) << samples;
      if (again)
        EXPECT_THAT(notes, testing::IsEmpty());
      else
        EXPECT_THAT(notes, ElementsAre(StartsWith("making the sample index"),
                                       StartsWith("made " + prefix)));
      notes.clear();
    }
  }
  EXPECT_EQ(orders(folder / "data").size(), 4u);
}

TEST_F(SampleOrders, AreMadeAgainForOtherData) {
  ASSERT_TRUE(open(0).ok());
  notes.clear();
  std::swap(lengths[10], lengths[11]); // As many bytes as before.
  write();
  auto kept = open(0), memory = open(1 << 30);
  ASSERT_TRUE(kept.ok() && memory.ok());
  EXPECT_EQ(notes.size(), 2u);
  EXPECT_EQ(allTokens(**kept), allTokens(**memory));
  EXPECT_EQ(orders(folder / "data").size(), 1u);
}

TEST_F(SampleOrders, AreMadeOnceByAllThatWantThem) {
  std::vector<std::thread> threads;
  std::vector<std::vector<int32_t>> tokens(4);
  options.cache.inMemoryBytes = 0;
  options.cache.note = [this](const std::string &line) {
    std::lock_guard lock(mutex);
    notes.push_back(line);
  };
  for (auto &own : tokens)
    threads.emplace_back([&] {
      auto source = openSamples({{1, prefix}}, options, Split::Train, 3000);
      ASSERT_TRUE(source.ok()) << source.status().message();
      own = allTokens(**source);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(std::ranges::count_if(
                notes, [](auto &line) { return line.starts_with("made "); }),
            1);
  for (const auto &other : tokens)
    EXPECT_EQ(other, tokens[0]);
}

/// Whatever byte is changed, a sample is what it was or an error.
TEST_F(SampleOrders, NeverGiveDamagedNumbers) {
  auto good = open(0);
  ASSERT_TRUE(good.ok());
  std::vector<int32_t> expected = allTokens(**good);
  std::string path = orders(folder / "data").at(0), bytes = readBytes(path);
  ASSERT_EQ(bytes.size() % 4096, 0u);
  for (size_t at : {size_t(0), size_t(20), size_t(50), size_t(4095),
                    size_t(9000), bytes.size() / 2, bytes.size() - 5000}) {
    std::string damaged = bytes;
    damaged[at] = char(damaged[at] ^ 0x10);
    writeBytes(path, damaged);
    // A header that is damaged is one of other data: the file is made again.
    auto source = open(0);
    ASSERT_TRUE(source.ok()) << source.status().message();
    std::vector<int32_t> tokens(9);
    int errors = 0;
    for (uint64_t i = 0; i < (*source)->size(); ++i) {
      Status status = (*source)->read(i, tokens);
      errors += !status.ok();
      if (status.ok())
        EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(),
                               expected.begin() + long(9 * i)))
            << at;
      else
        EXPECT_THAT(status.message(), HasSubstr("is not what was written"));
    }
    EXPECT_EQ(errors == 0, at < 4096) << at;
  }
  std::filesystem::resize_file(path, bytes.size() - 1);
  ASSERT_TRUE(open(0).ok());
  EXPECT_EQ(readBytes(path), bytes);
}

/// A file that was made to be believed.
TEST_F(SampleOrders, CheckWhatFilesSay) {
  auto good = open(0);
  ASSERT_TRUE(good.ok());
  std::string path = orders(folder / "data").at(0), content;
  {
    auto file = PagedFile::open(path);
    ASSERT_TRUE(file.ok());
    content.resize(file->size());
    ASSERT_TRUE(file->read(0, content.data(), content.size()).ok());
  }
  auto number = [&](size_t at) {
    uint64_t value;
    std::memcpy(&value, content.data() + at, sizeof(value));
    return value;
  };
  uint64_t samples = number(40), documents = number(48);
  size_t starts = 80 + 4 * documents, shuffle = starts + 8 * (samples + 1);
  auto messageWith = [&](size_t at, uint32_t value) {
    std::string changed = content;
    std::memcpy(changed.data() + at, &value, sizeof(value));
    auto writer = PagedFileWriter::create(path);
    EXPECT_TRUE(writer.ok());
    EXPECT_TRUE(writer->append(changed.data(), changed.size()).ok());
    EXPECT_TRUE(writer->commit().ok());
    auto source = open(0);
    EXPECT_TRUE(source.ok()) << source.status().message();
    std::vector<int32_t> tokens(9);
    std::string message;
    for (uint64_t i = 0; i < (*source)->size() && message.empty(); ++i)
      message = (*source)->read(i, tokens).message();
    return message;
  };
  EXPECT_THAT(messageWith(shuffle, 0xffffffff), HasSubstr("is to be the"));
  EXPECT_THAT(messageWith(starts, 0xfffffff0),
              HasSubstr("behind the last document"));
  EXPECT_THAT(messageWith(starts + 4, 0xfffffff0),
              HasSubstr("is not of this data"));
  EXPECT_THAT(messageWith(80, 0x7fffffff), HasSubstr("is not of this data"));
  EXPECT_THAT(messageWith(80, 0xffffffff), HasSubstr("is not of this data"));
  // Sizes that cannot be: it is made again.
  notes.clear();
  EXPECT_EQ(messageWith(40, 0), "");
  EXPECT_FALSE(notes.empty());
}

TEST_F(SampleOrders, AreInTheCacheFolderWhereDataCannotBeWritten) {
  ASSERT_TRUE(open(0).ok());
  std::string path = orders(folder / "data").at(0);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(open(0).ok());
  EXPECT_EQ(orders(folder / "cache").size(), 1u);
  EXPECT_EQ(notes.size(), 4u); // Made twice, each in its place.
  EXPECT_THAT(notes.back(), StartsWith("made " + (folder / "cache")));
  // It is not removed as long as somebody uses it.
  setenv("HOCKET_CACHE_SIZE", "1", 1);
  {
    auto source = open(0);
    cacheHasGrown(folder / "cache", 1);
    EXPECT_EQ(orders(folder / "cache").size(), 1u);
  }
  cacheHasGrown(folder / "cache", 1);
  EXPECT_EQ(orders(folder / "cache").size(), 0u);
  unsetenv("HOCKET_CACHE_SIZE");
  // Nor there: then it is in memory, as one of few samples is.
  std::filesystem::remove_all(folder / "cache");
  writeBytes(folder / "cache", "no folder");
  auto memory = open(1 << 30);
  notes.clear();
  auto unkept = open(0);
  ASSERT_TRUE(unkept.ok()) << unkept.status().message();
  EXPECT_THAT(notes.back(),
              StartsWith("the sample index stays in memory: " + path));
  EXPECT_EQ(allTokens(**unkept), allTokens(**memory));
}

TEST_F(SampleOrders, OfBlendsAreTheSameFromAFile) {
  std::vector<double> weights = normalizeWeights({3, 1, 0.5});
  OrderCache memory, kept;
  kept.inMemoryBytes = 0;
  for (uint64_t samples : {1, 681, 682, 5000}) {
    auto expected = BlendOrder::open(prefix, weights, samples, memory);
    ASSERT_TRUE(expected.ok());
    for (int again : {0, 1}) {
      auto order = BlendOrder::open(prefix, weights, samples, kept);
      ASSERT_TRUE(order.ok()) << again << order.status().message();
      EXPECT_EQ(order->taken(), expected->taken());
      for (uint64_t i = 0; i < samples; ++i)
        EXPECT_EQ(*order->choiceOf(i), *expected->choiceOf(i)) << i;
    }
  }
  // Whole, with all of their parts' orders.
  options.cache.inMemoryBytes = 0;
  auto blend =
      openSamples({{3, prefix}, {1, prefix}}, options, Split::Train, 500);
  options.cache.inMemoryBytes = 1 << 30;
  auto other =
      openSamples({{3, prefix}, {1, prefix}}, options, Split::Train, 500);
  ASSERT_TRUE(blend.ok() && other.ok());
  EXPECT_EQ(allTokens(**blend), allTokens(**other));
}

TEST_F(SampleOrders, OfBlendsCheckWhatFilesSay) {
  OrderCache kept;
  kept.inMemoryBytes = 0;
  ASSERT_TRUE(BlendOrder::open(prefix, {0.75, 0.25}, 50, kept).ok());
  std::string path;
  for (const auto &entry : std::filesystem::directory_iterator(folder / "data"))
    if (entry.path().extension() == ".blend")
      path = entry.path().string();
  std::string content(4092, 0);
  ASSERT_TRUE(PagedFile::open(path)->read(0, content.data(), 4092).ok());
  // The header, two sizes and two counts: then the first sample.
  content[32 + 16 + 16] = 2;
  auto writer = PagedFileWriter::create(path);
  ASSERT_TRUE(writer->append(content.data(), content.size()).ok());
  ASSERT_TRUE(writer->commit().ok());
  auto order = BlendOrder::open(prefix, {0.75, 0.25}, 50, kept);
  ASSERT_TRUE(order.ok());
  EXPECT_THAT(order->choiceOf(0).status().message(),
              HasSubstr("sample 0 is to be one that is not there"));
}

} // namespace
