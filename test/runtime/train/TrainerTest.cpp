//===- TrainerTest.cpp - The step loop, stopped and resumed ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Trainer.h"

#include "base/File.h"
#include "runtime/comm/local/LocalWorld.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/train/values/Initialize.h"
#include "runtime/train/values/RunCheckpoint.h"
#include "test/runtime/program/ProgramBuilder.h"
#include "test/runtime/train/CountingSamples.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace hocket;
using test::CountingSamples;
using test::DamagedSamples;
using testing::ElementsAre;
namespace fs = std::filesystem;

namespace {

/// An executor of the tiny model with its first values, and what a run printed.
struct TinyRun {
  std::unique_ptr<comm::CommunicatorSet> group = comm::createSingleRank();
  std::unique_ptr<Executor> executor;
  std::vector<std::string> printed;
  std::shared_ptr<data::SampleSource> samples =
      std::make_shared<CountingSamples>(1000);
  std::shared_ptr<data::SampleSource> validSamples =
      std::make_shared<CountingSamples>(8);

  explicit TinyRun(program::Program program,
                   FirstValues which = FirstValues::All) {
    auto created = Executor::create(
        std::make_shared<const program::Program>(std::move(program)),
        *hal::createDevice("cpu"), *group);
    EXPECT_TRUE(created.ok()) << created.status().message();
    executor = *std::move(created);
    EXPECT_TRUE(initializeParameters(*executor, 0, which).ok());
  }

  Status train(uint64_t steps, const std::string &saveDir = "",
               MetricsLog log = {}, TrainerPosition start = {}) {
    TrainerOptions options{steps, saveDir, [this](const std::string &line) {
                             printed.push_back(line);
                           }};
    Trainer trainer(*executor, samples, validSamples, log, options);
    return trainer.run(start);
  }
  /// What was printed, without the lines of progress.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const std::string &line : printed)
      if (!line.starts_with("iteration "))
        notes.push_back(line);
    return notes;
  }

  std::vector<float> state() {
    std::vector<float> all;
    for (const auto &slice : executor->role().slices()) {
      std::vector<float> part(executor->sliceBytes(slice) / 4);
      EXPECT_TRUE(
          executor->readSlice(slice, 0, part.data(), part.size() * 4).ok());
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
};

class TrainerTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/hocket-trainer-" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<nlohmann::json> lines(const std::string &path) const {
    std::vector<nlohmann::json> parsed;
    std::istringstream text(*readFile(path, 1 << 20));
    for (std::string line; std::getline(text, line);)
      parsed.push_back(nlohmann::json::parse(line));
    return parsed;
  }

  std::string folder;
};

} // namespace

TEST_F(TrainerTest, LearnsAndLogs) {
  program::Program program = test::tinyModel();
  program.mutable_training()->set_valid_interval(20);
  program.mutable_training()->set_valid_batches(2);
  program.mutable_training()->set_log_interval(10);
  TinyRun run(program);
  auto log = MetricsLog::open(folder + "/log", false);
  ASSERT_TRUE(log.ok());
  Status status = run.train(40, "", *std::move(log));
  ASSERT_TRUE(status.ok()) << status.message();

  std::vector<nlohmann::json> all = lines(folder + "/log");
  ASSERT_EQ(all.size(), 42u); // 40 steps and 2 validations.
  EXPECT_EQ(all[0]["step"], 1);
  EXPECT_NEAR(all[0]["loss"].get<double>(), std::log(16.0), 0.05);
  EXPECT_GT(all[0]["grad_norm"].get<double>(), 0);
  EXPECT_EQ(all[0]["lr"], 0.5);
  EXPECT_GT(all[0]["tokens_per_second"].get<double>(), 0);
  EXPECT_EQ(all[3]["consumed_samples"], 16);
  EXPECT_FALSE(all[0].contains("loss_scale"));
  EXPECT_EQ(all[20]["step"], 20);
  EXPECT_EQ(all[20]["valid_samples"], 8);
  EXPECT_LT(all[41]["valid_loss"].get<double>(),
            all[20]["valid_loss"].get<double>());
  EXPECT_LT(all[40]["loss"].get<double>(), all[0]["loss"].get<double>() / 2);

  ASSERT_EQ(run.printed.size(), 7u); // 5 lines and 2 validations.
  EXPECT_EQ(
      run.printed[0].rfind("iteration        1/      40 | consumed samples: "
                           "           4 | elapsed time per iteration (ms): ",
                           0),
      0u)
      << run.printed[0];
  for (const char *field :
       {" | learning rate: 5.000000E-01 | lm loss: ", " | grad norm: ",
        " | tokens/s: ", " | time left: "})
    EXPECT_NE(run.printed[0].find(field), std::string::npos) << field;
  EXPECT_EQ(run.printed[3].rfind("validation loss at iteration 20: ", 0), 0u);
}

