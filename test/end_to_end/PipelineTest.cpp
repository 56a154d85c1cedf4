//===- PipelineTest.cpp - Pipelines train the same model ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ten steps of one model on one rank and on pipelines of every schedule,
/// uneven and with stages without layers, with tied and untied embeddings, and
/// with a norm of them: the losses and all that is saved agree, dropout
/// included.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {

/// No key biases: their gradients are nothing but rounding.
const char *const model =
    "model { layers: 4 hidden: 32 heads: 4 kv_heads: 2 vocab_size: 29 "
    "attention_qkv_bias: false initializer { stddev: 0.2 } ";
const char *const training =
    "} training { micro_batch_size: 2 global_batch_size: 12 steps: 10 "
    "sequence_length: 9 optimizer { adamw { eps: 1e-3 } } validation { "
    "interval: 5 batches: 2 } learning_rate { peak: 0.02 warmup_steps: 3 } ";

/// What a run reports and leaves.
struct PipelineOutcome {
  std::vector<double> losses, norms;
  std::map<std::string, std::vector<float>> saved;
};

struct Plan {
  const char *name;
  std::vector<std::string> overrides;
};

std::ostream &operator<<(std::ostream &out, const Plan &plan) {
  return out << plan.name;
}

class Pipeline : public TrainingFolder,
                 public testing::WithParamInterface<Plan> {
protected:
  PipelineOutcome train(const std::string &spec, const CompileChoice &choice) {
    PipelineOutcome outcome;
    auto program =
        std::make_shared<const program::Program>(compileProgram(spec, choice));
    TrainingOptions options;
    options.data = {tokens()};
    options.saveDir = folder + "/save";
    options.logFile = folder + "/log";
    fs::remove_all(options.saveDir);
    fs::remove(options.logFile);
    Status status = runTraining(program, options);
    EXPECT_TRUE(status.ok()) << status.message();
    if (status.ok())
      read(options, outcome);
    return outcome;
  }

  static void readNumbers(const std::string &log, const std::string &key,
                          std::vector<double> &numbers) {
    std::string field = "\"" + key + "\":";
    for (size_t at = log.find(field); at != std::string::npos;
         at = log.find(field, at + 1))
      numbers.push_back(std::strtod(log.c_str() + at + field.size(), nullptr));
  }

  static void read(const TrainingOptions &options, PipelineOutcome &outcome) {
    std::string log = *readFile(options.logFile, 1 << 20);
    readNumbers(log, "loss", outcome.losses);
    readNumbers(log, "valid_loss", outcome.losses);
    readNumbers(log, "grad_norm", outcome.norms);
    std::string last = checkpoint::iterationFolder(options.saveDir, 10);
    for (const auto &entry : fs::recursive_directory_iterator(last)) {
      if (entry.path().extension() != ".safetensors")
        continue;
      auto file = checkpoint::SafetensorsFile::open(entry.path());
      ASSERT_TRUE(file.ok()) << file.status().message();
      for (const checkpoint::TensorInfo &tensor : file->tensors()) {
        std::vector<uint8_t> bytes = *file->read(tensor);
        std::vector<float> &values = outcome.saved[tensor.name];
        ASSERT_TRUE(values.empty()) << tensor.name << " is saved twice";
        values.resize(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
      }
    }
  }
};

void expectAllNear(const std::vector<double> &a, const std::vector<double> &b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_GE(b.size(), 10u);
  for (size_t i = 0; i < b.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-5 * b[i]) << "step " << i;
}

void expectSaved(const PipelineOutcome &a, const PipelineOutcome &b) {
  ASSERT_EQ(a.saved.size(), b.saved.size());
  for (const auto &[name, values] : b.saved) {
    auto found = a.saved.find(name);
    ASSERT_TRUE(found != a.saved.end()) << name;
    ASSERT_EQ(found->second.size(), values.size()) << name;
    double difference = 0, size = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double error = double(values[i]) - double(found->second[i]);
      difference += error * error;
      size += double(values[i]) * double(values[i]);
    }
    EXPECT_LE(std::sqrt(difference), 1e-5 * (std::sqrt(size) + 1e-3)) << name;
  }
}

TEST_P(Pipeline, TrainsTheModelOfOneRank) {
  for (const char *variant :
       {"dropout { attention: 0.1 residual: 0.2 embedding: 0.1 }",
        "tied_embeddings: false position: ROTARY norm: RMS_NORM",
        "embedding_norm: true position: ALIBI"}) {
    SCOPED_TRACE(variant);
    std::string spec = std::string(model) + variant + training + "}\n";
    // Once for all plans.
    static std::map<std::string, PipelineOutcome> whole;
    if (!whole.count(spec))
      whole[spec] = train(spec, {});
    const PipelineOutcome &one = whole[spec];
    PipelineOutcome many = train(spec, {GetParam().overrides});
    expectAllNear(many.losses, one.losses);
    expectAllNear(many.norms, one.norms);
    expectSaved(many, one);
  }
}

const char *const two = "plan.pipeline_parallel=2";
const char *const three = "plan.pipeline_parallel=3";
const char *const four = "plan.pipeline_parallel=4";
const char *const chunks = "plan.virtual_stages=2";

INSTANTIATE_TEST_SUITE_P(
    Plans, Pipeline,
    testing::Values(
        Plan{"TwoRanks", {two}}, //
        Plan{"ThreeRanks", {three}},
        Plan{"FourRanksGPipe", {four, "plan.schedule=gpipe"}},
        Plan{"TwoRanksInterleaved", {two, chunks}},
        Plan{"ZeroBubbleH1", {two, "plan.schedule=zb-h1"}},
        Plan{"ZeroBubbleH2", {four, "plan.schedule=zb-h2"}},
        Plan{"ZeroBubbleV", {two, chunks, "plan.schedule=zb-v"}},
        Plan{"DualPipeV", {two, chunks, "plan.schedule=dualpipe-v"}},
        Plan{"List", {two, chunks, "plan.schedule=list"}},
        Plan{"EmbeddingAlone", {three, "plan.layers_per_stage=0,3,1"}},
        Plan{"HeadAlone", {three, "plan.layers_per_stage=3,1,0"}},
        Plan{"NothingBetween", {three, "plan.layers_per_stage=2,0,2"}},
        Plan{"OneMicrobatch", {three, "training.micro_batch_size=12"}},
        Plan{"Recompute", {two, "plan.recompute=FULL"}}),
    [](const testing::TestParamInfo<Plan> &info) {
      return std::string(info.param.name);
    });

} // namespace
