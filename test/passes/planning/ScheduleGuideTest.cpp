//===- ScheduleGuideTest.cpp - What docs/schedules.md says ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"
#include "test/passes/planning/PlanningFiles.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace hocket;
using namespace hocket::planning;

namespace {

std::string guide() {
  std::ifstream stream(std::filesystem::path(HOCKET_SOURCE_DIR) /
                       "docs/schedules.md");
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The cells of a table's row, without blanks and quotes.
std::vector<std::string> cellsOf(const std::string &line) {
  std::vector<std::string> cells;
  std::istringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    std::erase_if(cell, [](char c) { return c == ' ' || c == '`'; });
    cells.push_back(cell);
  }
  return cells;
}

void expectRow(const std::vector<std::string> &cells) {
  int64_t chunks = std::stoll(cells[1]);
  double share = 1.0 / double(chunks);
  bool v = cells[2] == "v-shaped";
  ScheduleProblem problem = uniformProblem(
      {4, chunks, 8, v ? Placement::VShaped : Placement::RoundRobin},
      {share, share, share});
  problem.splitWeight = true;
  StatusOr<Schedule> schedule = generateSchedule(cells[0], problem);
  ASSERT_TRUE(schedule.ok()) << schedule.status().message();
  StatusOr<Timeline> timeline = simulateSchedule(problem, *schedule);
  ASSERT_TRUE(timeline.ok()) << timeline.status().message();
  double gaps = 0, memory = 0;
  for (const RankTimeline &rank : timeline->ranks) {
    gaps = std::max(gaps, rank.gaps);
    memory = std::max(memory, double(rank.peakLive) * share);
  }
  EXPECT_DOUBLE_EQ(timeline->makespan, std::stod(cells[3])) << cells[0];
  EXPECT_DOUBLE_EQ(gaps, std::stod(cells[4])) << cells[0];
  EXPECT_DOUBLE_EQ(memory, std::stod(cells[5])) << cells[0];
}

TEST(ScheduleGuide, TableIsWhatTheSimulatorSays) {
  std::istringstream text(guide());
  int rows = 0;
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("| `")) {
      expectRow(cellsOf(line));
      ++rows;
    }
  EXPECT_EQ(rows, 9);
}

TEST(ScheduleGuide, ExampleIsTheOneThatTestsRun) {
  std::string example = planningFile("schedules", "by-hand.schedule");
  ASSERT_FALSE(example.empty());
  EXPECT_NE(guide().find("```text\n" + example + "```"), std::string::npos);
}

} // namespace
