//===- ManyRanksTest.cpp - Every plan trains the same model ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The same specification under many plans, all ranks as threads of this
/// process, against one rank with the same microbatches: losses of ten steps
/// and all state at the end, in fp32.
///
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/CompiledModel.h"
#include "test/end_to_end/TrainingFolder.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t steps = 10;

/// Key biases have no gradient but rounding, whose sign AdamW would make a
/// step of: no biases there.
const char *const gptLike =
    "model { layers: 2 hidden: 32 heads: 4 ffn: 72 vocab_size: 61 "
    "max_positions: 32 activation: GELU_TANH attention_qkv_bias: false } ";
const char *const llamaLike =
    "model { layers: 2 hidden: 32 heads: 4 kv_heads: 2 ffn: 50 vocab_size: 61 "
    "max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY "
    "bias: false tied_embeddings: false } ";
const char *const slidingLike =
    "model { layers: 2 hidden: 32 heads: 4 kv_heads: 2 ffn: 50 vocab_size: 61 "
    "max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY "
    "bias: false tied_embeddings: false sliding_window: 5 } ";
const char *const expertsLike =
    "model { layers: 2 hidden: 32 heads: 4 kv_heads: 2 ffn: 64 vocab_size: 61 "
    "max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY "
    "bias: false tied_embeddings: false moe { experts: 4 top_k: 2 ffn: 24 "
    "aux_loss: 0.01 z_loss: 0.001 } } ";
/// Tokens are dropped, and the choice is balanced by biases.
const char *const dropping =
    "model { layers: 2 hidden: 32 heads: 4 vocab_size: 61 max_positions: 16 "
    "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false "
    "tied_embeddings: false moe { experts: 8 top_k: 2 ffn: 24 "
    "capacity_factor: 0.75 scores: SIGMOID groups: 4 topk_groups: 2 "
    "bias_rate: 0.01 shared_experts: 1 } } ";
const char *const training =
    "training { sequence_length: 16 global_batch_size: 12 steps: 10 "
    "precision: FP32 learning_rate { peak: 1e-3 warmup_steps: 2 } "
    "data { split: \"1,0,0\" } }";

/// What is to agree, under names.
struct Outcome {
  std::vector<double> losses, norms;
  std::map<std::string, std::vector<double>> state;
};

struct PlanCase {
  std::string name;
  const char *model;
  int64_t batch;    ///< sequences of all ranks together at a time
  const char *plan; ///< overrides below `plan.`, separated by spaces
};

std::ostream &operator<<(std::ostream &out, const PlanCase &plan) {
  return out << plan.name << ": " << plan.plan;
}

class TrainedPlans : public TrainingFolder {
protected:
  /// Compiles `plan` for `batch` sequences at a time over its data ranks.
  static std::shared_ptr<const program::Program>
  compile(const PlanCase &plan, const std::string &fields) {
    CompileChoice choice;
    int64_t data = 1;
    std::istringstream words(fields);
    for (std::string word; words >> word;) {
      choice.overrides.push_back("plan." + word);
      if (word.starts_with("data_parallel="))
        data = std::stoll(word.substr(14));
    }
    choice.overrides.push_back("training.micro_batch_size=" +
                               std::to_string(plan.batch / data));
    return std::make_shared<const program::Program>(
        compileProgram(std::string(plan.model) + training, choice));
  }

