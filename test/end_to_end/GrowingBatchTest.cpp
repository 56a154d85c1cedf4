//===- GrowingBatchTest.cpp - A batch that grows while it trains ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run whose batch grows does what several runs do, one after another, each
/// of a program for one of the batch's sizes: under every kind of plan, to the
/// bit. What such a program computes is compared with references elsewhere.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/program/Entries.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {

/// How the batch grows, and fields beside it.
struct GrowthCase {
  const char *name;
  std::vector<std::string> plan;
  /// Batch sizes, and the samples of each; the last is for the rest.
  std::vector<std::pair<int, int>> sizes = {{4, 8}, {8, 16}, {16, 32}};
  const char *training = "";
  const char *model = "";
};

std::ostream &operator<<(std::ostream &out, const GrowthCase &one) {
  return out << one.name;
}

class GrowingBatch : public TrainingFolder,
                     public testing::WithParamInterface<GrowthCase> {
protected:
  std::string specOf(const std::string &batch) const {
    return std::string("model { layers: 4 hidden: 32 heads: 4 vocab_size: 29 "
                       "dropout { attention: 0.1 residual: 0.2 } ") +
           GetParam().model +
           " }\ntraining { micro_batch_size: 1 sequence_length: 8 "
           // The order of the samples depends on how many epochs a run has:
           // one, of every run here.
           "steps: 1 learning_rate { schedule: CONSTANT peak: 0.01 } " +
           GetParam().training + " " + batch + " }\n";
  }

  std::shared_ptr<const program::Program> compile(const std::string &batch) {
    CompileChoice choice;
    choice.overrides = GetParam().plan;
    return std::make_shared<const program::Program>(
        compileProgram(specOf(batch), choice));
  }

  void train(std::shared_ptr<const program::Program> program, uint64_t steps,
             const std::string &save, const std::string &load = "") {
    TrainingOptions options;
    options.data = {tokens()};
    options.steps = steps;
    options.saveDir = folder + "/" + save;
    options.logFile = folder + "/" + save + ".jsonl";
    if (!load.empty())
      options.loadDir = folder + "/" + load;
    Status status = runTraining(std::move(program), options);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// Losses, norms and samples of each step.
  std::vector<std::string> numbersOf(const std::string &save) const {
    std::vector<std::string> numbers;
    std::string text = *readFile(folder + "/" + save + ".jsonl", 1 << 24);
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      auto line =
          nlohmann::json::parse(text.substr(at, text.find('\n', at) - at));
      if (line.contains("loss"))
        numbers.push_back(
            nlohmann::json{line["step"], line["loss"], line["grad_norm"],
                           line["consumed_samples"], line["global_batch_size"]}
                .dump());
    }
    return numbers;
  }

  /// The tensors of a checkpoint, file by file.
  std::map<std::string, std::string> tensorsOf(const std::string &save,
                                               uint64_t step) const {
    std::map<std::string, std::string> files;
    std::string from = checkpoint::iterationFolder(folder + "/" + save, step);
    for (const auto &entry : fs::recursive_directory_iterator(from))
      if (entry.is_regular_file() && entry.path().extension() != ".json")
        files[fs::relative(entry.path(), from)] =
            *readFile(entry.path(), 1 << 24);
    return files;
  }
};

} // namespace

TEST_P(GrowingBatch, DoesWhatOneProgramForEachSizeDoes) {
  const auto &sizes = GetParam().sizes;
  std::string rows;
  uint64_t steps = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto [size, samples] = sizes[i];
    steps += uint64_t(samples / size);
    if (i + 1 < sizes.size())
      rows += "batch_size_steps { batch_size: " + std::to_string(size) +
              " samples: " + std::to_string(samples) + " } ";
  }
  auto batch = [](int size) {
    return "global_batch_size: " + std::to_string(size) + " ";
  };
  auto grown = compile(batch(sizes.back().first) + rows);
  ASSERT_EQ(grown->training().batch_sizes_size(), int(sizes.size()));
  train(grown, steps, "grown");
  std::string last;
  std::vector<std::string> apart;
  uint64_t done = 0;
  for (auto [size, samples] : sizes) {
    done += uint64_t(samples / size);
    std::string save = "of" + std::to_string(size);
    ASSERT_NO_FATAL_FAILURE(train(compile(batch(size)), done, save, last));
    for (const std::string &line : numbersOf(save))
      apart.push_back(line);
    last = save;
  }
  EXPECT_EQ(numbersOf("grown"), apart);
  auto one = tensorsOf("grown", steps), other = tensorsOf(last, steps);
  ASSERT_FALSE(one.empty());
  ASSERT_EQ(one.size(), other.size());
  for (const auto &[name, bytes] : one)
    EXPECT_TRUE(other[name] == bytes) << name;
}

