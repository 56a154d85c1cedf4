//===- FileTest.cpp - Files that are whole or absent ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "base/json/JsonLines.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <vector>

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

TEST_F(FileTest, WhatIsReplaceableAppearsAtOnceToo) {
  ASSERT_TRUE(writeFileAtomically(at("x"), "old").ok());
  auto file = AtomicFile::create(at("x"), Durability::Replaceable);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->append("new").ok());
  EXPECT_EQ(*readFile(at("x"), 100), "old");
  AtomicFile moved = *std::move(file);
  ASSERT_TRUE(moved.commit().ok());
  EXPECT_EQ(*readFile(at("x"), 100), "new");
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(moved.commit().message(), at("x") + ": is committed twice");
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

TEST_F(FileTest, ReadsChunks) {
  ASSERT_TRUE(writeFileAtomically(at("x"), "0123456789").ok());
  auto opened = RandomAccessFile::open(at("x"));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  RandomAccessFile file = *std::move(opened);
  EXPECT_EQ(file.size(), 10u);
  char bytes[4] = {};
  ASSERT_TRUE(file.read(3, bytes, 4).ok());
  EXPECT_EQ(std::string(bytes, 4), "3456");
  EXPECT_EQ(RandomAccessFile::open(at("none")).status().code(),
            StatusCode::NotFound);
}

// Of a mapped file this would be SIGBUS.
TEST_F(FileTest, AFileThatIsCutShortIsAnError) {
  ASSERT_TRUE(writeFileAtomically(at("x"), std::string(100000, 'x')).ok());
  auto file = RandomAccessFile::open(at("x"));
  ASSERT_TRUE(file.ok());
  fs::resize_file(at("x"), 5000);
  std::string bytes(1000, ' ');
  EXPECT_TRUE(file->read(4000, bytes.data(), 1000).ok());
  Status status = file->read(4500, bytes.data(), 1000);
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(),
            at("x") + ": there is no byte 5000: the file has 5000 bytes now; "
                      "it had 100000 when it was opened, and was cut short "
                      "since");
}

TEST_F(FileTest, AFullDiskLosesLinesAndNotTheirOrder) {
  auto full = JsonLines::open("/dev/full", true);
  ASSERT_TRUE(full.ok()) << full.status().message();
  EXPECT_EQ(full->write({{"step", 1}}).message(),
            "/dev/full: cannot write the log: No space left on device");
  // A disk with room for a line and a half.
  auto log = JsonLines::open(at("log"), false);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small{17, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_TRUE(log->write({{"step", 1}}).ok());
  EXPECT_FALSE(log->write({{"step", 2}}).ok());
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_TRUE(log->write({{"step", 3}}).ok());
  EXPECT_EQ(*readFile(at("log"), 1000), "{\"step\":1}\n{\"step\":3}\n");
}

TEST_F(FileTest, HalfALineIsCutOffWhereALogIsContinued) {
  const std::string whole = "{\"step\":1}\n";
  for (const auto &[before, after] :
       std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {whole, whole},
           {whole + "{\"step\":2,\"lo", whole},
           {"{\"ste", ""},
           {whole + "{\"step\":2}", whole + "{\"step\":2}\n"},
           {"not a log", "not a log\n"},
           {std::string(100000, ' ') + "\n{",
            std::string(100000, ' ') + "\n"}}) {
    ASSERT_TRUE(writeFileAtomically(at("log"), before).ok());
    auto log = JsonLines::open(at("log"), true);
    ASSERT_TRUE(log.ok()) << log.status().message();
    ASSERT_TRUE(log->write({{"step", 3}}).ok());
    EXPECT_EQ(*readFile(at("log"), 1 << 20), after + "{\"step\":3}\n");
  }
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

TEST_F(FileTest, FilesBelowAFolderAreSorted) {
  fs::create_directories(at("b/c.txt")); // A folder is no file.
  for (const char *name : {"b/2.txt", "a.txt", "b/c.txt/1.json", "x.md"})
    ASSERT_TRUE(writeFileAtomically(at(name), "").ok());
  auto files = filesBelow(folder, {".txt", ".json"});
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(*files, (std::vector<std::string>{at("a.txt"), at("b/2.txt"),
                                              at("b/c.txt/1.json")}));
  EXPECT_EQ(*filesBelow(folder, {".png"}), std::vector<std::string>());
  EXPECT_EQ(filesBelow(at("none"), {".txt"}).status().code(),
            StatusCode::NotFound);
}
