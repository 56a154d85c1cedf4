//===- ExpertBoundTest.cpp - Room for the rows of experts -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where ranks share out experts that drop nothing, a rank has room for a bound
/// of rows. Within it the room changes no bit; beyond it the run ends, with the
/// numbers, and nothing has been trained.
///
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/TrainedPlans.h"

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
                                                          2}) {
    static const std::string fields =
        "layers: 4 hidden: 32 heads: 4 vocab_size: 61 max_positions: 16 "
        "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false "
        "moe { experts: 8 top_k: 1 ffn: 24 expert_capacity_bound: ";
    const std::string all = fields + bound + " } ";
    ModelRow model = {"Bounded", all.c_str()};
    return compile(model, plan);
  }

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
    std::istringstream log(*readFile(folder + "/" + name + ".jsonl", 1 << 20));
    std::vector<double> loads;
    for (std::string line; std::getline(log, line);)
      if (line.find("\"grad_norm\":") != std::string::npos)
        loads.push_back(numberBehind(line, "\"expert_load\":"));
    return loads;
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

} // namespace
