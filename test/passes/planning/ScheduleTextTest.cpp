//===- ScheduleTextTest.cpp - Schedules and their problems as text --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleText.h"
#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleVerifier.h"
#include "test/passes/planning/PlanningFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::planning;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

TEST(ProblemText, FilesAreReadAndWrittenBackTheSame) {
  size_t count = 0;
  for (const PlanningFile &file : planningFiles("schedules", ".problem")) {
    ++count;
    StatusOr<ScheduleProblem> problem = readProblem(file.name, file.text);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    std::string text = writeProblem(*problem);
    if (file.text.find('#') == std::string::npos)
      EXPECT_EQ(text, file.text) << file.name;
    StatusOr<ScheduleProblem> again = readProblem("again", text);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *problem) << file.name;
    EXPECT_EQ(writeProblem(*again), text) << file.name;
  }
  EXPECT_GE(count, 4u);
}

TEST(ProblemText, OneRankOverridesAll) {
  StatusOr<ScheduleProblem> problem =
      readProblem("x", planningFile("schedules", "tight.problem"));
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  EXPECT_EQ(problem->caps, (std::vector<int64_t>{200, 150, 150, 150}));
  EXPECT_EQ(problem->shape.chunks, 1);
  EXPECT_EQ(problem->cost(3, 0).kept, 40);
  EXPECT_TRUE(problem->splitWeight);
}

TEST(ProblemText, ErrorsNameTheirPlace) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "p:1:1: Q30: expected 'pipeline-problem' first"},
      {"pipeline-schedule", "p:1:1: Q30: expected 'pipeline-problem' first, "
                            "found 'pipeline-schedule'"},
      {"pipeline-problem\nranks 2", "p:2:8: Q30: expected a line "
                                    "'microbatches NUMBER'"},
      {"pipeline-problem\n  ranks 0", "p:2:9: Q30: expected a whole number "
                                      "from 1 to 65536, found '0'"},
      {"pipeline-problem\nranks 2 3", "p:2:9: Q30: expected the end of the "
                                      "line, found '3'"},
      {"pipeline-problem\nranks", "p:2:6: Q30: expected more after 'ranks'"},
      {"pipeline-problem\nranks 2\nranks 2", "p:3:1: Q30: expected each line "
                                             "once"},
      {"pipeline-problem\nspeed 2", "p:2:1: Q30: expected ranks, chunks"},
      {"pipeline-problem\nplacement w", "p:2:11: Q30: expected round-robin or "
                                        "v-shaped, found 'w'"},
      {"pipeline-problem\nweights both",
       "p:2:9: Q30: expected joined or split"},
      {"pipeline-problem\ntransfer nan", "p:2:10: Q30: expected a number from "
                                         "0 to 1e+15, found 'nan'"},
      {"pipeline-problem\nranks 2\nmicrobatches 2\nforward rank 2 1",
       "p:4:14: Q30: expected a whole number from 0 to 1, found '2'"},
      {"pipeline-problem\nranks 2\nmicrobatches 2\nforward rank 1",
       "p:4:15: Q30: expected more after '1'"},
      {"pipeline-problem\nranks 2\nmicrobatches 2\nforward 1\nforward 2",
       "p:5:1: Q30: expected each line once"},
      {"pipeline-problem\nranks 2\nmicrobatches 2\ncap -1",
       "p:4:5: Q30: expected a whole number from 0"},
      {"pipeline-problem\nranks 65536\nmicrobatches 4194304",
       "p:3:14: Q30: expected at most 4194304 of ranks x chunks"},
  };
  for (const auto &[text, message] : cases) {
    StatusOr<ScheduleProblem> problem = readProblem("p", text);
    ASSERT_FALSE(problem.ok()) << text;
    EXPECT_THAT(problem.status().message(), StartsWith(message));
    EXPECT_EQ(exitStatusOf(problem.status()), 2);
  }
}

TEST(ScheduleText, EveryGeneratedScheduleIsReadBack) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (std::string_view name : scheduleNames())
    for (int i = 0; i < 10; ++i) {
      bool v = name == "zb-v" || name == "dualpipe-v";
      bool plain = name == "1f1b" || name.starts_with("zb-h");
      ScheduleProblem problem =
          uniformProblem({int64_t(1 + random() % 4),
                          v       ? 2
                          : plain ? 1
                                  : 3,
                          8, v ? Placement::VShaped : Placement::RoundRobin});
      problem.splitWeight = true;
      problem.group = 8;
      StatusOr<Schedule> schedule = generateSchedule(name, problem);
      ASSERT_TRUE(schedule.ok()) << schedule.status().message();
      std::string text = writeSchedule(*schedule);
      StatusOr<Schedule> again = readSchedule("again", text);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(*again, *schedule) << text;
      EXPECT_EQ(writeSchedule(*again), text);
    }
}