TEST_F(TrainerTest, ResumesBitByBit) {
  TinyRun whole(test::tinyModel());
  auto log = MetricsLog::open(folder + "/whole", false);
  ASSERT_TRUE(whole.train(12, "", *std::move(log)).ok());

  TinyRun first(test::tinyModel());
  Status status = first.train(5, folder + "/save");
  ASSERT_TRUE(status.ok()) << status.message();

  TinyRun second(test::tinyModel());
  auto loaded = loadRun(*second.executor, folder + "/save");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->step, 5u);
  EXPECT_EQ(loaded->consumedSamples, 20u);
  EXPECT_EQ(loaded->seed, 1234u);
  EXPECT_EQ(second.state(), first.state());
  log = MetricsLog::open(folder + "/second", false);
  ASSERT_TRUE(second
                  .train(12, "", *std::move(log),
                         {loaded->step, loaded->consumedSamples})
                  .ok());
  EXPECT_EQ(second.state(), whole.state());

  auto a = lines(folder + "/whole"), b = lines(folder + "/second");
  ASSERT_EQ(b.size(), 7u);
  for (size_t i = 0; i < 7; ++i)
    for (const char *field : {"step", "loss", "grad_norm", "consumed_samples"})
      EXPECT_EQ(b[i][field], a[i + 5][field]);
}

TEST_F(TrainerTest, SavesAtIntervalsAndAtTheEnd) {
  program::Program program = test::tinyModel();
  program.mutable_training()->set_save_interval(2);
  TinyRun run(program);
  ASSERT_TRUE(run.train(5, folder + "/save").ok());
  for (uint64_t step : {2, 4, 5})
    EXPECT_TRUE(fs::exists(checkpoint::iterationFolder(folder + "/save", step)))
        << step;
  EXPECT_EQ(*checkpoint::latestIteration(folder + "/save"), 5u);
}

TEST_F(TrainerTest, SavesTheSameInTheBackground) {
  program::Program program = test::tinyModel();
  program.mutable_training()->set_save_interval(2);
  TinyRun one(program), other(program);
  ASSERT_TRUE(one.train(5, folder + "/one").ok());
  TrainerOptions options{5, folder + "/other", [&](const std::string &line) {
                           other.printed.push_back(line);
                         }};
  options.savesInBackground = true;
  std::vector<uint64_t> saved;
  options.saved = [&](uint64_t step) {
    EXPECT_GE(*checkpoint::latestIteration(folder + "/other"), step);
    saved.push_back(step);
    return okStatus();
  };
  MetricsLog log;
  Trainer trainer(*other.executor, other.samples, nullptr, log, options);
  Status status = trainer.run({});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(saved, (std::vector<uint64_t>{2, 4, 5}));
  EXPECT_THAT(other.notes(),
              ElementsAre("saved step 2 in " + folder + "/other",
                          "saved step 4 in " + folder + "/other",
                          "saved step 5 in " + folder + "/other"));
  std::vector<std::string> files;
  for (const auto &entry : fs::recursive_directory_iterator(folder + "/one"))
    if (entry.is_regular_file())
      files.push_back(fs::relative(entry.path(), folder + "/one").string());
  EXPECT_EQ(files.size(), 3 * 3 + 1u);
  for (const std::string &file : files)
    EXPECT_EQ(*readFile(folder + "/one/" + file, 1 << 20),
              *readFile(folder + "/other/" + file, 1 << 20))
        << file;
}

TEST_F(TrainerTest, SaysWhyNothingWasSavedInTheBackground) {
  program::Program program = test::tinyModel();
  program.mutable_training()->set_save_interval(2);
  TinyRun run(program);
  TrainerOptions options{50, "/proc"};
  options.savesInBackground = true;
  MetricsLog log;
  Trainer trainer(*run.executor, run.samples, nullptr, log, options);
  EXPECT_THAT(trainer.run({}).message(),
              testing::StartsWith("step 2 could not be saved: "
                                  "/proc/iter_0000002: cannot create: "));
}

