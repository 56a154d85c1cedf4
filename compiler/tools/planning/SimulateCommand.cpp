//===- SimulateCommand.cpp - hocket simulate ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "compiler/tools/planning/CommandFiles.h"
#include "compiler/tools/planning/PlanCommand.h"
#include "compiler/tools/planning/PlanReport.h"
#include "compiler/tools/planning/WhyNot.h"
#include "runtime/telemetry/TraceFile.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

using namespace hocket;
using namespace hocket::planning;

namespace {

struct SimulateArguments {
  PlanRequest request;
  std::string plan, trace;
  bool json = false;
};

constexpr const char *simulateDetails =
    R"(Predicts what a step of SPEC takes under a plan on a cluster, and the memory of
every pipeline rank. PLAN is a textproto (a plan of frontends/spec/spec.proto,
as `hocket plan -o` writes it), or short: tp=8,pp=16,dp=8,mbs=1.

Examples:
  hocket simulate spec.textproto --plan plan.textproto --cluster h100:1024
  hocket simulate spec.textproto --plan tp=8,pp=16,dp=8,v=6 --cluster h100:1024
  hocket simulate spec.textproto --plan plan.textproto --cluster h100:1024 \
      --trace step.json      # for ui.perfetto.dev)";

/// A pipeline rank's passes as spans of a trace.
std::vector<TraceSpan> spansOf(const std::vector<Action> &actions,
                               const RankTimeline &timeline) {
  std::vector<TraceSpan> spans;
  for (size_t i = 0; i < actions.size(); ++i) {
    TraceSpan span;
    span.name = spelled(actions[i]);
    span.category = "compute";
    span.beginMicros = timeline.times[i].start * 1e-3;
    span.micros = (timeline.times[i].end - timeline.times[i].start) * 1e-3;
    span.arguments = {{"microbatch", std::to_string(actions[i].microbatch)},
                      {"chunk", std::to_string(actions[i].chunk)}};
    spans.push_back(std::move(span));
  }
  return spans;
}

Status writeTrace(const CostProblem &problem, const ParallelPlan &plan,
                  const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(PlayedPlan played, playPlan(problem, plan));
  const auto &[schedule, timeline] = played;
  std::vector<std::string> events;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    events.push_back(
        traceEvents({unsigned(rank),
                     "pipeline rank " + std::to_string(rank),
                     {"passes"},
                     spansOf(schedule.ranks[rank], timeline.ranks[rank])}));
  return writeFileAtomically(path, traceText(events));
}

Status run(const SimulateArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(CostProblem problem, planProblem(arguments.request));
  HOCKET_ASSIGN_OR_RETURN(ParallelPlan plan, readPlan(arguments.plan));
  HOCKET_ASSIGN_OR_RETURN(StepCost cost, priceStep(problem, plan));
  if (!arguments.trace.empty())
    HOCKET_RETURN_IF_ERROR(writeTrace(problem, plan, arguments.trace));
  PricedPlan priced{plan, std::move(cost)};
  if (arguments.json) {
    printJson(jsonOf(problem, priced));
    return okStatus();
  }
  std::cout << printPlan(plan) << "\n"
            << summaryText(problem, priced.cost) << "\n\n"
            << priceText(priced.cost) << "\n"
            << memoryText(problem, priced.cost);
  int64_t capacity = problem.system.device().memory_bytes();
  if (!fits(problem, priced.cost.memory, capacity))
    std::cout << "\nIt does not fit: "
              << overflowText(problem, priced.cost, capacity) << ".\n";
  return okStatus();
}

} // namespace

void hocket::registerSimulate(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App *command =
      addCommand(app, "simulate", "Predict a step under a plan");
  command->footer(simulateDetails);
  PlanRequest &request = arguments->request;
  command
      ->add_option("SPEC", request.input,
                   "A specification, or a Hugging Face folder")
      ->required();
  command->add_option("--plan", arguments->plan, "The plan: a file, or short")
      ->type_name("PLAN")
      ->required();
  command
      ->add_option("--cluster", request.cluster,
                   "The system that it runs "
                   "on")
      ->type_name("SYSTEM:DEVICES")
      ->required();
  command
      ->add_option("--set", request.overrides,
                   "Overrides a field of the spec; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  wantPath(command->add_option("--trace", arguments->trace,
                               "Write when each pass runs, as Chrome trace "
                               "events"))
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &result] { result = run(*arguments); });
}