TEST(ScheduleText, IsWhatAPersonWouldWrite) {
  ScheduleProblem problem = uniformProblem({2, 2, 2});
  problem.group = 2;
  StatusOr<Schedule> schedule = makeInterleaved(problem);
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(writeSchedule(*schedule),
            "pipeline-schedule\n"
            "name interleaved-1f1b\n"
            "ranks 2\n"
            "chunks 2\n"
            "microbatches 2\n"
            "placement round-robin\n"
            "rank 0\n"
            "  F0 F1 F0@1 F1@1 BW0@1 BW1@1 BW0 BW1\n"
            "rank 1\n"
            "  F0 F1 F0@1 BW0@1 F1@1 BW1@1 BW0 BW1\n");
}

TEST(ScheduleText, HandwrittenFilesAreJudged) {
  StatusOr<Schedule> good =
      readSchedule("x", planningFile("schedules", "by-hand.schedule"));
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ(good->name, "by-hand");
  Status verdict = verifySchedule(uniformProblem(good->shape), *good);
  EXPECT_TRUE(verdict.ok()) << verdict.message();
  StatusOr<Schedule> bad =
      readSchedule("x", planningFile("schedules", "deadlock.schedule"));
  ASSERT_TRUE(bad.ok()) << bad.status().message();
  EXPECT_THAT(verifySchedule(uniformProblem(bad->shape), *bad).message(),
              HasSubstr("Q25: the ranks wait for each other"));
}

/// `text` with a few bytes changed, taken out or put in.
std::string damaged(std::string text, std::mt19937 &random) {
  const std::string bytes = "0123456789 \n\t#@-.FBWnranks\x80\x00";
  for (auto count = 1 + random() % 4; count > 0; --count) {
    size_t at = random() % text.size();
    char byte = bytes[random() % bytes.size()];
    if (random() % 3 == 0)
      text[at] = byte;
    else if (random() % 2)
      text.erase(at, 1 + random() % 8);
    else
      text.insert(at, 1, byte);
  }
  return text;
}

TEST(ScheduleText, DamagedFilesAreReadOrRefusedWithAPlace) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (const char *suffix : {".schedule", ".problem"})
    for (const PlanningFile &file : planningFiles("schedules", suffix))
      for (int i = 0; i < 300; ++i) {
        std::string text = damaged(file.text, random);
        Status status;
        if (std::string_view(suffix) == ".schedule") {
          StatusOr<Schedule> schedule = readSchedule("file", text);
          status = schedule.status();
          if (schedule.ok())
            EXPECT_TRUE(readSchedule("again", writeSchedule(*schedule)).ok());
        } else {
          StatusOr<ScheduleProblem> problem = readProblem("file", text);
          status = problem.status();
          if (problem.ok())
            EXPECT_TRUE(readProblem("again", writeProblem(*problem)).ok());
        }
        if (!status.ok())
          EXPECT_THAT(status.message(),
                      ::testing::MatchesRegex("file:[0-9]+:[0-9]+: Q.*"))
              << text;
      }
}

TEST(ScheduleText, ErrorsNameTheirPlace) {
  const std::string head = "pipeline-schedule\nranks 2\nmicrobatches 2\n";
  const std::pair<std::string, const char *> cases[] = {
      {"ranks 2", "s:1:1: Q30: expected 'pipeline-schedule' first"},
      {"pipeline-schedule\nrank 0 F0", "s:2:10: Q30: expected a line 'ranks "
                                       "NUMBER'"},
      {head + "rank 0 F0\nrank 2 F0", "s:5:6: Q30: expected a whole number "
                                      "from 0 to 1, found '2'"},
      {head + "rank 0 F0\nrank 0 F0",
       "s:5:6: Q30: expected one list for each rank"},
      {head + "rank 0 F0\n", "s:5:1: Q30: expected the list of rank 1"},
      {head + "rank 0\n  F0 G0", "s:5:6: Q30: expected an action like F0, B0, "
                                 "W0, BW0 or F0@1, found 'G0'"},
      {head + "rank 0 F", "s:4:8: Q30: expected an action"},
      {head + "rank 0 F0@", "s:4:8: Q30: expected an action"},
      {head + "rank 0 F-1", "s:4:8: Q30: expected an action"},
      {head + "rank 0 F99999999999", "s:4:8: Q30: expected an action"},
      {head + "rank", "s:4:5: Q30: expected more after 'rank'"},
      {head + "name a/b\n", "s:4:6: Q30: expected a name of letters"},
      {head + "name a\nname b\n", "s:5:1: Q30: expected one name"},
      {head + "colour red\n", "s:4:1: Q30: expected name, ranks, chunks, "
                              "microbatches, placement or rank"},
  };
  for (const auto &[text, message] : cases) {
    StatusOr<Schedule> schedule = readSchedule("s", text);
    ASSERT_FALSE(schedule.ok()) << text;
    EXPECT_THAT(schedule.status().message(), StartsWith(message));
  }
}

} // namespace