// What is being written is complete, though the run ends with an error.
TEST_F(TrainerTest, KeepsWhatWasBegunBeforeALossThatIsNoNumber) {
  program::Program program = test::tinyModel();
  program.mutable_training()->set_save_interval(1);
  program.mutable_training()->mutable_learning_rate()->set_peak(1e30);
  program.mutable_training()->mutable_learning_rate()->set_minimum(1e30);
  TinyRun run(program);
  TrainerOptions options{50, folder + "/save"};
  options.savesInBackground = true;
  MetricsLog log;
  Trainer trainer(*run.executor, run.samples, nullptr, log, options);
  Status status = trainer.run({});
  EXPECT_THAT(status.message(), testing::HasSubstr("nothing is saved"));
  auto latest = checkpoint::latestIteration(folder + "/save");
  ASSERT_TRUE(latest.ok()) << latest.status().message();
  EXPECT_EQ(*latest, trainer.position().step - 1);
}

TEST_F(TrainerTest, TellsWhoAsksThatACheckpointIsComplete) {
  program::Program program = test::tinyModel();
  program.mutable_training()->set_save_interval(2);
  TinyRun run(program);
  std::vector<std::string> said;
  std::vector<uint64_t> saved;
  TrainerOptions options{5, folder + "/save", [&](const std::string &line) {
                           said.push_back(line);
                         }};
  options.saved = [&](uint64_t step) {
    EXPECT_EQ(*checkpoint::latestIteration(folder + "/save"), step);
    saved.push_back(step);
    return step == 4 ? unavailable("iter: cannot delete") : okStatus();
  };
  MetricsLog log;
  Trainer trainer(*run.executor, std::make_shared<CountingSamples>(1000),
                  nullptr, log, options);
  Status status = trainer.run({});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(saved, (std::vector<uint64_t>{2, 4, 5}));
  EXPECT_EQ(std::count(said.begin(), said.end(),
                       "older checkpoints stay: iter: cannot delete"),
            1);
}

TEST_F(TrainerTest, ShowsOnATerminalWhatItDoes) {
  program::Program program = test::tinyModel();
  program.mutable_training()->set_valid_interval(2);
  program.mutable_training()->set_valid_batches(1);
  TinyRun run(program);
  std::vector<std::string> shown;
  TrainerOptions options{2, folder + "/save"};
  options.show = [&](const std::string &text) { shown.push_back(text); };
  MetricsLog log;
  Trainer trainer(*run.executor, std::make_shared<CountingSamples>(1000),
                  std::make_shared<CountingSamples>(8), log, options);
  ASSERT_TRUE(trainer.run({}).ok());
  ASSERT_GE(shown.size(), 4u);
  EXPECT_EQ(shown[0], "step 1 of 2");
  EXPECT_EQ(shown[1].rfind("step 1 of 2 (50 %) | lm loss: 2.", 0), 0u)
      << shown[1];
  EXPECT_EQ(shown[shown.size() - 2], "validating after step 2");
  EXPECT_EQ(shown.back(), "saving step 2");
}

TEST_F(TrainerTest, ZeroStepsSaveTheInitialWeights) {
  TinyRun run(test::tinyModel());
  ASSERT_TRUE(run.train(0, folder + "/save").ok());
  TinyRun other(test::tinyModel());
  other.executor->setSeed(99);
  ASSERT_TRUE(initializeParameters(*other.executor).ok());
  EXPECT_NE(other.state(), run.state());
  ASSERT_TRUE(loadRun(*other.executor, folder + "/save").ok());
  EXPECT_EQ(other.state(), run.state());
}

// What a checkpoint may lack has its first values all the same.
TEST_F(TrainerTest, WeightsThatAreLoadedAreNotDrawn) {
  program::Program program = test::tinyModel();
  TinyRun run(program);
  std::vector<float> drawn = run.state();
  ASSERT_TRUE(run.train(2, folder + "/save").ok());
  TinyRun other(program, FirstValues::BesideWeights);
  std::vector<float> begun = other.state();
  size_t at = 0;
  for (const auto &slice : other.executor->role().slices())
    for (size_t end = at + other.executor->sliceBytes(slice) / 4; at < end;
         ++at)
      EXPECT_EQ(begun[at], isWeight(program, slice) ? 0 : drawn[at]);
  ASSERT_TRUE(loadRun(*other.executor, folder + "/save").ok());
  EXPECT_EQ(other.state(), run.state());
}