  void train(std::shared_ptr<const program::Program> program, uint64_t until,
             const std::string &name, const std::string &load = "") {
    TrainingOptions options;
    options.data = {tokens()};
    options.steps = until;
    options.saveDir = folder + "/" + name;
    options.logFile = folder + "/" + name + ".jsonl";
    if (!load.empty())
      options.loadDir = folder + "/" + load;
    Status status = runTraining(std::move(program), options);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// What the run `name` logged and saved.
  Outcome outcomeOf(const std::string &name, uint64_t until) {
    Outcome outcome;
    std::istringstream log(*readFile(folder + "/" + name + ".jsonl", 1 << 20));
    for (std::string line; std::getline(log, line);)
      if (size_t at = line.find("\"grad_norm\":"); at != std::string::npos) {
        outcome.norms.push_back(std::stod(line.substr(at + 12)));
        outcome.losses.push_back(
            std::stod(line.substr(line.find("\"loss\":") + 7)));
      }
    auto stored = checkpoint::Checkpoint::open(
        checkpoint::iterationFolder(folder + "/" + name, until));
    EXPECT_TRUE(stored.ok()) << stored.status().message();
    if (!stored.ok())
      return outcome;
    for (const checkpoint::TensorSpec &spec : stored->tensors()) {
      uint64_t elements = 1;
      for (uint64_t dim : spec.shape)
        elements *= dim;
      std::vector<float> values(elements);
      std::vector<uint8_t> bytes(elements * 4);
      checkpoint::SliceBounds whole{std::vector<uint64_t>(spec.shape.size(), 0),
                                    spec.shape};
      Status status = stored->read(spec, whole, bytes);
      EXPECT_TRUE(status.ok()) << status.message();
      std::memcpy(values.data(), bytes.data(), bytes.size());
      outcome.state[spec.key.text()].assign(values.begin(), values.end());
    }
    return outcome;
  }

  static void expectSame(const Outcome &actual, const Outcome &expected) {
    constexpr double band = 1e-5;
    ASSERT_EQ(actual.losses.size(), expected.losses.size());
    ASSERT_FALSE(expected.losses.empty());
    for (size_t i = 0; i < expected.losses.size(); ++i) {
      EXPECT_NEAR(actual.losses[i], expected.losses[i],
                  band * expected.losses[i]);
      EXPECT_NEAR(actual.norms[i], expected.norms[i],
                  3 * band * expected.norms[i]);
    }
    ASSERT_EQ(actual.state.size(), expected.state.size());
    for (const auto &[name, values] : expected.state) {
      ASSERT_EQ(actual.state.count(name), 1U) << name;
      ASSERT_EQ(actual.state.at(name).size(), values.size()) << name;
      std::vector<double> zeros(values.size());
      EXPECT_LE(distance(actual.state.at(name), values),
                band * distance(values, zeros) * 10 + 1e-9)
          << name;
    }
  }
};

class ManyRanks : public TrainedPlans,
                  public testing::WithParamInterface<PlanCase> {};
class RandomPlans : public TrainedPlans {};

TEST_P(ManyRanks, TrainTheSameModel) {
  const PlanCase &plan = GetParam();
  train(compile(plan, ""), steps, "one");
  train(compile(plan, plan.plan), steps, "many");
  if (HasFatalFailure())
    return;
  expectSame(outcomeOf("many", steps), outcomeOf("one", steps));
}

/// Plans that nobody thought of; HOCKET_PLAN_SEED repeats them.
TEST_F(RandomPlans, TrainTheSameModel) {
  const char *given = std::getenv("HOCKET_PLAN_SEED");
  uint64_t seed = given ? std::stoull(given) : std::random_device()();
  std::mt19937_64 random(seed);
  auto oneOf = [&](std::vector<int> values) {
    return values[random() % values.size()];
  };
  for (int i = 0; i < 6; ++i) {
    std::string fields;
    auto add = [&](const char *name, const std::string &value) {
      fields += (fields.empty() ? "" : " ") + std::string(name) + "=" + value;
    };
    int context = oneOf({1, 1, 2});
    add("pipeline_parallel", std::to_string(oneOf({1, 1, 2})));
    add("data_parallel",
        std::to_string(context > 1 ? oneOf({1, 2, 3}) : oneOf({1, 2, 3, 6})));
    add("tensor_parallel", std::to_string(oneOf({1, 2, 4})));
    add("context_parallel", std::to_string(context));
    add("context_strategy", oneOf({0, 1}) ? "RING" : "ALL_GATHER");
    add("zero_stage", std::to_string(oneOf({0, 1, 2, 3})));
    add("sequence_parallel", oneOf({0, 1}) ? "true" : "false");
    add("recompute",
        std::vector<std::string>{"NONE", "SELECTIVE", "FULL"}[random() % 3]);
    const char *models[] = {gptLike, llamaLike, expertsLike};
    PlanCase plan{"Random", models[random() % 3], 6, fields.c_str()};
    SCOPED_TRACE("HOCKET_PLAN_SEED=" + std::to_string(seed) + ", plan " +
                 std::to_string(i) + ": " + fields);
    train(compile(plan, ""), steps, "one");
    train(compile(plan, fields), steps, "many");
    ASSERT_FALSE(HasFatalFailure());
    expectSame(outcomeOf("many", steps), outcomeOf("one", steps));
    for (const char *name : {"/one", "/many", "/one.jsonl", "/many.jsonl"})
      fs::remove_all(folder + name);
  }
}

class Buckets : public TrainedPlans, public testing::WithParamInterface<int> {};

/// Whatever goes together, every element is the same sum.
TEST_P(Buckets, ChangeNoBit) {
  PlanCase plan{"Buckets", gptLike, 4, ""};
  std::string fields = "data_parallel=2 tensor_parallel=2 zero_stage=" +
                       std::to_string(GetParam());
  train(compile(plan, fields + " bucket_bytes=0"), steps, "apart");
  train(compile(plan, fields + " bucket_bytes=4096"), steps, "together");
  Outcome apart = outcomeOf("apart", steps);
  Outcome together = outcomeOf("together", steps);
  ASSERT_FALSE(apart.state.empty());
  EXPECT_EQ(apart.losses, together.losses);
  EXPECT_EQ(apart.norms, together.norms);
  EXPECT_EQ(apart.state, together.state);
}

INSTANTIATE_TEST_SUITE_P(Zero, Buckets, testing::Range(0, 4));

/// Half of the steps under this plan, the rest under two others that load what
/// it saved.
TEST_P(ManyRanks, LoadFromEachOther) {
  const PlanCase &plan = GetParam();
  train(compile(plan, ""), steps, "one");
  train(compile(plan, plan.plan), steps / 2, "half");
  for (const char *other : {"", "data_parallel=2 tensor_parallel=2 "
                                "zero_stage=3 sequence_parallel=true"}) {
    train(compile(plan, other), steps, "rest", "half");
    if (HasFatalFailure())
      return;
    Outcome expected = outcomeOf("one", steps),
            actual = outcomeOf("rest", steps);
    expected.losses.erase(expected.losses.begin(),
                          expected.losses.begin() + steps / 2);
    expected.norms.erase(expected.norms.begin(),
                         expected.norms.begin() + steps / 2);
    expectSame(actual, expected);
    fs::remove_all(folder + "/rest");
    fs::remove(folder + "/rest.jsonl");
  }
}

struct NamedPlan {
  const char *name;
  int64_t batch;
  const char *plan;
};

const NamedPlan plans[] = {
    {"Dp2", 12, "data_parallel=2"},
    {"Dp2Microbatches", 4, "data_parallel=2"},
    {"Tp2", 12, "tensor_parallel=2"},
    {"Tp4", 6, "tensor_parallel=4"},
    {"Tp2Sequence", 12, "tensor_parallel=2 sequence_parallel=true"},
    {"Tp4Sequence", 12, "tensor_parallel=4 sequence_parallel=true"},
    {"Dp3Zero1", 6, "data_parallel=3 zero_stage=1"},
    {"Dp4Zero2", 4, "data_parallel=4 zero_stage=2"},
    {"Dp2Zero3", 6, "data_parallel=2 zero_stage=3"},
    {"Dp2Tp2", 6, "data_parallel=2 tensor_parallel=2"},
    {"Dp2Tp4SequenceZero1", 12,
     "data_parallel=2 tensor_parallel=4 sequence_parallel=true zero_stage=1"},
    {"Dp4Tp4SequenceZero3", 12,
     "data_parallel=4 tensor_parallel=4 sequence_parallel=true zero_stage=3"},
    {"Dp6Tp2Zero2Recompute", 6,
     "data_parallel=6 tensor_parallel=2 zero_stage=2 recompute=FULL"},
    {"Pp2Dp2Tp2", 2, "pipeline_parallel=2 data_parallel=2 tensor_parallel=2"},
    {"Pp2Dp2Tp4SequenceZero1", 4,
     "pipeline_parallel=2 data_parallel=2 tensor_parallel=4 "
     "sequence_parallel=true zero_stage=1"},
    {"Pp2Dp3Zero3", 6, "pipeline_parallel=2 data_parallel=3 zero_stage=3"},
    // Several buckets, and none.
    {"Dp2Tp2Buckets", 4, "data_parallel=2 tensor_parallel=2 bucket_bytes=4096"},
    {"Dp2Tp2Zero1Buckets", 6,
     "data_parallel=2 tensor_parallel=2 zero_stage=1 bucket_bytes=4096"},
    {"Dp4Zero2Buckets", 4, "data_parallel=4 zero_stage=2 bucket_bytes=4096"},
    {"Dp2Zero3Buckets", 4, "data_parallel=2 zero_stage=3 bucket_bytes=4096"},
    {"Pp2Dp2Zero1Buckets", 2,
     "pipeline_parallel=2 data_parallel=2 zero_stage=1 "
     "bucket_bytes=2048"},
    {"Pp2Dp2Zero2SplitBuckets", 2,
     "pipeline_parallel=2 data_parallel=2 zero_stage=2 schedule=zb-h1 "
     "bucket_bytes=2048"},
    {"Dp2Tp2Zero3NoBuckets", 4,
     "data_parallel=2 tensor_parallel=2 zero_stage=3 bucket_bytes=0"},
    {"Tp2SequenceUniform2", 6,
     "tensor_parallel=2 sequence_parallel=true recompute=FULL "
     "recompute_layers=2"},
    {"Dp3Zero3Block1", 6,
     "data_parallel=3 zero_stage=3 recompute=FULL recompute_method=BLOCK "
     "recompute_layers=1"},
    {"Pp2Dp2Tp2Block1", 2,
     "pipeline_parallel=2 data_parallel=2 tensor_parallel=2 recompute=FULL "
     "recompute_method=BLOCK"}};

const NamedPlan expertPlans[] = {
    {"Ep2", 4, "data_parallel=2 expert_parallel=2"},
    {"Dp4Ep2Zero3", 4, "data_parallel=4 expert_parallel=2 zero_stage=3"},
    {"Dp4Ep4Tp2SequenceZero1", 12,
     "data_parallel=4 expert_parallel=4 tensor_parallel=2 "
     "sequence_parallel=true zero_stage=1"}};

/// Of 16 positions; key heads are 4, and 2 in the others.
const NamedPlan contextPlans[] = {
    {"Cp2", 12, "context_parallel=2"},
    {"Cp4Tp2Sequence", 12,
     "context_parallel=4 tensor_parallel=2 sequence_parallel=true"},
    {"Dp2Cp2Zero3", 4, "data_parallel=2 context_parallel=2 zero_stage=3"},
    {"Pp2Cp2Tp2", 2,
     "pipeline_parallel=2 context_parallel=2 tensor_parallel=2"},
    {"Dp3Cp2Zero2Recompute", 6,
     "data_parallel=3 context_parallel=2 zero_stage=2 recompute=FULL"},
    {"Cp2AllToAll", 12, "context_parallel=2 context_strategy=ALL_TO_ALL"},
    {"Dp2Cp2AllToAllZero1", 6,
     "data_parallel=2 context_parallel=2 context_strategy=ALL_TO_ALL "
     "zero_stage=1"},
    {"Pp2Cp2AllToAll", 2,
     "pipeline_parallel=2 context_parallel=2 context_strategy=ALL_TO_ALL"},
    {"Cp2Ring", 12, "context_parallel=2 context_strategy=RING"},
    {"Cp4Ring", 4, "context_parallel=4 context_strategy=RING"},
    {"Cp8Ring", 12, "context_parallel=8 context_strategy=RING"},
    {"Dp2Cp2RingTp2SequenceZero1", 6,
     "data_parallel=2 context_parallel=2 context_strategy=RING "
     "tensor_parallel=2 sequence_parallel=true zero_stage=1"},
    {"Pp2Cp2RingRecompute", 2,
     "pipeline_parallel=2 context_parallel=2 context_strategy=RING "
     "recompute=SELECTIVE"}};

/// Heads enough for all-to-all beside tensor ranks.
const NamedPlan headPlans[] = {
    {"Cp2AllToAllTp2Sequence", 6,
     "context_parallel=2 context_strategy=ALL_TO_ALL tensor_parallel=2 "
     "sequence_parallel=true"}};

const NamedPlan expertContextPlans[] = {
    {"Dp2Cp2Ep2", 4, "data_parallel=2 context_parallel=2 expert_parallel=2"},
    {"Dp2Cp2RingEp2Zero1", 4,
     "data_parallel=2 context_parallel=2 context_strategy=RING "
     "expert_parallel=2 zero_stage=1"},
    {"Cp2AllToAll", 12, "context_parallel=2 context_strategy=ALL_TO_ALL"}};

std::vector<PlanCase> cases() {
  std::vector<PlanCase> all;
  auto add = [&](const std::string &name, const char *of, auto &list) {
    for (const NamedPlan &plan : list)
      all.push_back({name + plan.name, of, plan.batch, plan.plan});
  };
  add("Gpt", gptLike, plans);
  add("Llama", llamaLike, plans);
  add("Experts", expertsLike, plans);
  add("Experts", expertsLike, expertPlans);
  add("Dropping", dropping, expertPlans);
  add("Gpt", gptLike, contextPlans);
  add("Gpt", gptLike, headPlans);
  add("Llama", llamaLike, contextPlans);
  add("Sliding", slidingLike, contextPlans);
  add("Experts", expertsLike, expertContextPlans);
  add("Dropping", dropping, expertContextPlans);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, ManyRanks, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name; });

} // namespace
