//===- TrainedPlans.cpp - Models trained under plans ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/TrainedPlans.h"

#include "base/File.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/executor/Executor.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/RetrievedData.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <google/protobuf/util/message_differencer.h>
#include <mutex>
#include <sstream>

using namespace hocket;
using namespace hocket::test;

static constexpr int64_t sequences = 12;
static constexpr std::string_view automatic = "--recompute auto";

void test::addWords(const std::string &text, CompileChoice &choice) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!word.starts_with("--")) {
      choice.overrides.push_back(word);
      continue;
    }
    if (word == "--invariant-gemms") {
      choice.invariantGemms = true;
      continue;
    }
    std::string value = "true";
    if (word != "--sequence-parallel")
      words >> value;
    if (word == "--entries") {
      choice.trains = value.find("train") != value.npos;
      choice.writes = value.find("generate") != value.npos;
      continue;
    }
    if (word == "--prefill-tokens") {
      choice.prefillTokens = std::stoll(value);
      continue;
    }
    choice.flags.emplace_back(word, value);
  }
}

static CompileChoice choiceOf(const PlanRow &plan, const std::string &target) {
  CompileChoice choice;
  choice.target = target;
  choice.leastPart = 1; // Of 16 positions two ranks take 8 in four rounds.
  choice.leastSummedRows = 1; // No plan has many.
  if (*plan.mesh != 0)
    choice.flags.emplace_back("--mesh", plan.mesh);
  addWords(plan.flags, choice);
  return choice;
}

/// Halfway between what the fullest rank needs with everything saved and with
/// everything computed again.
std::string TrainedPlans::scarceMemory(const ModelRow &model,
                                       const PlanRow &plan,
                                       const std::string &training,
                                       const std::string &target) {
  std::string flags = plan.flags;
  flags.erase(flags.find(automatic), automatic.size());
  int64_t sum = 0;
  for (const char *recompute : {"", " --recompute full "
                                    "plan.recompute_method=BLOCK "
                                    "plan.recompute_layers=1000"}) {
    std::string words = flags + recompute;
    PlanRow fixed = {"", plan.mesh, plan.microbatches, words.c_str()};
    sum += bytesNeeded(specOf(model, fixed, training), choiceOf(fixed, target));
  }
  return std::to_string(sum / 2);
}

std::string TrainedPlans::specOf(const ModelRow &model, const PlanRow &plan,
                                 const std::string &training) {
  int64_t size = sequences / plan.microbatches / sizeOf(plan, "dp");
  return std::string("model { ") + model.fields +
         "} training { sequence_length: 16 global_batch_size: 12 "
         "steps: 6 learning_rate { peak: 1e-3 warmup_steps: 2 } "
         "data { split: \"1,0,0\" " +
         model.data + "} micro_batch_size: " + std::to_string(size) + " " +
         model.training + training + " }";
}

planning::StrategyProblem TrainedPlans::strategiesOf(const ModelRow &model,
                                                     const PlanRow &plan) {
  CompileChoice choice;
  choice.flags.emplace_back("--mesh", plan.mesh);
  return strategyProblem(specOf(model, plan, "precision: FP32"), choice,
                         sizeOf(plan, "dp") * sizeOf(plan, "tp"));
}

SharedProgram TrainedPlans::compile(const ModelRow &model, const PlanRow &plan,
                                    const std::string &training,
                                    const std::string &target) {
  CompileChoice choice = choiceOf(plan, target);
  if (std::string(plan.flags).find(automatic) != std::string::npos)
    choice.flags.emplace_back("--memory",
                              scarceMemory(model, plan, training, target));
  std::string spec = specOf(model, plan, training);
  auto program =
      std::make_shared<const program::Program>(compileProgram(spec, choice));
  expectSameByLevels(*program, compileByLevels(spec, choice));
  return program;
}

void TrainedPlans::expectSameByLevels(program::Program whole,
                                      program::Program byLevels) {
  whole.clear_provenance();
  byLevels.clear_provenance();
  if (whole.SerializeAsString() == byLevels.SerializeAsString())
    return;
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  differencer.Compare(whole, byLevels);
  ADD_FAILURE() << "compiled level by level, the program differs: "
                << differences.substr(0, 2000);
}

void TrainedPlans::train(const SharedProgram &program, uint64_t until,
                         const std::string &name, const std::string &load) {
  TrainingOptions options;
  options.steps = until;
  options.logFile = folder + "/" + (name.empty() ? "log" : name) + ".jsonl";
  if (!name.empty())
    options.saveDir = folder + "/" + name;
  if (!load.empty())
    options.loadDir = folder + "/" + load;
  train(program, std::move(options));
}