TEST_F(TrainerTest, RefusesACheckpointOfAnotherModel) {
  TinyRun run(test::tinyModel());
  ASSERT_TRUE(run.train(0, folder + "/save").ok());
  test::TinyModel wider;
  wider.hidden = 12;
  TinyRun other(test::tinyModel(wider));
  auto loaded = loadRun(*other.executor, folder + "/save");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.status().message().find("embed"), std::string::npos)
      << loaded.status().message();
  EXPECT_EQ(loadRun(*other.executor, folder + "/none").status().code(),
            StatusCode::NotFound);
}

TEST_F(TrainerTest, StopsWhenTheLossIsNoNumber) {
  program::Program program = test::tinyModel();
  program.mutable_training()->mutable_learning_rate()->set_peak(1e30);
  TinyRun run(program);
  auto log = MetricsLog::open(folder + "/log", false);
  Status status = run.train(50, folder + "/save", *std::move(log));
  EXPECT_EQ(exitStatusOf(status), 1);
  EXPECT_NE(status.message().find("nothing is saved"), std::string::npos)
      << status.message();
  EXPECT_FALSE(fs::exists(folder + "/save"));
  EXPECT_TRUE(lines(folder + "/log").back()["loss"].is_null());
}

TEST_F(TrainerTest, AnInterruptEndsTheStepAndSaves) {
  TinyRun run(test::tinyModel());
  TrainerOptions options{1000, folder + "/save", [](const std::string &line) {
                           if (line.rfind("iteration        3/", 0) != 0)
                             return;
                           std::raise(SIGINT);
                           std::raise(SIGINT); // As `timeout` and others do.
                         }};
  MetricsLog log;
  Trainer trainer(*run.executor, std::make_shared<CountingSamples>(10000),
                  nullptr, log, options);
  Status status = trainer.run({});
  EXPECT_EQ(status.message(),
            "interrupted after step 3; saved in " + folder + "/save");
  EXPECT_EQ(exitStatusOf(status), 1);
  EXPECT_EQ(*checkpoint::latestIteration(folder + "/save"), 3u);
}

TEST_F(TrainerTest, RunningOutOfSamplesIsSaid) {
  TinyRun run(test::tinyModel());
  MetricsLog log;
  Trainer trainer(*run.executor, std::make_shared<CountingSamples>(6), nullptr,
                  log, {5, "", [](const std::string &) {}});
  Status status = trainer.run({});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("step 2"), std::string::npos)
      << status.message();
}

// Steps have 4 samples: sample 14 is the fourth step's.
TEST_F(TrainerTest, DataThatCannotBeReadEndsARunThatIsSaved) {
  TinyRun run(test::tinyModel());
  run.samples = std::make_shared<DamagedSamples>(1000, 14);
  Status status = run.train(9, folder + "/save");
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(), "step 4: data.bin: no byte 77; step 3 is saved "
                              "in " +
                                  folder + "/save");
  TinyRun same(test::tinyModel());
  ASSERT_TRUE(same.train(3).ok());
  TinyRun loaded(test::tinyModel());
  ASSERT_TRUE(loadRun(*loaded.executor, folder + "/save").ok());
  EXPECT_EQ(loaded.state(), same.state());

  TinyRun first(test::tinyModel());
  first.samples = std::make_shared<DamagedSamples>(1000, 2);
  EXPECT_EQ(first.train(9, folder + "/first").message(),
            "step 1: data.bin: no byte 77");
  EXPECT_FALSE(fs::exists(folder + "/first"));
}

TEST_F(TrainerTest, ValidationDataThatCannotBeReadEndsValidationAlone) {
  program::Program program = test::tinyModel();
  program.mutable_training()->set_valid_interval(2);
  program.mutable_training()->set_valid_batches(2);
  TinyRun run(program);
  run.validSamples = std::make_shared<DamagedSamples>(8, 5);
  Status status = run.train(6);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(run.notes(),
              ElementsAre("warning: no more validation: data.bin: no byte 77",
                          "warning: validation ended early: data.bin: no byte "
                          "77"));
}

TEST_F(TrainerTest, ALogThatCannotBeWrittenIsSaidTwice) {
  TinyRun run(test::tinyModel());
  auto log = MetricsLog::open("/dev/full", true);
  ASSERT_TRUE(log.ok()) << log.status().message();
  Status status = run.train(5, folder + "/save", *std::move(log));
  EXPECT_TRUE(status.ok()) << status.message();
  std::string why = "/dev/full: cannot write the log: No space left on device";
  EXPECT_THAT(
      run.notes(),
      ElementsAre("warning: " + why + "; training goes on",
                  "saved step 5 in " + folder + "/save",
                  "warning: 5 lines of the log could not be written: " + why));
}
