//===- hocket-solve.cpp - Solves a planning problem in its text form ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// For tests: reads a problem of passes/planning, which its first line names,
// has one of the algorithms for it solve it, validates what that found, and
// prints it. Problems of memory and of strategies have commands of their own,
// `hocket memory` and `hocket strategy`.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "passes/planning/RecomputePlan.h"
#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"
#include "passes/planning/ScheduleText.h"
#include "passes/planning/ScheduleVerifier.h"
#include "passes/planning/StageBalance.h"
#include "passes/planning/TextLines.h"
#include "passes/planning/cost/ParallelPlan.h"
#include "passes/planning/search/PlanProblemText.h"
#include "runtime/tools/command_line/CommandLine.h"

#include <algorithm>
#include <iostream>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr uint64_t mostFileBytes = uint64_t(64) << 20;

struct Request {
  std::string file, text, algorithm;
};

Status unknown(const Request &request, const std::string &known) {
  return invalidArgument("--algorithm " + request.algorithm + ": write " +
                         known);
}

Status solveSchedule(const Request &request) {
  HOCKET_ASSIGN_OR_RETURN(ScheduleProblem problem,
                          readProblem(request.file, request.text));
  HOCKET_ASSIGN_OR_RETURN(Schedule schedule,
                          generateSchedule(request.algorithm, problem));
  HOCKET_RETURN_IF_ERROR(verifySchedule(problem, schedule));
  HOCKET_ASSIGN_OR_RETURN(Timeline timeline,
                          simulateSchedule(problem, schedule));
  std::cout << "length " << timeline.makespan << "\n";
  for (size_t rank = 0; rank < timeline.ranks.size(); ++rank)
    std::cout << "rank " << rank << ": bubble " << timeline.ranks[rank].bubble
              << ", memory " << timeline.ranks[rank].peakMemory << "\n";
  return okStatus();
}

Status solveRecompute(const Request &request) {
  constexpr std::pair<std::string_view, RecomputeMode> modes[] = {
      {"none", RecomputeMode::None},
      {"selective", RecomputeMode::Selective},
      {"full-uniform", RecomputeMode::FullUniform},
      {"full-block", RecomputeMode::FullBlock},
      {"auto", RecomputeMode::Auto}};
  HOCKET_ASSIGN_OR_RETURN(RecomputeProblem problem,
                          readRecomputeProblem(request.file, request.text));
  const auto *mode =
      std::find_if(std::begin(modes), std::end(modes),
                   [&](auto &one) { return one.first == request.algorithm; });
  if (mode == std::end(modes))
    return unknown(request,
                   "none, selective, full-uniform, full-block or auto");
  HOCKET_ASSIGN_OR_RETURN(RecomputePlan plan,
                          planRecompute(problem, mode->second));
  HOCKET_RETURN_IF_ERROR(validateRecompute(problem, plan));
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const RankRecompute &found = plan.ranks[rank];
    std::cout << "rank " << rank << ": peak " << found.peak << ", seconds "
              << found.seconds << ", no less than " << found.bound << "\n";
  }
  return okStatus();
}

Status solveBalance(const Request &request) {
  HOCKET_ASSIGN_OR_RETURN(StageBalanceProblem problem,
                          readStageBalance(request.file, request.text));
  StageCut cut;
  if (request.algorithm == "exact") {
    HOCKET_ASSIGN_OR_RETURN(cut, balanceStages(problem));
  } else if (request.algorithm == "even") {
    HOCKET_ASSIGN_OR_RETURN(
        cut, listedStages(problem, evenLayers(int64_t(problem.layers.size()),
                                              problem.stages)));
  } else {
    return unknown(request, "exact or even");
  }
  HOCKET_RETURN_IF_ERROR(validateStageCut(problem, cut));
  std::cout << "worst " << cut.worst << "\nlayers";
  for (int64_t count : cut.counts)
    std::cout << " " << count;
  std::cout << "\n";
  return okStatus();
}

Status solvePlans(const Request &request) {
  HOCKET_ASSIGN_OR_RETURN(PlanProblem problem,
                          readPlanProblem(request.file, request.text));
  SearchResult result;
  if (request.algorithm == "search")
    result = PlanSearch(problem.cost, problem.constraints).run(problem.options);
  else if (request.algorithm == "exhaustive")
    result =
        searchExhaustively(problem.cost, problem.constraints, problem.options);
  else
    return unknown(request, "search or exhaustive");
  HOCKET_RETURN_IF_ERROR(validatePlans(problem, result));
  if (result.best.empty())
    return resourceExhausted(request.file + ": no plan fits");
  for (const PricedPlan &plan : result.best)
    std::cout << plan.cost.nanoseconds() << " ns, " << plan.cost.bytes()
              << " bytes: " << printPlan(plan.plan) << "\n";
  std::cout << "gap " << 100 * result.gap() << " %, " << result.priced
            << " priced\n";
  return okStatus();
}

Status run(Request &request) {
  HOCKET_ASSIGN_OR_RETURN(request.text, readFile(request.file, mostFileBytes));
  constexpr std::pair<std::string_view, Status (*)(const Request &)> kinds[] = {
      {"pipeline-problem", solveSchedule},
      {"recompute-problem", solveRecompute},
      {"stage-balance", solveBalance},
      {"plan-problem", solvePlans}};
  TextLines lines(request.file, request.text);
  for (const auto &[title, solve] : kinds)
    if (lines.expectTitle(title).ok())
      return solve(request);
  return invalidArgument(request.file +
                         ": the first line is none of pipeline-problem, "
                         "recompute-problem, stage-balance and plan-problem");
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Solves a planning problem by one of its algorithms, validates "
               "what that found, and prints it.");
  app.name("hocket-solve");
  Request request;
  Status result;
  app.add_option("FILE", request.file, "The problem's text")->required();
  app.add_option("--algorithm", request.algorithm,
                 "A schedule's name; none, selective, full-uniform, full-block "
                 "or auto; exact or even; search or exhaustive")
      ->type_name("NAME")
      ->required();
  app.callback([&] { result = run(request); });
  return runCommandLine(app, argc, argv, result);
}
