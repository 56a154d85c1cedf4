//===- ExpertBoundTest.cpp - Room for the rows of experts -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where ranks share out experts that drop nothing, a rank has room for a bound
/// of rows. Within it the room changes no bit. Beyond it the run ends, with the
/// numbers, and nothing has been trained; or the step is run again, to the same
/// bits.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "base/Format.h"
#include "runtime/program/Entries.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <sstream>

using namespace hocket;
using namespace hocket::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class ExpertBound : public TrainedPlans {
protected:
  /// Eight experts, of which a rank holds four and a token chooses one.
  static SharedProgram compileWith(const std::string &bound,
                                   const PlanRow &plan = {"Ep2", "dp=2,ep=2",
                                                          2},
                                   const std::string &training = "") {
    static const std::string fields =
        "layers: 4 hidden: 32 heads: 4 vocab_size: 61 max_positions: 16 "
        "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false "
        "moe { experts: 8 top_k: 1 ffn: 24 expert_capacity_bound: ";
    const std::string all = fields + bound + " } ";
    ModelRow model = {"Bounded", all.c_str()};
    return compile(model, plan, training);
  }

  static constexpr const char *andAgain = " beyond_bound: RERUN";

  /// The number behind `text` in `message`.
  static double numberBehind(const std::string &message,
                             const std::string &text) {
    size_t at = message.find(text);
    EXPECT_NE(at, std::string::npos) << text << " in " << message;
    return at == std::string::npos
               ? 0
               : std::stod(message.substr(at + text.size()));
  }

  /// What the log of the run `name` says of each step's load.
  std::vector<double> loadsOf(const std::string &name) const {
    std::vector<double> loads;
    for (const std::string &line : stepsOf(name))
      loads.push_back(numberBehind(line, "\"expert_load\":"));
    return loads;
  }

  /// Which steps were run again.
  std::vector<bool> rerunsOf(const std::string &name) const {
    std::vector<bool> reruns;
    for (const std::string &line : stepsOf(name))
      reruns.push_back(line.find("\"rerun\":true") != std::string::npos);
    return reruns;
  }

  /// The log's lines of steps.
  std::vector<std::string> stepsOf(const std::string &name) const {
    std::istringstream log(*readFile(folder + "/" + name + ".jsonl", 1 << 20));
    std::vector<std::string> lines;
    for (std::string line; std::getline(log, line);)
      if (line.find("\"grad_norm\":") != std::string::npos)
        lines.push_back(line);
    return lines;
  }

  Status tryTraining(const SharedProgram &program) {
    TrainingOptions options;
    options.data = {tokens()};
    options.steps = 2;
    options.saveDir = folder + "/save";
    options.overwrite = true;
    return runTraining(program, options);
  }
};

TEST_F(ExpertBound, RoomChangesNoBit) {
  SharedProgram most = compileWith("100"), less = compileWith("1.9");
  EXPECT_LT(less->certificate().peaks(0).bytes(),
            most->certificate().peaks(0).bytes());
  train(most, steps, "most");
  train(less, steps, "less");
  Outcome expected = outcomeOf("most", steps),
          actual = outcomeOf("less", steps);
  EXPECT_EQ(actual.losses.size(), steps);
  EXPECT_EQ(actual.losses, expected.losses);
  EXPECT_EQ(actual.norms, expected.norms);
  EXPECT_EQ(actual.state, expected.state);
  // The log says how much of the room was used, by the fullest rank.
  std::vector<double> loads = loadsOf("less");
  EXPECT_EQ(loads, loadsOf("most"));
  EXPECT_EQ(loads.size(), steps);
  for (double load : loads)
    EXPECT_TRUE(load >= 1 && load <= 1.9) << load;
}

/// The message says what would have been enough, for this layer.
TEST_F(ExpertBound, BeyondTheRoomTheRunEndsWithTheNumbers) {
  double bound = 1;
  Status status = tryTraining(compileWith("1"));
  ASSERT_EQ(status.code(), StatusCode::ResourceExhausted) << status.message();
  EXPECT_EQ(exitStatusOf(status), 1);
  EXPECT_THAT(status.message(), HasSubstr(" layers."));
  EXPECT_THAT(status.message(),
              HasSubstr("times the even share of 48); no token was dropped and "
                        "nothing was updated; write "
                        "moe.expert_capacity_bound: "));
  EXPECT_FALSE(fs::exists(folder + "/save"));
  double needed = numberBehind(status.message(), "of one rank for ");
  EXPECT_EQ(numberBehind(status.message(), "there is room for "), 48);
  EXPECT_GT(needed, 48);
  // As often as another layer, or step, needs more.
  for (int tries = 0; !status.ok() && tries < 12; ++tries) {
    double more = numberBehind(status.message(), "moe.expert_capacity_bound: ");
    EXPECT_GE(more * 48, numberBehind(status.message(), "of one rank for "));
    EXPECT_GT(more, bound);
    bound = more;
    status = tryTraining(compileWith(std::to_string(bound)));
  }
  EXPECT_TRUE(status.ok()) << status.message();
}

