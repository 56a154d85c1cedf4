//===- RandomSchedulesTest.cpp - Whatever can run trains the same model ---===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Schedules drawn at random, in files and from the generators, over stages
/// that share out layers at random: each compiles to a program that is sound,
/// and some are trained beside one rank, mixtures of experts with every kind of
/// balancing among them.
///
/// A run draws a few. HOCKET_SCHEDULES says how many to compile; a fifth as
/// many are trained. HOCKET_PLAN_SEED repeats a run.
///
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleText.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainedPlans.h"
#include "test/passes/planning/RandomSchedule.h"

#include <filesystem>
#include <fstream>
#include <random>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {

class RandomSchedules : public TrainedPlans {
protected:
  void SetUp() override {
    TrainedPlans::SetUp();
    const char *given = std::getenv("HOCKET_PLAN_SEED");
    seed = given ? std::stoull(given) : std::random_device()();
    random.seed(seed);
    const char *often = std::getenv("HOCKET_SCHEDULES");
    count = often ? std::stoi(often) : 10;
  }

  int64_t oneOf(std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  }

  /// Layers of each of so many stages, some of them 0.
  std::string drawLayers(int64_t stages, int64_t layers) {
    std::vector<int64_t> list(stages, 0);
    for (int64_t i = 0; i < layers; ++i)
      ++list[random() % list.size()];
    std::string text;
    for (int64_t number : list)
      text += (text.empty() ? "" : ",") + std::to_string(number);
    return "plan.layers_per_stage=" + text + " ";
  }

  /// The words of a group; 0: as many as there are ranks.
  static std::string groupOf(int64_t group) {
    return group == 0 ? ""
                      : "plan.schedule_group=" + std::to_string(group) + " ";
  }

  /// The words of a plan with a schedule of its own.
  std::string drawFile(int64_t ranks, int64_t microbatches, int64_t layers) {
    planning::Schedule schedule =
        planning::drawSchedule(ranks, microbatches, random);
    std::string path = folder + "/random.schedule";
    std::ofstream(path) << planning::writeSchedule(schedule);
    text = planning::writeSchedule(schedule);
    return "--virtual-stages " + std::to_string(schedule.shape.chunks) +
           " --schedule " + path + " " +
           drawLayers(schedule.shape.stages(), layers);
  }

  /// The words of a plan with a generator that accepts it.
  std::string drawGenerated(int64_t ranks, int64_t microbatches,
                            int64_t layers) {
    text.clear();
    while (true) {
      const auto &names = planning::scheduleNames();
      std::string name(names[random() % names.size()]);
      planning::ScheduleProblem problem;
      bool folded = name == "zb-v" || name == "dualpipe-v";
      problem.splitWeight = folded || name.starts_with("zb-");
      problem.shape = {ranks, oneOf({1, 2, 2, 3}), microbatches,
                       folded ? planning::Placement::VShaped
                              : planning::Placement::RoundRobin};
      problem.group = oneOf({0, ranks, microbatches, microbatches / 2 + 1});
      problem.costs.resize(problem.shape.stages());
      problem.caps.assign(ranks, planning::kNoCap);
      if (!planning::generateSchedule(name, problem).ok())
        continue;
      return "--virtual-stages " + std::to_string(problem.shape.chunks) +
             " --schedule " +
             (name == "interleaved-1f1b" ? "interleaved" : name) + " " +
             groupOf(problem.group) +
             drawLayers(problem.shape.stages(), layers);
    }
  }

  std::string draw(int64_t ranks, int64_t microbatches, int64_t layers) {
    return random() % 4 ? drawFile(ranks, microbatches, layers)
                        : drawGenerated(ranks, microbatches, layers);
  }

  std::string trace(int i, const std::string &plan) const {
    return "HOCKET_PLAN_SEED=" + std::to_string(seed) + ", plan " +
           std::to_string(i) + ": " + plan + "\n" + text;
  }

  void expectLikeOneRank(const ModelRow &model, const PlanRow &plan) {
    const Outcome &one = oneRank(model, plan.microbatches);
    train(compile(model, plan, "precision: FP32"), steps, "many");
    ASSERT_FALSE(HasFatalFailure());
    expectSame(outcomeOf("many", steps), one);
    fs::remove_all(folder + "/many");
    fs::remove(folder + "/many.jsonl");
  }

  uint64_t seed = 0;
  int count = 0;
  std::mt19937_64 random;
  std::string text; ///< Of the schedule drawn last; empty if it has a name.
};

TEST_F(RandomSchedules, CompileToSoundPrograms) {
  for (int i = 0; i < count; ++i) {
    int64_t ranks = oneOf({2, 2, 3, 4}), microbatches = 1 + random() % 9;
    std::string flags = draw(ranks, microbatches, 3);
    std::string mesh = "pp=" + std::to_string(ranks);
    SCOPED_TRACE(trace(i, mesh + " " + flags));
    CompileChoice choice;
    choice.flags.emplace_back("--mesh", mesh);
    addWords(flags, choice);
    program::Program program = compileProgram(
        "model { layers: 3 hidden: 8 heads: 2 ffn: 8 vocab_size: 11 } training "
        "{ micro_batch_size: 1 sequence_length: 4 global_batch_size: " +
            std::to_string(microbatches) + " }",
        choice);
    ASSERT_EQ(program.roles_size(), ranks);
  }
}

