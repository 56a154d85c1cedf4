//===- RecomputeTest.cpp - The least recomputation that fits --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `recompute: AUTO` under budgets between what a plan needs with everything
/// saved and with everything recomputed: the arena in the executable fits, the
/// price is between the bound and that of everything, and the training is the
/// same.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "compiler/driver/Compile.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace hocket;
using namespace hocket::test;

namespace {

const char *const smallLlama =
    "model { layers: 4 hidden: 32 heads: 4 kv_heads: 2 ffn: 64 vocab_size: 61 "
    "max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY "
    "bias: false } ";
const char *const expertsLike =
    "model { layers: 4 hidden: 32 heads: 4 vocab_size: 61 max_positions: 16 "
    "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false "
    "moe { experts: 4 top_k: 2 ffn: 24 capacity_factor: 0.9 scores: SIGMOID "
    "bias_rate: 0.01 shared_experts: 1 interval: 2 } } ";

struct AutoCase {
  std::string name;
  const char *model;
  int64_t micro;
  const char *plan; ///< Overrides below `plan.`, separated by spaces.
};

std::ostream &operator<<(std::ostream &out, const AutoCase &given) {
  return out << given.name << ": " << given.plan;
}

int64_t mostOf(const CompileResult &result) {
  int64_t most = 0;
  for (const RoleMemory &memory : result.memory)
    most = std::max(most, memory.arena);
  return most;
}

double secondsOf(const CompileResult &result) {
  double seconds = 0;
  for (const RecomputeNote &note : result.recompute)
    seconds += note.seconds;
  return seconds;
}

class AutoRecompute : public TrainingFolder,
                      public testing::WithParamInterface<AutoCase> {
protected:
  StatusOr<CompileResult> compileWith(std::vector<std::string> overrides) {
    const AutoCase &given = GetParam();
    CompileRequest request;
    shareKernels(request);
    request.input = folder + "/spec.textproto";
    std::ofstream(request.input)
        << given.model
        << "training { sequence_length: 16 micro_batch_size: " << given.micro
        << " global_batch_size: 16 steps: 4 precision: FP32 learning_rate { "
           "peak: 1e-3 warmup_steps: 2 } data { split: \"1,0,0\" } }";
    std::istringstream words(given.plan);
    for (std::string word; words >> word;)
      request.spec.overrides.push_back("plan." + word);
    for (std::string &override : overrides)
      request.spec.overrides.push_back(std::move(override));
    return compile(request);
  }

  /// Losses and norms of four steps.
  std::vector<double> train(const CompileResult &result,
                            const std::string &name) {
    TrainingOptions options;
    options.data = {tokens()};
    options.steps = 4;
    options.logFile = folder + "/" + name + ".jsonl";
    Status status = runTraining(
        std::make_shared<const program::Program>(result.program), options);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<double> numbers;
    std::istringstream log(*readFile(options.logFile, 1 << 20));
    for (std::string line; std::getline(log, line);)
      if (size_t at = line.find("\"grad_norm\":"); at != std::string::npos) {
        numbers.push_back(std::stod(line.substr(at + 12)));
        numbers.push_back(std::stod(line.substr(line.find("\"loss\":") + 7)));
      }
    return numbers;
  }
};

TEST_P(AutoRecompute, FitsAndTrainsTheSameModel) {
  auto none = compileWith({});
  auto all = compileWith({"plan.recompute=FULL", "plan.recompute_method=BLOCK",
                          "plan.recompute_layers=1000"});
  ASSERT_TRUE(none.ok()) << none.status().message();
  ASSERT_TRUE(all.ok()) << all.status().message();
  int64_t most = mostOf(*none), least = mostOf(*all);
  ASSERT_LT(least, most);
  std::vector<double> expected = train(*none, "none");
  ASSERT_EQ(expected.size(), 8U);
  for (int64_t percent : {20, 80}) {
    int64_t budget = least + (most - least) * percent / 100;
    SCOPED_TRACE(testing::Message() << budget << " of " << most << " bytes");
    auto fitted =
        compileWith({"plan.recompute=AUTO",
                     "cluster.memory_bytes=" + std::to_string(budget)});
    ASSERT_TRUE(fitted.ok()) << fitted.status().message();
    // 1. What the executable asks for is what was promised.
    ASSERT_EQ(fitted->memory.size(),
              static_cast<size_t>(fitted->program.roles_size()));
    for (int i = 0; i < fitted->program.roles_size(); ++i) {
      auto arena =
          static_cast<int64_t>(fitted->program.roles(i).memory().arena_bytes());
      EXPECT_LE(arena, budget);
      EXPECT_EQ(arena, fitted->memory[i].arena);
    }
    // 2. For something, and no more than everything.
    double seconds = secondsOf(*fitted);
    EXPECT_GT(seconds, 0);
    EXPECT_LE(seconds, secondsOf(*all) * (1 + 1e-9));
    for (const RecomputeNote &note : fitted->recompute)
      EXPECT_LE(note.leastSeconds, note.seconds * (1 + 1e-9));
    // 3. The same mathematics.
    std::vector<double> actual =
        train(*fitted, "auto" + std::to_string(percent));
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-5 * expected[i]);
  }
}

TEST_P(AutoRecompute, SavesEverythingWhereThatFits) {
  auto none = compileWith({});
  ASSERT_TRUE(none.ok()) << none.status().message();
  auto fitted =
      compileWith({"plan.recompute=AUTO",
                   "cluster.memory_bytes=" + std::to_string(mostOf(*none))});
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  EXPECT_EQ(secondsOf(*fitted), 0);
  EXPECT_EQ(mostOf(*fitted), mostOf(*none));
  // One byte less does not do.
  fitted = compileWith(
      {"plan.recompute=AUTO",
       "cluster.memory_bytes=" + std::to_string(mostOf(*none) - 1)});
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  EXPECT_GT(secondsOf(*fitted), 0);
  EXPECT_LT(mostOf(*fitted), mostOf(*none));
}

/// Chunks of one rank, and parts of the pipeline, choose for themselves.
INSTANTIATE_TEST_SUITE_P(
    All, AutoRecompute,
    testing::Values(
        AutoCase{"One", smallLlama, 4, ""},
        AutoCase{"Tp2Sequence", smallLlama, 4,
                 "tensor_parallel=2 sequence_parallel=true"},
        AutoCase{"Dp2Zero3", smallLlama, 2, "data_parallel=2 zero_stage=3"},
        AutoCase{"Pp4", smallLlama, 2, "pipeline_parallel=4"},
        AutoCase{"Pp2Interleaved", smallLlama, 2,
                 "pipeline_parallel=2 virtual_stages=2"},
        AutoCase{"Pp2ZbH1Tp2", smallLlama, 2,
                 "pipeline_parallel=2 tensor_parallel=2 schedule=zb-h1 "
                 "layers_per_stage=3,1"},
        AutoCase{"Pp2ZbV", smallLlama, 2,
                 "pipeline_parallel=2 virtual_stages=2 schedule=zb-v"},
        AutoCase{"ExpertsPp2", expertsLike, 2, "pipeline_parallel=2"},
        AutoCase{"ExpertsEp2Tp2", expertsLike, 2,
                 "data_parallel=2 expert_parallel=2 tensor_parallel=2"}),
    [](const auto &info) { return info.param.name; });

} // namespace