/// Ranks of another stage and of another group of experts end too.
TEST_F(ExpertBound, AllRanksEnd) {
  Status status = tryTraining(
      compileWith("1", {"Pp2Dp4Ep2", "pp=2,dp=4,ep=2", 3, "--zero 1"}));
  EXPECT_EQ(exitStatusOf(status), 1);
  EXPECT_THAT(status.message(), HasSubstr("moe.expert_capacity_bound: "));
  EXPECT_FALSE(fs::exists(folder + "/save"));
}

//===----------------------------------------------------------------------===//
// Steps that are run again
//===----------------------------------------------------------------------===//

class StepsRunAgain : public ExpertBound {
protected:
  /// Trains with room for `bound`, and steps that are run again, and with room
  /// for everything: the same bits.
  void compare(const std::string &bound, const PlanRow &plan,
               const std::string &training = "") {
    SharedProgram all = compileWith("100", plan, training),
                  less = compileWith(bound + andAgain, plan, training);
    train(all, steps, "all");
    train(less, steps, "less");
    Outcome expected = outcomeOf("all", steps),
            actual = outcomeOf("less", steps);
    EXPECT_EQ(actual.losses.size(), steps);
    EXPECT_EQ(actual.losses, expected.losses);
    EXPECT_EQ(actual.norms, expected.norms);
    EXPECT_EQ(actual.state, expected.state);
    EXPECT_EQ(loadsOf("less"), loadsOf("all"));
    // There is room for whole rows, of 12 at least; and behind a step that had
    // none the next one is run with room at once.
    std::vector<double> loads = loadsOf("less");
    std::vector<bool> reruns = rerunsOf("less");
    double least = std::stod(bound), most = least + 1.0 / 12;
    for (size_t i = 0; i < steps; ++i) {
      SCOPED_TRACE(formatText("step %zu, load %f", i + 1, loads[i]));
      if (loads[i] > most)
        EXPECT_TRUE(reruns[i]);
      if (reruns[i])
        EXPECT_TRUE(loads[i] > least || (i > 0 && loads[i - 1] > least));
    }
    EXPECT_THAT(reruns, testing::Contains(true));
  }
};

TEST_F(StepsRunAgain, TrainTheSameBits) {
  compare("1", {"Ep2", "dp=2,ep=2", 2});
}

/// Between the loads of different steps: some are run again, and others not.
TEST_F(StepsRunAgain, OnlyWhereThereIsNoRoom) {
  train(compileWith("100"), steps, "most");
  std::vector<double> loads = loadsOf("most");
  std::ranges::sort(loads);
  ASSERT_LT(loads.front(), loads.back());
  double bound = (loads.front() + loads.back()) / 2;
  compare(formatText("%.4f", bound), {"Ep2", "dp=2,ep=2", 2});
  EXPECT_THAT(rerunsOf("less"), testing::Contains(false));
}

/// Stages, of which not all have experts without room, and shards of state.
TEST_F(StepsRunAgain, UnderEveryPlan) {
  const PlanRow plans[] = {
      {"Pp2", "pp=2,dp=2,ep=2", 2, "--virtual-stages 2"},
      {"Zero3", "dp=4,ep=4", 1, "--zero 3"},
      {"Etp", "dp=2,tp=2,ep=2,etp=2", 2, "--sequence-parallel"},
      {"FoldedTp", "dp=2,tp=2,ep=4,etp=1", 1, "--sequence-parallel --zero 1"},
      {"Cp", "cp=2,ep=2", 3, "--recompute selective"},
      {"ZeroBubble", "pp=2,dp=2,ep=2", 3, "--schedule zb-h1"},
  };
  for (const PlanRow &plan : plans) {
    SCOPED_TRACE(plan.name);
    compare("1", plan);
    for (const char *name : {"/all", "/less"})
      fs::remove_all(folder + name), fs::remove(folder + name + ".jsonl");
  }
}

/// Steps of every size of a batch that grows, of as many microbatches.
TEST_F(StepsRunAgain, AreOfABatchThatGrows) {
  compare("1", {"Grows", "dp=2,ep=2", 2},
          "rampup_batch_size { start: 6 increment: 6 samples: 12 } ");
}

TEST_F(StepsRunAgain, AreOfValidationToo) {
  std::map<std::string, std::vector<double>> losses;
  for (const std::string &bound :
       {std::string("100"), std::string("1") + andAgain}) {
    TrainingOptions options;
    options.validData = {tokens()};
    options.steps = 4;
    options.logFile = folder + "/valid.jsonl";
    options.overwrite = true;
    train(compileWith(bound, {"Ep2", "dp=2,ep=2", 2},
                      "validation { interval: 2 batches: 1 } "),
          options);
    std::istringstream log(*readFile(options.logFile, 1 << 20));
    for (std::string line; std::getline(log, line);)
      if (line.find("valid_loss") != std::string::npos)
        losses[bound].push_back(numberBehind(line, "\"valid_loss\":"));
  }
  ASSERT_EQ(losses.size(), 2);
  EXPECT_EQ(losses.begin()->second.size(), 2);
  EXPECT_EQ(losses.begin()->second, losses.rbegin()->second);
}

/// Where every rank has all experts, or experts drop tokens, nothing is.
TEST_F(StepsRunAgain, NeedNothingWhereThereIsAlwaysRoom) {
  for (const std::string &entry :
       entriesOf(*compileWith(std::string("1") + andAgain, {"Dp2", "dp=2", 2})))
    EXPECT_EQ(repeatedEntryOf(entry), entry);
}

} // namespace
