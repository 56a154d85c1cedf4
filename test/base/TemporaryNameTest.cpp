//===- TemporaryNameTest.cpp - What dead writers leave --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/TemporaryName.h"

#include "base/File.h"
#include "test/runtime/ChildProcess.h"
#include "test/runtime/data/TokenFiles.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {
class TemporaryName : public testing::Test {
protected:
  /// Writes half of the file, and ends with the object that would remove it.
  bool writeHalf(const std::string &name) {
    auto file = AtomicFile::create(folder / name);
    if (!file.ok() || !file->append("half").ok())
      return false;
    static std::optional<AtomicFile> open;
    open.emplace(*std::move(file));
    return true;
  }
  size_t entries() const { return folder.list().size(); }

  ScratchFolder folder;
};
} // namespace

TEST_F(TemporaryName, IsAnotherEachTime) {
  std::string a = temporaryName(folder / "x", ".partial");
  std::string b = temporaryName(folder / "x", ".partial");
  EXPECT_NE(a, b);
  EXPECT_TRUE(a.starts_with(folder / ".x.")) << a;
  EXPECT_TRUE(a.ends_with(".partial")) << a;
  // A name of 255 bytes, the most there is, has one too.
  ASSERT_TRUE(writeFileAtomically(folder / std::string(255, 'n'), "x").ok());
}

TEST_F(TemporaryName, TheNextWriteRemovesWhatAKilledOneLeft) {
  WaitingChild writer([&] { return writeHalf("x"); });
  ASSERT_TRUE(writer.succeeded);
  ASSERT_EQ(entries(), 1u);
  // While it lives, its file stays.
  ASSERT_TRUE(writeFileAtomically(folder / "y", "y").ok());
  EXPECT_EQ(entries(), 2u);
  writer.kill();
  // What is replaceable is not worth looking through the folder.
  {
    auto file = AtomicFile::create(folder / "k", Durability::Replaceable);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(entries(), 3u);
  }
  ASSERT_TRUE(writeFileAtomically(folder / "z", "z").ok());
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"y", "z"}));
}

// In a container every start is process 1 and counts from 0.
TEST_F(TemporaryName, ProcessOneMayBeKilledAgainAndAgain) {
  for (int run = 0; run < 3; ++run) {
    auto succeeded = killedAsProcessOne([&] { return writeHalf("x"); });
    if (!succeeded)
      GTEST_SKIP() << "process namespaces are not allowed here";
    ASSERT_TRUE(*succeeded) << run;
    EXPECT_EQ(entries(), 1u) << run;
  }
  ASSERT_TRUE(writeFileAtomically(folder / "x", "x").ok());
  EXPECT_EQ(folder.list(), std::vector<std::string>{"x"});
}

TEST_F(TemporaryName, RemovesFoldersWithAllTheyHold) {
  std::string name = temporaryName(folder / "iter_0000007", ".tmp");
  fs::create_directories(name + "/deep");
  writeBytes(name + "/deep/file", "x");
  // Of another process, which locks it.
  int held = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_TRUE(holdTemporary(held));
  removeAbandoned(folder / "iter_0000008", ".tmp");
  EXPECT_EQ(entries(), 1u);
  ::close(held);
  removeAbandoned(folder / "iter_0000008", ".tmp");
  EXPECT_EQ(entries(), 0u);
}

// Who opens a file and finds it locked, or gone, takes another name.
TEST_F(TemporaryName, WhatWasTakenForAbandonedIsNotHeld) {
  std::string name = folder / "x";
  writeBytes(name, "");
  int own = ::open(name.c_str(), O_RDWR), other = ::open(name.c_str(), O_RDWR);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_FALSE(holdTemporary(own));
  ::close(other);
  EXPECT_TRUE(holdTemporary(own));
  fs::remove(name);
  EXPECT_FALSE(holdTemporary(own));
  ::close(own);
}

TEST_F(TemporaryName, LeavesEverythingElse) {
  std::string good = temporaryName(folder / "x", ".partial");
  std::string name = fs::path(good).filename();
  std::vector<std::string> others = {
      ".x.1.0.partial",                         // of another program
      name.substr(1),                           // not hidden
      name + ".old",                            // another ending
      "." + name.substr(3),                     // nothing named
      name.substr(0, 3) + "G" + name.substr(4), // no hexadecimal digit
  };
  for (const std::string &other : others)
    writeBytes(folder / other, "x");
  fs::create_symlink(folder / others[0], good);
  removeAbandoned(folder / "x", ".partial");
  EXPECT_EQ(entries(), others.size() + 1);
  removeAbandoned("/no/such/folder/x", ".partial");
}
