//===- DivergenceTest.cpp - Runs whose numbers overflow -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A loss scale excuses gradients that overflow, as long as it can shrink. It
/// does not excuse a loss that is no number.
///
//===----------------------------------------------------------------------===//

#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

namespace {
class Divergence : public TrainingFolder {
protected:
  /// Trains twelve steps in fp16.
  Status train(const std::string &training) {
    auto program = std::make_shared<const program::Program>(compileProgram(
        "model { layers: 2 hidden: 32 heads: 4 vocab_size: 29 }\ntraining { "
        "micro_batch_size: 2 global_batch_size: 4 sequence_length: 9 steps: 12 "
        "precision: FP16 " +
        training + " }\n"));
    TrainingOptions options;
    options.data = {tokens()};
    options.saveDir = folder + "/save";
    return runTraining(program, options);
  }
};
} // namespace

TEST_F(Divergence, ALossScaleShrinksUntilGradientsFit) {
  Status status = train("learning_rate { peak: 0.001 } loss_scale { initial: "
                        "1e10 backoff_factor: 1e-3 minimum: 1 }");
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(Divergence, AtTheLeastScaleAnOverflowIsAFailure) {
  Status status = train("learning_rate { peak: 0.001 } loss_scale { initial: "
                        "1e12 backoff_factor: 0.1 minimum: 1e11 }");
  EXPECT_EQ(exitStatusOf(status), 1);
  EXPECT_THAT(status.message(),
              StartsWith("step 2: gradients overflow at the least loss scale, "
                         "1e+11, so that no step can be made. Lower "));
  EXPECT_THAT(status.message(), HasSubstr("; step 2 is saved in "));
  EXPECT_TRUE(fs::exists(folder + "/save/iter_0000002"));
}

TEST_F(Divergence, ALossThatIsNoNumberIsAFailureWhateverTheScale) {
  Status status = train("learning_rate { peak: 1e6 }");
  EXPECT_EQ(exitStatusOf(status), 1);
  EXPECT_THAT(status.message(), HasSubstr("; nothing is saved. Lower "));
  EXPECT_THAT(status.message(), HasSubstr("(training.precision: BF16)"));
  EXPECT_FALSE(fs::exists(folder + "/save"));
}
