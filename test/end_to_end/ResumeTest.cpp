//===- ResumeTest.cpp - A run that stops and goes on ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `hocket train` with checkpoints, on compiled models: a run that is stopped
/// and loaded again leaves the same bytes as one that is not.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {

/// Fields of the two messages.
struct Choice {
  const char *training;
  const char *model = "";
};

class Resume : public TrainingFolder,
               public testing::WithParamInterface<Choice> {
protected:
  void train(uint64_t steps, const std::string &save,
             const std::string &load = "") {
    TrainingOptions options;
    options.data = {tokens()};
    options.steps = steps;
    options.saveDir = folder + "/" + save;
    if (!load.empty())
      options.loadDir = folder + "/" + load;
    Status status = runTraining(program, options);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// The files of the checkpoint of `step`, by name.
  std::map<std::string, std::string> filesOf(const std::string &save,
                                             uint64_t step) {
    std::map<std::string, std::string> files;
    std::string from = checkpoint::iterationFolder(folder + "/" + save, step);
    for (const auto &entry : fs::recursive_directory_iterator(from))
      if (entry.is_regular_file())
        files[fs::relative(entry.path(), from)] =
            *readFile(entry.path(), 1 << 24);
    return files;
  }

  std::shared_ptr<const program::Program> program;
};

} // namespace

TEST_P(Resume, LeavesTheSameBytes) {
  program = std::make_shared<const program::Program>(compileProgram(
      std::string("model { layers: 2 hidden: 32 heads: 4 vocab_size: 29 "
                  "dropout { attention: 0.1 residual: 0.2 embedding: 0.1 } ") +
      GetParam().model +
      std::string(" }\ntraining { micro_batch_size: 2 global_batch_size: 4 "
                  "sequence_length: 9 steps: 8 learning_rate { peak: 0.01 "
                  "warmup_steps: 3 } ") +
      GetParam().training + " }\n"));
  ASSERT_NO_FATAL_FAILURE(train(8, "whole"));
  ASSERT_NO_FATAL_FAILURE(train(4, "half"));
  auto half = filesOf("half", 4);
  ASSERT_NO_FATAL_FAILURE(train(8, "rest", "half"));
  auto whole = filesOf("whole", 8), rest = filesOf("rest", 8);
  ASSERT_GE(whole.size(), 2u);
  ASSERT_EQ(rest.size(), whole.size());
  bool moved = false;
  for (const auto &[name, bytes] : whole) {
    EXPECT_TRUE(rest[name] == bytes) << name;
    moved |= half[name] != bytes;
  }
  EXPECT_TRUE(moved);
}

INSTANTIATE_TEST_SUITE_P(
    Precisions, Resume,
    testing::Values(Choice{"precision: FP32"}, Choice{"precision: BF16"},
                    Choice{"precision: FP16 loss_scale { growth_interval: 3 }"},
                    Choice{"optimizer { sgd { momentum: 0.9 } }"},
                    // The biases that balance experts are state too.
                    Choice{"precision: BF16",
                           "bias: false moe { experts: 4 scores: "
                           "SIGMOID bias_rate: 0.01 }"}));
