//===- SaveFolderTest.cpp - Nothing saved is lost in silence --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/SaveFolder.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/IterationFiles.h"
#include "test/runtime/data/TokenFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class SaveFolderTest : public testing::Test {
protected:
  void save(uint64_t step, const std::string &to = "run") {
    checkpoint::RunState state;
    state.step = step;
    Status status = checkpoint::saveCheckpoint(folder / to, state, {});
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// A request for "run", with `loadDir` inside the scratch folder.
  SaveRequest request(const std::string &loadDir = "") {
    SaveRequest made;
    made.dir = run;
    if (!loadDir.empty())
      made.loadDir = folder / loadDir;
    return made;
  }

  std::string refusal(SaveRequest request) {
    auto claimed = SaveFolder::claim(std::move(request));
    return claimed.ok() ? "claimed" : claimed.status().message();
  }

  std::unique_ptr<SaveFolder> claim(SaveRequest request) {
    auto claimed = SaveFolder::claim(std::move(request));
    EXPECT_TRUE(claimed.ok()) << claimed.status().message();
    return claimed.ok() ? *std::move(claimed) : nullptr;
  }

  std::vector<uint64_t> steps() { return checkpoint::iterationsIn(run); }

  using Steps = std::vector<uint64_t>;
  ScratchFolder folder;
  std::string run = folder / "run";
};

} // namespace

TEST_F(SaveFolderTest, IsMadeAndGoesAgainIfNothingIsSaved) {
  SaveRequest deep;
  deep.dir = folder / "a/b/c";
  auto claimed = claim(deep);
  EXPECT_TRUE(fs::exists(folder / "a/b/c/.hocket.lock"));
  claimed.reset();
  EXPECT_TRUE(folder.list().empty());

  claimed = claim(deep);
  save(1, "a/b/c");
  claimed.reset();
  EXPECT_EQ(checkpoint::iterationsIn(deep.dir), Steps{1});
  EXPECT_FALSE(fs::exists(folder / "a/b/c/.hocket.lock"));
}

TEST_F(SaveFolderTest, CannotBeWhereNothingCanBeWritten) {
  writeBytes(folder / "file", "x");
  SaveRequest wrong;
  wrong.dir = folder / "file/run";
  EXPECT_THAT(refusal(wrong), HasSubstr("file/run"));
  wrong.dir = "/proc/hocket";
  EXPECT_THAT(refusal(wrong), HasSubstr("/proc/hocket"));
  EXPECT_THAT(probeFolder("/proc").message(),
              HasSubstr("/proc: cannot write checkpoints here: "));
  save(1);
  wrong.dir = run + "/iter_0000001";
  EXPECT_THAT(refusal(wrong), HasSubstr("is itself a checkpoint"));
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"file", "run"}));
}

TEST_F(SaveFolderTest, AnotherRunsCheckpointsAreRefused) {
  save(60);
  EXPECT_EQ(refusal(request()), run + " holds step 60; go on with --load " +
                                    run + ", or start over with --overwrite");
  save(3, "other");
  EXPECT_THAT(refusal(request("other")), HasSubstr(run + " holds step 60; "));
  EXPECT_EQ(steps(), Steps{60});
  EXPECT_FALSE(fs::exists(run + "/.hocket.lock"));
}

TEST_F(SaveFolderTest, TheRunThatIsLoadedGoesOn) {
  save(30);
  save(60);
  for (const char *load : {"run", "run/", "run/iter_0000060", "./run/../run"})
    EXPECT_EQ(refusal(request(load)), "claimed") << load;
  fs::create_directory_symlink(run, folder / "link");
  EXPECT_EQ(refusal(request("link")), "claimed");
  EXPECT_EQ(refusal(request("run/iter_0000030")),
            run + " holds step 60, and --load " + run +
                "/iter_0000030 goes back to step 30; save in another folder, "
                "or replace the later steps with --overwrite");
}

TEST_F(SaveFolderTest, FilesOfOthersAreNoReason) {
  fs::create_directory(run);
  writeBytes(run + "/notes.txt", "mine");
  EXPECT_EQ(refusal(request()), "claimed");
  EXPECT_TRUE(fs::exists(run + "/notes.txt"));
}