void TrainedPlans::train(const SharedProgram &program,
                         TrainingOptions options) {
  // The compiler has said why.
  ASSERT_GT(program->roles_size(), 0);
  const program::TrainingInfo &training = program->training();
  options.data = {training.has_masked_lm()                    ? sentences()
                  : training.classification().sequences() > 1 ? questions()
                  : training.has_classification()             ? labelled()
                  : training.has_images()                     ? sights()
                                                              : tokens()};
  if (training.has_retrieval()) {
    Status retrieved = retrieveFor(*program, tokens());
    ASSERT_TRUE(retrieved.ok()) << retrieved.message();
  }
  // Runs of one name follow each other.
  options.overwrite = !options.saveDir.empty() || !options.logFile.empty();
  std::mutex mutex;
  std::map<unsigned, MeasuredMemory> measured;
  options.finished = [&, then = options.finished](Executor &executor) {
    if (then)
      then(executor);
    const hal::Device &device = executor.device();
    std::lock_guard lock(mutex);
    measured[executor.rank()] = {device.arenaBytes(), device.touchedBytes()};
  };
  Status status = runTraining(program, options);
  ASSERT_TRUE(status.ok()) << status.message();
  expectPlannedMemory(*program, measured);
}

/// What was used ends in the last page of the arena, whose size is the peak.
void TrainedPlans::expectPlannedMemory(
    const program::Program &program,
    const std::map<unsigned, MeasuredMemory> &measured) {
  constexpr uint64_t page = 4096;
  ASSERT_EQ(measured.size(), size_t(program.certificate().peaks_size()));
  for (const program::Certificate::Peak &peak : program.certificate().peaks()) {
    MeasuredMemory memory = measured.at(peak.rank());
    EXPECT_EQ(memory.arena, peak.bytes()) << "rank " << peak.rank();
    EXPECT_EQ((memory.touched + page - 1) / page * page, peak.bytes())
        << "rank " << peak.rank();
  }
}

/// The number behind `key`; NaN, which the log writes as null, if it is none.
static double numberBehind(const std::string &line, const std::string &key) {
  const char *text = line.c_str() + line.find(key) + key.size();
  char *end = nullptr;
  double number = std::strtod(text, &end);
  return end == text ? std::nan("") : number;
}

static void readLog(const std::string &text, Outcome &outcome) {
  std::istringstream log(text);
  for (std::string line; std::getline(log, line);)
    if (line.find("\"grad_norm\":") != std::string::npos) {
      outcome.norms.push_back(numberBehind(line, "\"grad_norm\":"));
      outcome.losses.push_back(numberBehind(line, "\"loss\":"));
    }
}

Outcome TrainedPlans::outcomeOf(const std::string &name, uint64_t until) {
  Outcome outcome;
  readLog(*readFile(folder + "/" + (name.empty() ? "log" : name) + ".jsonl",
                    1 << 20),
          outcome);
  if (until == 0)
    return outcome;
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
    std::vector<uint8_t> bytes(elements * sizeof(float));
    checkpoint::SliceBounds whole{std::vector<uint64_t>(spec.shape.size(), 0),
                                  spec.shape};
    Status status = stored->read(spec, whole, bytes);
    EXPECT_TRUE(status.ok()) << status.message();
    std::memcpy(values.data(), bytes.data(), bytes.size());
    outcome.state[spec.key.text()].assign(values.begin(), values.end());
  }
  return outcome;
}

const Outcome &TrainedPlans::oneRank(const ModelRow &model,
                                     int64_t microbatches, uint64_t until) {
  constexpr const char *precision = "precision: FP32";
  static const KeptOutcomes kept;
  static std::map<std::vector<std::string>, Outcome> known;
  PlanRow plan = {"One", "", microbatches};
  std::vector<std::string> parts = {specOf(model, plan, precision),
                                    std::to_string(until)};
  auto [entry, isNew] = known.try_emplace(parts);
  if (!isNew)
    return entry->second;
  if (std::optional<Outcome> found = kept.find(parts)) {
    entry->second = *std::move(found);
    return entry->second;
  }
  train(compile(model, plan, precision), until, "one");
  entry->second = outcomeOf("one", until);
  if (!HasFailure())
    kept.keep(parts, entry->second);
  return entry->second;
}

double test::relativeDistance(const std::vector<double> &a,
                              const std::vector<double> &b) {
  std::vector<double> zeros(b.size());
  return distance(a, b) / (distance(b, zeros) + 1e-4);
}

void TrainedPlans::expectSame(const Outcome &actual, const Outcome &expected) {
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
    EXPECT_LE(relativeDistance(actual.state.at(name), values), 10 * band)
        << name;
  }
}