TEST_F(RandomSchedules, TrainTheSameModel) {
  std::vector<const ModelRow *> models = {&gpt, &llama};
  for (const ModelRow &model : balancedExperts())
    models.push_back(&model);
  for (int i = 0; i < (count + 4) / 5; ++i) {
    const ModelRow &model = *models[random() % models.size()];
    int64_t ranks = oneOf({2, 2, 3}), microbatches = oneOf({2, 3, 4, 6});
    std::string flags = draw(ranks, microbatches, 4);
    std::string mesh = "pp=" + std::to_string(ranks);
    PlanRow plan{"Random", mesh.c_str(), microbatches, flags.c_str()};
    SCOPED_TRACE(trace(i, std::string(model.name) + " " + mesh + " " + flags));
    expectLikeOneRank(model, plan);
    ASSERT_FALSE(HasFatalFailure());
  }
}

//===----------------------------------------------------------------------===//
// By hand
//===----------------------------------------------------------------------===//

/// A schedule, or words for a plan.
struct HandRow {
  const char *name;
  int64_t microbatches;
  const char *flags;
  const char *schedule = "";
};

class HandWritten : public RandomSchedules,
                    public testing::WithParamInterface<HandRow> {};

TEST_P(HandWritten, TrainsTheSameModel) {
  HandRow row = GetParam();
  std::string flags = row.flags;
  if (*row.schedule) {
    std::string path = folder + "/by-hand.schedule";
    std::ofstream(path) << "pipeline-schedule\nname by-hand\nranks 2\n"
                        << row.schedule;
    flags += " --schedule " + path;
  }
  // Its bias is a sum over microbatches of forwards.
  const ModelRow &model = balancedExperts().back();
  expectLikeOneRank(model, {"ByHand", "pp=2", row.microbatches, flags.c_str()});
}

const HandRow byHand[] = {
    {"HeadAlone", 3, "plan.layers_per_stage=4,0"},
    {"HeadAloneInALaterChunk", 4,
     "--virtual-stages 2 plan.layers_per_stage=1,2,1,0"},
    {"LaterMicrobatchFirst", 3, "",
     "microbatches 3\n"
     "rank 0 F1 F0 BW0 F2 BW1 BW2\n"
     "rank 1 F1 F0 BW0 BW1 F2 BW2\n"},
    {"LastMicrobatchFirst", 3, "",
     "microbatches 3\n"
     "rank 0 F2 F1 F0 B2 B1 W1 B0 W0 W2\n"
     "rank 1 F2 B2 W2 F1 B1 F0 W1 B0 W0\n"},
    {"OtherOrderWhereItTurns", 3, "--virtual-stages 2",
     "chunks 2\nplacement v-shaped\nmicrobatches 3\n"
     "rank 0 F0 F1 F2 F0@1 F2@1 F1@1 BW0@1 BW1@1 BW2@1 BW0 BW1 BW2\n"
     "rank 1 F0 F1 F2 F0@1 F2@1 F1@1 BW0@1 BW1@1 BW2@1 BW0 BW1 BW2\n"},
    {"BackwardsWhereItTurns", 4, "--virtual-stages 2",
     "chunks 2\nplacement v-shaped\nmicrobatches 4\n"
     "rank 0 F0 F1 F2 F3 F3@1 F2@1 F1@1 F0@1 "
     "BW0@1 BW1@1 BW2@1 BW3@1 BW3 BW2 BW1 BW0\n"
     "rank 1 F0 F1 F2 F3 F3@1 F2@1 F1@1 F0@1 "
     "BW0@1 BW1@1 BW2@1 BW3@1 BW3 BW2 BW1 BW0\n"},
    {"ForwardBetweenBAndW", 2, "",
     "microbatches 2\n"
     "rank 0 F0 F1 B0 B1 W0 W1\n"
     "rank 1 F0 B0 F1 W0 B1 W1\n"},
    {"LargeGroup", 6,
     "--virtual-stages 2 --schedule interleaved "
     "plan.schedule_group=6"},
    {"LongList", 12, "--virtual-stages 2 --schedule list"},
};

INSTANTIATE_TEST_SUITE_P(All, HandWritten, testing::ValuesIn(byHand),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

/// Sizes at which two copies of what crosses are too few.
TEST(ScheduleSizes, AllCompile) {
  struct Row {
    int64_t ranks, chunks, microbatches, group;
    const char *schedule;
  };
  for (const Row &row :
       {Row{2, 2, 6, 6, "interleaved"}, Row{2, 3, 8, 8, "interleaved"},
        Row{2, 2, 9, 0, "list"}, Row{2, 2, 11, 0, "list"},
        Row{3, 2, 16, 0, "list"}}) {
    CompileChoice choice;
    choice.flags = {{"--mesh", "pp=" + std::to_string(row.ranks)},
                    {"--virtual-stages", std::to_string(row.chunks)},
                    {"--schedule", row.schedule}};
    if (row.group > 0)
      choice.overrides = {"plan.schedule_group=" + std::to_string(row.group)};
    program::Program program = compileProgram(
        "model { layers: 6 hidden: 8 heads: 2 ffn: 8 vocab_size: 11 } training "
        "{ micro_batch_size: 1 sequence_length: 4 global_batch_size: " +
            std::to_string(row.microbatches) + " }",
        choice);
    EXPECT_EQ(program.roles_size(), row.ranks);
  }
}

} // namespace
