//===- FileTest.cpp - Files that are whole or absent ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/base/JsonLines.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;
namespace fs = std::filesystem;

namespace {
class FileTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/hocket-file-" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string at(const std::string &name) const { return folder + "/" + name; }
  size_t entries() const {
    return size_t(std::distance(fs::directory_iterator(folder), {}));
  }

  std::string folder;
};
} // namespace

TEST_F(FileTest, WritesAndReadsBack) {
  std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(writeFileAtomically(at("x"), bytes).ok());
  auto read = readFile(at("x"), 100);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, bytes);
  ASSERT_TRUE(writeFileAtomically(at("x"), "new").ok());
  EXPECT_EQ(*readFile(at("x"), 100), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, AbandonedWritesLeaveNothing) {
  ASSERT_TRUE(writeFileAtomically(at("x"), "old").ok());
  {
    auto file = AtomicFile::create(at("x"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append("half").ok());
    EXPECT_EQ(entries(), 2u);
  }
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(*readFile(at("x"), 100), "old");
}

TEST_F(FileTest, WritesAtOffsets) {
  auto file = AtomicFile::create(at("x"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->writeAt(3, "def", 3).ok());
  ASSERT_TRUE(file->writeAt(0, "abc", 3).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(*readFile(at("x"), 100), "abcdef");
}

TEST_F(FileTest, RefusesWithTheReason) {
  EXPECT_EQ(readFile(at("none"), 9).status().message(),
            at("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(readFile(folder, 9).status().message(),
            folder + ": is a folder, expected a regular file");
  ASSERT_TRUE(writeFileAtomically(at("x"), "0123456789").ok());
  EXPECT_EQ(readFile(at("x"), 9).status().message(),
            at("x") + ": has 10 B, at most 9 B are expected of such a file");
  EXPECT_EQ(writeFileAtomically(at("no/x"), "").message(),
            at("no/x") + ": cannot create: No such file or directory");
  EXPECT_EQ(writeFileAtomically("/dev/null", "").message(),
            "/dev/null: exists and is not a regular file; it is not replaced");
  EXPECT_EQ(exitStatusOf(readFile(at("none"), 9).status()), 2);
}

TEST_F(FileTest, Maps) {
  ASSERT_TRUE(writeFileAtomically(at("x"), "mapped").ok());
  ASSERT_TRUE(writeFileAtomically(at("empty"), "").ok());
  auto mapped = MappedFile::open(at("x"));
  ASSERT_TRUE(mapped.ok());
  MappedFile moved = *std::move(mapped);
  EXPECT_EQ(moved.view(), "mapped");
  auto empty = MappedFile::open(at("empty"));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->size(), 0u);
  EXPECT_FALSE(MappedFile::open(at("none")).ok());
}

TEST_F(FileTest, JsonLinesKeepEveryDigit) {
  double value = 0.1 + 0.2;
  {
    auto log = JsonLines::open(at("log"), false);
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE(log->write({{"loss", value}, {"step", 1}}).ok());
    // A reader sees the line while the log is still open.
    auto line = nlohmann::json::parse(*readFile(at("log"), 1000));
    EXPECT_EQ(line["loss"].get<double>(), value);
    ASSERT_TRUE(log->write({{"loss", NAN}, {"bad", "\xff"}}).ok());
  }
  auto more = JsonLines::open(at("log"), true);
  ASSERT_TRUE(more->write({{"step", 2}}).ok());
  EXPECT_EQ(*readFile(at("log"), 1000),
            "{\"loss\":0.30000000000000004,\"step\":1}\n"
            "{\"loss\":null,\"bad\":\"\xef\xbf\xbd\"}\n"
            "{\"step\":2}\n");
}