/// What each level writes as text, the next one reads.
TEST_P(GrowingBatch, IsTheSameByLevels) {
  std::string spec = specOf("global_batch_size: 16 batch_size_steps { "
                            "batch_size: 8 samples: 16 } ");
  CompileChoice choice;
  choice.overrides = GetParam().plan;
  program::Program whole = compileProgram(spec, choice),
                   byLevels = compileByLevels(spec, choice);
  whole.clear_provenance();
  byLevels.clear_provenance();
  EXPECT_TRUE(whole.SerializeAsString() == byLevels.SerializeAsString());
}

/// One arena serves all sizes: nothing grows but what is scheduled.
TEST_P(GrowingBatch, HasTheArenaOfItsLargestBatch) {
  const auto &sizes = GetParam().sizes;
  std::string whole =
      "global_batch_size: " + std::to_string(sizes.back().first) + " ";
  auto grown = compile(whole + "batch_size_steps { batch_size: " +
                       std::to_string(sizes.front().first) + " samples: 8 }");
  auto fixed = compile(whole);
  ASSERT_EQ(grown->roles_size(), fixed->roles_size());
  for (int role = 0; role < fixed->roles_size(); ++role) {
    // The scalar that says how many microbatches there are.
    EXPECT_LE(grown->roles(role).memory().arena_bytes(),
              fixed->roles(role).memory().arena_bytes() + 4096);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, GrowingBatch,
    testing::Values(
        GrowthCase{"OneRank", {}, {{1, 3}, {2, 4}, {3, 6}, {7, 14}}},
        GrowthCase{
            "FromOneMicrobatch", {"plan.data_parallel=2"}, {{2, 4}, {6, 12}}},
        GrowthCase{"Zero3",
                   {"plan.data_parallel=2", "plan.zero_stage=3",
                    "plan.bucket_bytes=4096"}},
        GrowthCase{"Zero2",
                   {"plan.data_parallel=2", "plan.zero_stage=2",
                    "plan.bucket_bytes=16384"}},
        GrowthCase{"Tensor",
                   {"plan.tensor_parallel=2", "plan.sequence_parallel=true"}},
        GrowthCase{"Context", {"plan.context_parallel=2"}},
        GrowthCase{"OneForwardOneBackward",
                   {"plan.pipeline_parallel=4"},
                   {{1, 2}, {3, 6}, {9, 18}}},
        GrowthCase{"GPipe",
                   {"plan.pipeline_parallel=2", "plan.schedule=gpipe"}},
        GrowthCase{"Interleaved",
                   {"plan.pipeline_parallel=2", "plan.virtual_stages=2",
                    "plan.data_parallel=2", "plan.bucket_bytes=4096"}},
        GrowthCase{"InterleavedInGroups",
                   {"plan.pipeline_parallel=2", "plan.virtual_stages=2",
                    "plan.schedule_group=4"}},
        GrowthCase{"ZeroBubbleH2",
                   {"plan.pipeline_parallel=2", "plan.schedule=zb-h2",
                    "plan.data_parallel=2", "plan.bucket_bytes=4096"},
                   {{2, 4}, {4, 8}, {10, 20}}},
        GrowthCase{"ZeroBubbleV",
                   {"plan.pipeline_parallel=2", "plan.virtual_stages=2",
                    "plan.schedule=zb-v"},
                   {{1, 2}, {3, 6}, {8, 16}}},
        GrowthCase{"DualPipeV",
                   {"plan.pipeline_parallel=2", "plan.virtual_stages=2",
                    "plan.schedule=dualpipe-v"}},
        // One bucket has gradients of both chunks, and of tied embeddings.
        GrowthCase{"ZeroBubbleVInOneBucket",
                   {"plan.pipeline_parallel=2", "plan.virtual_stages=2",
                    "plan.schedule=zb-v", "plan.data_parallel=2"},
                   {{2, 4}, {4, 8}, {6, 12}, {16, 32}},
                   "",
                   "tied_embeddings: true"},
        GrowthCase{"DualPipeVInOneBucket",
                   {"plan.pipeline_parallel=2", "plan.virtual_stages=2",
                    "plan.schedule=dualpipe-v", "plan.data_parallel=2"},
                   {{8, 16}, {10, 20}, {16, 32}},
                   "",
                   "tied_embeddings: true"},
        GrowthCase{"Recompute",
                   {"plan.pipeline_parallel=2", "plan.recompute=FULL"}},
        GrowthCase{"Fp16",
                   {"plan.data_parallel=2", "plan.pipeline_parallel=2"},
                   {{2, 4}, {4, 8}, {8, 16}},
                   "precision: FP16 loss_scale { growth_interval: 3 }"},
        GrowthCase{"Experts",
                   {"plan.data_parallel=2", "plan.expert_parallel=2",
                    "plan.pipeline_parallel=2"},
                   {{2, 4}, {4, 8}, {8, 16}},
                   "precision: BF16",
                   "bias: false moe { experts: 4 scores: SIGMOID bias_rate: "
                   "0.01 }"}),
    [](const auto &info) { return std::string(info.param.name); });
