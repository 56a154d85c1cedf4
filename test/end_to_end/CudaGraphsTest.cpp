//===- CudaGraphsTest.cpp - Steps that a GPU does as one graph ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Training on an emulated GPU with each step as one graph, and instruction by
/// instruction: the same bits. What cannot be a graph says so.
///
//===----------------------------------------------------------------------===//

#include "runtime/executor/Executor.h"
#include "runtime/executor/ProgramGroups.h"
#include "runtime/program/Entries.h"
#include "runtime/program/RankPlace.h"
#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <atomic>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;
using testing::HasSubstr;

namespace {

class CudaGraphs : public TrainedPlans {
protected:
  void SetUp() override {
    TrainedPlans::SetUp();
    useEmulatedGpus({.count = 4});
  }

  static constexpr uint64_t fewSteps = 4;

  struct Run {
    Status status;
    unsigned recorded = 0; ///< Ranks that have.
    Outcome outcome;
    std::string lines;
  };

  static SharedProgram compileSmall(const ModelRow &model,
                                    const PlanRow &plan = {"One", "", 2},
                                    const std::string &target = "cuda",
                                    const std::string &growth = "") {
    return compile(model, plan, "precision: FP32 " + growth, target);
  }

  Run run(const SharedProgram &program, GraphUse graphs, bool profile = false) {
    Run result;
    TrainingOptions options;
    options.steps = fewSteps;
    options.data = {tokens()};
    options.graphs = graphs;
    options.profile = profile;
    options.logFile = folder + "/run.jsonl";
    options.saveDir = folder + "/run";
    std::atomic<unsigned> recorded = 0;
    options.finished = [&](Executor &executor) {
      bool all = true;
      for (const std::string &entry : entriesOf(executor.program()))
        all &= !isTrainEntry(entry) || executor.isCaptured(entry);
      recorded += all;
    };
    options.print = [&](const std::string &line) {
      result.lines += line + "\n";
    };
    result.status = runTraining(program, options);
    result.recorded = recorded;
    if (result.status.ok())
      result.outcome = outcomeOf("run", fewSteps);
    std::filesystem::remove_all(options.saveDir);
    std::filesystem::remove(options.logFile);
    return result;
  }

  static void expectSameBits(const Run &actual, const Run &expected) {
    EXPECT_EQ(actual.outcome.losses.size(), fewSteps);
    EXPECT_EQ(actual.outcome.losses, expected.outcome.losses);
    EXPECT_EQ(actual.outcome.norms, expected.outcome.norms);
    EXPECT_EQ(actual.outcome.state, expected.outcome.state);
  }
};

TEST_F(CudaGraphs, TrainToTheSameBits) {
  SharedProgram program = compileSmall(gpt);
  Run plain = run(program, GraphUse::Off);
  ASSERT_TRUE(plain.status.ok()) << plain.status.message();
  EXPECT_EQ(plain.recorded, 0U);
  for (GraphUse use : {GraphUse::On, GraphUse::Auto}) {
    Run graph = run(program, use);
    ASSERT_TRUE(graph.status.ok()) << graph.status.message();
    EXPECT_EQ(graph.recorded, 1U);
    expectSameBits(graph, plain);
  }
}

TEST_F(CudaGraphs, DrawOtherNumbersInEveryStep) {
  // Two microbatches: a kernel draws from two bases.
  SharedProgram program = compileSmall(gptWithDropout);
  Run plain = run(program, GraphUse::Off);
  ASSERT_TRUE(plain.status.ok()) << plain.status.message();
  Run graph = run(program, GraphUse::On);
  ASSERT_TRUE(graph.status.ok()) << graph.status.message();
  EXPECT_EQ(graph.recorded, 1U);
  expectSameBits(graph, plain);
}

/// Each size of the batch is a graph of its own, recorded once it has run.
TEST_F(CudaGraphs, FollowABatchThatGrows) {
  SharedProgram program =
      compileSmall(gptWithDropout, {"One", "", 4}, "cuda",
                   "batch_size_steps { batch_size: 3 samples: 3 } "
                   "batch_size_steps { batch_size: 6 samples: 6 }");
  ASSERT_EQ(program->training().batch_sizes_size(), 3);
  Run plain = run(program, GraphUse::Off);
  ASSERT_TRUE(plain.status.ok()) << plain.status.message();
  EXPECT_EQ(plain.recorded, 0U);
  Run graph = run(program, GraphUse::On);
  ASSERT_TRUE(graph.status.ok()) << graph.status.message();
  EXPECT_EQ(graph.recorded, 1U);
  expectSameBits(graph, plain);
}

/// Messages are part of the graphs, on streams of their own, if somebody
/// insists: ranks are threads.
TEST_F(CudaGraphs, HaveTheMessagesOfSeveralRanks) {
  const PlanRow plans[] = {{"Dp2Zero3", "dp=2", 2, "--zero 3"},
                           {"Pp2Tp2", "pp=2,tp=2", 2, "--sequence-parallel"}};
  for (const PlanRow &plan : plans) {
    SharedProgram program = compileSmall(gptWithDropout, plan);
    Run plain = run(program, GraphUse::Auto);
    ASSERT_TRUE(plain.status.ok()) << plain.status.message();
    EXPECT_EQ(plain.recorded, 0U);
    EXPECT_THAT(plain.lines, HasSubstr("steps are issued instruction by "
                                       "instruction: graphs of several GPUs"));
    Run graph = run(program, GraphUse::On);
    ASSERT_TRUE(graph.status.ok()) << graph.status.message();
    EXPECT_EQ(graph.recorded, countRanks(*program)) << graph.lines;
    expectSameBits(graph, plain);
  }
}

TEST_F(CudaGraphs, NeedADeviceThatDoesAllOfIt) {
  EXPECT_THAT(run(compileSmall(gpt, {"One", "", 2}, "cpu"), GraphUse::On)
                  .status.message(),
              HasSubstr("cannot capture a CUDA graph"));
  EXPECT_THAT(run(compileSmall(gpt), GraphUse::On, true).status.message(),
              HasSubstr("instructions are measured one by one"));
  Run profiled = run(compileSmall(gpt), GraphUse::Auto, true);
  EXPECT_TRUE(profiled.status.ok()) << profiled.status.message();
  EXPECT_EQ(profiled.recorded, 0U);
}

} // namespace
