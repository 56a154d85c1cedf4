//===- CacheSizeTest.cpp - How much a user keeps between runs -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CacheSize.h"

#include "base/File.h"
#include "base/ResultCache.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hocket;
namespace fs = std::filesystem;

using Names = std::vector<std::string>;

namespace {

class CacheSize : public testing::Test {
protected:
  /// A folder of its own: what is known of one lasts as long as the process.
  void SetUp() override {
    static int number = 0;
    folder = testing::TempDir() + "/cache-size-" + std::to_string(::getpid()) +
             "-" + std::to_string(++number);
    fs::remove_all(folder);
  }
  void TearDown() override {
    ::unsetenv("HOCKET_CACHE_SIZE");
    fs::remove_all(folder);
  }

  static void setLimit(const std::string &text) {
    ::setenv("HOCKET_CACHE_SIZE", text.c_str(), 1);
  }

  /// Says that a file was used last so many seconds after 1970.
  void setUse(const std::string &name, time_t seconds) const {
    timespec both[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder + "/" + name).c_str(), both, 0), 0);
  }

  /// The results that are left, without their ending, in order.
  Names left() const {
    Names names;
    for (const auto &entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".kept")
        names.push_back(entry.path().stem().string());
    std::ranges::sort(names);
    return names;
  }

  /// Stores results of a block each, "a" first, with their uses in order.
  void storeInOrder(const ResultCache &cache, int count) const {
    for (int i = 0; i < count; ++i) {
      std::string name(1, char('a' + i));
      ASSERT_TRUE(cache.store(name, std::string(3000, 'x')).ok());
      setUse(name + ".kept", 1000 + i);
    }
  }

  std::string folder;
};

TEST_F(CacheSize, TheLimitIsASize) {
  EXPECT_EQ(*cacheLimit(), uint64_t(4) << 30);
  for (const auto &[text, bytes] :
       std::vector<std::pair<const char *, uint64_t>>{
           {"", uint64_t(4) << 30},
           {"0", 0},
           {"100000", 100000},
           {"500MiB", uint64_t(500) << 20},
           {"500MB", 500'000'000},
           {"1.5GiB", uint64_t(3) << 29}}) {
    setLimit(text);
    ASSERT_TRUE(cacheLimit().ok()) << text;
    EXPECT_EQ(*cacheLimit(), bytes) << text;
  }
  for (const char *text : {"much", "-1", "4 GiB", "4GiBs"}) {
    setLimit(text);
    EXPECT_EQ(cacheLimit().status().message(),
              std::string("HOCKET_CACHE_SIZE is '") + text +
                  "', expected a size such as 4GiB, 500MB or 100000 (bytes); "
                  "0: no limit");
    EXPECT_EQ(exitStatusOf(cacheLimit().status()), 2);
  }
}

TEST_F(CacheSize, TheOldestUseGoesFirst) {
  setLimit("40KiB"); // Ten blocks, of which one and a quarter is to be free.
  auto cache = *ResultCache::open(folder);
  storeInOrder(cache, 10);
  EXPECT_EQ(left().size(), 10u);
  EXPECT_TRUE(cache.find("a")); // Used again.
  ASSERT_TRUE(cache.store("z", std::string(3000, 'x')).ok());
  EXPECT_EQ(left(), Names({"a", "e", "f", "g", "h", "i", "j", "z"}));
  EXPECT_LE(measureCache(folder).bytes, 40u << 10);
  EXPECT_FALSE(cache.find("b"));
}

TEST_F(CacheSize, WhatIsInUseStays) {
  setLimit("40KiB");
  auto cache = *ResultCache::open(folder);
  storeInOrder(cache, 10);
  {
    auto held = RandomAccessFile::open(folder + "/a.kept");
    held->useAsCached();
    setUse("a.kept", 1);
    ASSERT_TRUE(cache.store("z", std::string(3000, 'x')).ok());
    EXPECT_EQ(left(), Names({"a", "e", "f", "g", "h", "i", "j", "z"}));
  }
  for (const char *next : {"u", "v", "w", "x"})
    ASSERT_TRUE(cache.store(next, std::string(3000, 'x')).ok());
  EXPECT_FALSE(cache.find("a"));
}

TEST_F(CacheSize, OnlyWhatIsMadeAgainGoes) {
  setLimit("8KiB");
  auto cache = *ResultCache::open(folder);
  for (const char *name :
       {"data.0123456789ab.samples", "0123.native", "notes.txt", ".b.kept",
        "data.0123456789aB.samples", "gemms.lock", "0123456789ab.samples"})
    std::ofstream(folder + "/" + name) << "x";
  fs::create_directory(folder + "/c.kept");
  fs::create_symlink("notes.txt", folder + "/d.kept");
  ASSERT_TRUE(cache.store("a", std::string(9000, 'x')).ok());
  EXPECT_EQ(left(), Names({".b", "c", "d"}));
  EXPECT_FALSE(fs::exists(folder + "/data.0123456789ab.samples"));
  for (const char *name :
       {"0123.native", "notes.txt", ".b.kept", "data.0123456789aB.samples",
        "gemms.lock", "0123456789ab.samples"})
    EXPECT_TRUE(fs::exists(folder + "/" + name)) << name;
}

TEST_F(CacheSize, WithoutALimitAllStays) {
  setLimit("0");
  auto cache = *ResultCache::open(folder);
  storeInOrder(cache, 20);
  EXPECT_EQ(left().size(), 20u);
  setLimit("20KiB"); // As soon as there is one.
  ASSERT_TRUE(cache.store("z", "x").ok());
  EXPECT_LE(measureCache(folder).bytes, 20u << 10);
  EXPECT_TRUE(cache.find("z"));
}

/// What one finds is whole, whatever the others remove.
TEST_F(CacheSize, ManyProcessesShareAFolder) {
  constexpr int processes = 4, results = 300, names = 40;
  setLimit("128KiB");
  auto textOf = [](int name) { return std::string(size_t(name) * 300, 'x'); };
  auto work = [&](int seed) {
    auto cache = *ResultCache::open(folder);
    int found = 0;
    for (int i = 0; i < results; ++i) {
      int name = (i * 7 + seed * 3) % names;
      std::string key = "k" + std::to_string(name);
      if (std::optional<std::string> text = cache.find(key)) {
        if (*text != textOf(name))
          return false;
        ++found;
      } else if (!cache.store(key, textOf(name)).ok()) {
        return false;
      }
    }
    return found > 0;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    pid_t child = ::fork();
    if (child == 0)
      ::_exit(work(i) ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  // Each may have added a sixteenth since it looked.
  EXPECT_LE(measureCache(folder).bytes, (128u << 10) * (16 + processes) / 16);
  auto cache = *ResultCache::open(folder);
  ASSERT_TRUE(cache.store("last", "x").ok());
  EXPECT_LE(measureCache(folder).bytes, 128u << 10);
}

} // namespace
