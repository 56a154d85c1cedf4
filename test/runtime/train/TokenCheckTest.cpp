//===- TokenCheckTest.cpp - Bad tokens are found before training ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/TokenCheck.h"

#include "test/runtime/data/TokenFiles.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class TokenCheck : public testing::Test {
protected:
  void SetUp() override {
    cache = folder / "cache";
    ::setenv("HOCKET_CACHE", cache.c_str(), 1);
  }
  void TearDown() override { ::unsetenv("HOCKET_CACHE"); }

  Status check(const std::vector<std::string> &words, uint64_t vocabulary) {
    scanned = 0;
    return checkTokens(words, vocabulary, {[](const std::string &) {}, nullptr},
                       [this] {
                         ++scanned;
                         return false;
                       });
  }

  ScratchFolder folder;
  std::string cache;
  int scanned = 0; ///< Parts of files, in the last check.
};

} // namespace

TEST_F(TokenCheck, NamesTheFileOfABlend) {
  writeTokenFile(folder / "a", makeTokenFile({5, 7}, 10));
  writeTokenFile(folder / "b", makeTokenFile({5, 20, 7}, 20));
  EXPECT_TRUE(check({folder / "a"}, 10).ok());
  Status status = check({"0.5", folder / "a", "0.5", folder / "b"}, 10);
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_THAT(status.message(),
              HasSubstr(folder / "b.bin: sequence 1, position 14: token 19 is "
                                 "outside the vocabulary of 10 entries."));
  EXPECT_FALSE(fs::exists(cache)) << "small files are not worth it";
}

TEST_F(TokenCheck, TypesThatCannotHoldSuchATokenAreNotRead) {
  writeTokenFile(folder / "a", makeTokenFile({5, 7}, 10));
  EXPECT_TRUE(check({folder / "a"}, 65536).ok());
  EXPECT_EQ(scanned, 0);
}

TEST_F(TokenCheck, ALargeFileIsReadOnceUntilItChanges) {
  // 18 MiB of zeros, without a byte of them on disk.
  TokenFile file = makeTokenFile({0}, 1);
  int32_t length = 9 << 20;
  std::memcpy(file.index.data() + 34, &length, sizeof(length));
  writeTokenFile(folder / "a", file);
  fs::resize_file(folder / "a.bin", uint64_t(length) * 2);
  EXPECT_TRUE(check({folder / "a"}, 10).ok());
  EXPECT_EQ(scanned, 18);
  EXPECT_TRUE(check({folder / "a"}, 10).ok());
  EXPECT_EQ(scanned, 0);
  // In place, with the times that it had: rsync does that.
  auto time = fs::last_write_time(folder / "a.bin");
  {
    std::fstream change(folder / "a.bin",
                        std::ios::in | std::ios::out | std::ios::binary);
    change.seekp(100);
    change.put(77);
  }
  fs::last_write_time(folder / "a.bin", time);
  EXPECT_THAT(check({folder / "a"}, 10).message(),
              HasSubstr("sequence 0, position 50: token 77 is outside"));
  EXPECT_EQ(scanned, 18);
  // What is kept holds for any vocabulary.
  EXPECT_TRUE(check({folder / "a"}, 78).ok());
  EXPECT_THAT(check({folder / "a"}, 77).message(), HasSubstr("token 77"));
  EXPECT_EQ(scanned, 0);
}

TEST_F(TokenCheck, AnInterruptEndsIt) {
  writeTokenFile(folder / "a", makeTokenFile({5, 7}, 10));
  Status status =
      checkTokens({folder / "a"}, 10, {[](const std::string &) {}, nullptr},
                  [] { return true; });
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
}