TEST_F(SaveFolderTest, OverwritingDeletesOnceSomethingNewIsThere) {
  save(30);
  save(60);
  writeBytes(run + "/iter_0000030/notes.txt", "mine");
  SaveRequest over = request();
  over.overwrite = true;
  auto claimed = claim(over);
  EXPECT_EQ(claimed->notices(),
            std::vector<std::string>{run + " holds step 60; --overwrite: 2 "
                                           "checkpoints are deleted once this "
                                           "run has saved"});
  EXPECT_EQ(steps(), (Steps{30, 60}));
  save(10);
  ASSERT_TRUE(claimed->saved(10).ok());
  EXPECT_EQ(steps(), Steps{10});
  EXPECT_EQ(readBytes(run + "/iter_0000030/notes.txt"), "mine");
  save(20);
  ASSERT_TRUE(claimed->saved(20).ok());
  EXPECT_EQ(steps(), (Steps{10, 20}));
}

TEST_F(SaveFolderTest, OverwritingTheSameStepKeepsTheNewOne) {
  save(1);
  SaveRequest over = request();
  over.overwrite = true;
  auto claimed = claim(over);
  save(1);
  ASSERT_TRUE(claimed->saved(1).ok());
  EXPECT_EQ(steps(), Steps{1});
}

TEST_F(SaveFolderTest, GoingBackReplacesOnlyLaterSteps) {
  for (uint64_t step : {10, 20, 30})
    save(step);
  SaveRequest back = request("run/iter_0000010");
  back.overwrite = true;
  auto claimed = claim(back);
  save(15);
  ASSERT_TRUE(claimed->saved(15).ok());
  EXPECT_EQ(steps(), (Steps{10, 15}));
}

TEST_F(SaveFolderTest, ResumesTheNewestOrStartsNew) {
  SaveRequest again = request();
  again.resume = true;
  EXPECT_EQ(claim(again)->resumedStep(), std::nullopt);
  save(5);
  EXPECT_EQ(claim(again)->resumedStep(), 5u);
  // Killed before the first checkpoint became the latest.
  fs::remove(run + "/latest_checkpointed_iteration.txt");
  EXPECT_EQ(claim(again)->resumedStep(), 5u);
  EXPECT_EQ(refusal(request()),
            run + " holds step 5; go on with --load " + run +
                "/iter_0000005, or start over with --overwrite");
  writeBytes(run + "/latest_checkpointed_iteration.txt", "five");
  EXPECT_THAT(refusal(again), HasSubstr("expected the number of an iteration"));
}

TEST_F(SaveFolderTest, KeepsTheNewest) {
  SaveRequest few = request();
  few.keep = 2;
  auto claimed = claim(few);
  for (uint64_t step : {1, 2, 3, 4}) {
    save(step);
    ASSERT_TRUE(claimed->saved(step).ok());
  }
  EXPECT_EQ(steps(), (Steps{3, 4}));
  // A later one is not older, whatever it is.
  save(9);
  save(5);
  ASSERT_TRUE(claimed->saved(5).ok());
  EXPECT_EQ(steps(), (Steps{4, 5, 9}));
}

TEST_F(SaveFolderTest, OneRunAtATime) {
  auto first = claim(request());
  auto second = SaveFolder::claim(request());
  EXPECT_EQ(second.status().code(), StatusCode::FailedPrecondition);
  char host[256] = "";
  ::gethostname(host, sizeof(host));
  EXPECT_EQ(second.status().message(),
            run + ": another run saves here (process " +
                std::to_string(::getpid()) + " on host " + host +
                "); end it, or save in a folder of its own");
  first.reset();
  EXPECT_EQ(refusal(request()), "claimed");
}

TEST_F(SaveFolderTest, TheLockDiesWithItsProcess) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto lock = SaveFolder::claim(request());
    char word = lock.ok() ? 'y' : 'n';
    (void)!::write(ready[1], &word, 1);
    ::pause();
    ::_exit(0);
  }
  char word = 0;
  ASSERT_EQ(::read(ready[0], &word, 1), 1);
  EXPECT_EQ(word, 'y');
  EXPECT_THAT(refusal(request()),
              HasSubstr("(process " + std::to_string(child) + " on host "));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(run + "/.hocket.lock"));
  EXPECT_EQ(refusal(request()), "claimed");
}
