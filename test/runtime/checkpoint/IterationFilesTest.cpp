//===- IterationFilesTest.cpp - What may be deleted -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/IterationFiles.h"

#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::checkpoint;
using namespace hocket::test;
namespace fs = std::filesystem;

TEST(IterationFiles, AreThoseThatASaveWrites) {
  for (const char *name :
       {"manifest.json", "model.safetensors", "optimizer.safetensors",
        "model-00000-of-00008.safetensors",
        "optimizer-00007-of-00008.safetensors"})
    EXPECT_TRUE(isIterationFile(name)) << name;
  for (const char *name :
       {"notes.txt", "manifest.json.old", "my-model.safetensors",
        "model-1-of-2.safetensors", "model-00000-of-.safetensors",
        "model.safetensors.index.json", "model-00000.safetensors", "model", ""})
    EXPECT_FALSE(isIterationFile(name)) << name;
}

TEST(IterationFiles, FoldersAreNamedAfterTheirStep) {
  EXPECT_EQ(stepOfFolder("iter_0000100"), 100u);
  EXPECT_EQ(stepOfFolder("iter_123456789"), 123456789u);
  for (const char *name : {"iter_100", "iter_0000100x", "iter_", "iter_-000001",
                           "xiter_0000100", "iter_00000100", ""})
    EXPECT_EQ(stepOfFolder(name), std::nullopt) << name;
}

TEST(IterationFiles, OnlyCompleteIterationsCount) {
  ScratchFolder folder;
  for (const char *name : {"iter_0000030", "iter_0000004", "iter_0000005",
                           ".iter_0000006.tmp-1", "other"})
    fs::create_directory(folder / name);
  for (const char *name : {"iter_0000030", "iter_0000004", "other"})
    writeBytes(folder / name + "/manifest.json", "{}");
  fs::create_directory_symlink(folder / "other", folder / "iter_0000007");
  EXPECT_EQ(iterationsIn(folder.path), (std::vector<uint64_t>{4, 30}));
  EXPECT_TRUE(iterationsIn(folder / "none").empty());
}

TEST(IterationFiles, RemovingLeavesWhatOthersPutThere) {
  ScratchFolder folder;
  auto fill = [&](const std::string &name) {
    fs::create_directory(folder / name);
    for (const char *file : {"manifest.json", "model.safetensors",
                             "optimizer-00000-of-00002.safetensors"})
      writeBytes(folder / name + "/" + file, "x");
  };
  fill("iter_0000001");
  fill("iter_0000002");
  writeBytes(folder / "iter_0000002/notes.txt", "mine");
  EXPECT_TRUE(removeIteration(folder.path, 1).ok());
  EXPECT_TRUE(removeIteration(folder.path, 2).ok());
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"iter_0000002"}));
  EXPECT_EQ(readBytes(folder / "iter_0000002/notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(folder / "iter_0000002/model.safetensors"));
  EXPECT_TRUE(iterationsIn(folder.path).empty());
}
