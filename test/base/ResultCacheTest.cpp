//===- ResultCacheTest.cpp - What was found out before --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/ResultCache.h"

#include "base/File.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace hocket;

namespace {

class Cache : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/result-cache-" + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

TEST_F(Cache, KeepsCodeUnderAllThatItDependsOn) {
  auto cache = ResultCache::open(folder + "/a/b");
  ASSERT_TRUE(cache.ok()) << cache.status().message();
  std::string key = ResultCache::keyOf({"13.0", "sm_90a", "text"});
  EXPECT_NE(key, ResultCache::keyOf({"13.0", "sm_90", "atext"}));
  EXPECT_FALSE(cache->find(key));
  std::string code("code\0with zeros", 15);
  ASSERT_TRUE(cache->store(key, code).ok());
  EXPECT_EQ(ResultCache::open(folder + "/a/b")->find(key), code);
  EXPECT_FALSE(cache->find(ResultCache::keyOf({"13.0", "sm_80", "text"})));
}

TEST_F(Cache, DoesNotReadWhatIsDamaged) {
  auto cache = ResultCache::open(folder);
  ASSERT_TRUE(cache.ok());
  ASSERT_TRUE(cache->store("key", "machine code").ok());
  std::string file = folder + "/key.kept";
  std::string bytes = *readFile(file, 1 << 20);
  for (size_t cut : {size_t(0), size_t(5), size_t(20), bytes.size() - 1}) {
    ASSERT_TRUE(writeFileAtomically(file, bytes.substr(0, cut)).ok());
    EXPECT_FALSE(cache->find("key")) << cut;
  }
  bytes.back() ^= 1;
  ASSERT_TRUE(writeFileAtomically(file, bytes).ok());
  EXPECT_FALSE(cache->find("key"));
}

TEST_F(Cache, DoesNotTrustWhatOthersMayWrite) {
  ASSERT_TRUE(ResultCache::open(folder).ok());
  for (mode_t mode : {0770, 0755, 0702}) {
    ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
    Status status = ResultCache::open(folder).status();
    EXPECT_EQ(status.code(), StatusCode::FailedPrecondition) << mode;
    EXPECT_EQ(status.message(),
              folder + ": compiled kernels are kept only in a folder that is "
                       "the user's own and private (chmod 700)");
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  auto cache = ResultCache::open(folder);
  ASSERT_TRUE(cache.ok());
  ASSERT_TRUE(cache->store("key", "code").ok());
  // A link may lead to somebody else's file.
  ASSERT_EQ(
      ::rename((folder + "/key.kept").c_str(), (folder + "/other").c_str()), 0);
  ASSERT_EQ(::symlink("other", (folder + "/key.kept").c_str()), 0);
  EXPECT_FALSE(cache->find("key"));
  std::filesystem::create_directory_symlink(folder, folder + "-link");
  EXPECT_FALSE(ResultCache::open(folder + "-link").ok());
  std::filesystem::remove(folder + "-link");
}

} // namespace
