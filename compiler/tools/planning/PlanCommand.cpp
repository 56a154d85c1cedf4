//===- PlanCommand.cpp - hocket plan --------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/PlanCommand.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/Quantity.h"
#include "compiler/tools/planning/CommandFiles.h"
#include "compiler/tools/planning/PlanPage.h"
#include "compiler/tools/planning/PlanReport.h"
#include "compiler/tools/planning/WhyNot.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

using namespace hocket;
using namespace hocket::planning;

namespace {

struct PlanArguments {
  PlanRequest request;
  std::string margin = "5%", output, page, whyNot;
  bool offload = false;
  int64_t top = 10;
  bool json = false;
  std::vector<std::string> compared; ///< Of `plan diff`.
};

constexpr const char *planDetails =
    R"(Finds the fastest plan of SPEC on a cluster that fits its memory, under the cost
model (docs/accuracy.md says how far off that is), and proves that no plan of
the space it searches (docs/planning.md) is faster. SPEC's own plan and cluster
are ignored; a step has training.global_batch_size sequences.

The cluster is a shipped system (a100, b200, b300, gb200, gb300, h100,
h200, v100) or a file that describes one (runtime/cluster/cluster.proto), and a
number of devices.

Examples:
  hocket plan spec.textproto --cluster h100:1024
  hocket plan spec.textproto --cluster h100:1024 -o plan.textproto
  hocket compile spec.textproto --plan plan.textproto -o model.hkx
  hocket plan spec.textproto --cluster h100:1024 --why-not tp=8,pp=16
  hocket plan spec.textproto --cluster h100:8 --offload
  hocket plan spec.textproto --cluster ./my-cluster.textproto:64 --html p.html
  hocket plan diff plan.textproto other.textproto)";

std::string megabytes(int64_t bytes) {
  return formatText("%.2f GiB", double(bytes) / double(1 << 30));
}

/// What a plan may not change, or "".
std::string keptText(const CostProblem &problem) {
  if (problem.step.microbatch == 0)
    return "";
  std::string fields;
  for (const StepShape::Keep &keep : problem.step.keeps)
    fields += (fields.empty() ? "" : ", ") + keep.field;
  return "micro_batch_size * data_parallel stays " +
         std::to_string(problem.step.microbatch) +
         ": the loss depends on which sequences are computed together (" +
         fields + ")";
}

/// What to write so that a plan may change it.
std::string freeText(const CostProblem &problem) {
  std::string fields;
  for (const StepShape::Keep &keep : problem.step.keeps)
    fields += (fields.empty() ? "" : " and ") + keep.instead;
  return fields;
}

Status nothingFits(const CostProblem &problem, PlanSearch &search,
                   int64_t memory) {
  SearchResult any = search.run({});
  std::string where = formatNoun(uint64_t(problem.devices), "device") + " of " +
                      problem.system.name();
  if (any.best.empty() && problem.step.microbatch > 0)
    return invalidArgument("no plan spreads this over " + where + ", and " +
                           keptText(problem) + "; write " + freeText(problem) +
                           ", another training.micro_batch_size, or other "
                           "devices");
  if (any.best.empty())
    return invalidArgument(
        "no plan spreads this over " + where + ": no axes both multiply to " +
        std::to_string(problem.devices) + " and divide the global batch of " +
        std::to_string(problem.step.globalBatch) + " sequences" +
        (problem.step.smallerBatches.empty()
             ? "; change training.global_batch_size or the devices"
             : " and those through which it grows; change "
               "training.global_batch_size, how the batch grows, or the "
               "devices"));
  int64_t least = INT64_MAX;
  for (const PricedPlan &plan : search.paretoFront({}, 24))
    least = std::min(least, plan.cost.bytes());
  return invalidArgument("no plan fits " + where + ": a rank may use " +
                         megabytes(memory) + ", and the least found is " +
                         megabytes(least) +
                         "; use more devices, or a smaller --memory-margin");
}

void printText(const CostProblem &problem, const SearchResult &result) {
  const PricedPlan &best = result.best[0];
  std::cout << problem.model.name << " ("
            << formatCount(problem.model.parameters()) << " parameters) on "
            << formatNoun(uint64_t(problem.devices), "device") << " of "
            << problem.system.name() << ", steps of "
            << problem.step.globalBatch << " x " << problem.step.sequence
            << " tokens\n";
  if (std::string kept = keptText(problem); !kept.empty())
    std::cout << kept << "\n";
  std::cout << "\n"
            << printPlan(best.plan) << "\n"
            << summaryText(problem, best.cost) << "\n"
            << formatText("gap %.2f%%: %lld plans bounded, %lld priced\n\n",
                          100 * result.gap(), (long long)result.fine,
                          (long long)result.priced)
            << priceText(best.cost) << "\n";
  std::vector<std::vector<std::string>> rows;
  for (const PricedPlan &plan : result.best)
    rows.push_back(
        {formatText("%.3f s", plan.cost.seconds()),
         formatSigned(100 * (plan.cost.seconds() / best.cost.seconds() - 1),
                      1) +
             "%",
         megabytes(plan.cost.bytes()), printPlan(plan.plan)});
  std::cout << formatTable({">time", ">", ">memory", "plan"}, rows);
}

nlohmann::json searchJson(const CostProblem &problem,
                          const SearchResult &result,
                          const std::vector<PricedPlan> &front) {
  nlohmann::json plans = nlohmann::json::array(), pareto = plans;
  for (const PricedPlan &plan : result.best)
    plans.push_back(jsonOf(problem, plan));
  for (const PricedPlan &plan : front)
    pareto.push_back({{"plan", printPlan(plan.plan)},
                      {"nanoseconds", plan.cost.nanoseconds()},
                      {"bytes", plan.cost.bytes()}});
  return {{"model", problem.model.name},
          {"system", problem.system.name()},
          {"devices", problem.devices},
          {"capacity", problem.system.device().memory_bytes()},
          {"kept_microbatch", problem.step.microbatch},
          {"gap", result.gap()},
          {"plans_bounded", result.fine},
          {"plans_priced", result.priced},
          {"plans", std::move(plans)},
          {"pareto", std::move(pareto)}};
}

constexpr int64_t frontSteps = 8;

Status run(const PlanArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(double margin, parseMargin(arguments.margin));
  if (arguments.request.input.empty() || arguments.request.cluster.empty())
    return invalidArgument("write hocket plan SPEC --cluster h100:1024");
  HOCKET_ASSIGN_OR_RETURN(CostProblem problem, planProblem(arguments.request));
  problem.mayOffload = arguments.offload;
  if (arguments.offload && !problem.system.has_host_link())
    return invalidArgument("--offload: the description of " +
                           problem.system.name() + " has no host_link");
  SearchOptions options;
  options.top = arguments.top;
  options.memory =
      int64_t(double(problem.system.device().memory_bytes()) * (1 - margin));
  PlanSearch search(problem, {});
  SearchResult result = search.run(options);
  if (result.best.empty())
    return nothingFits(problem, search, options.memory);
  if (!arguments.whyNot.empty()) {
    HOCKET_ASSIGN_OR_RETURN(
        std::string answer,
        whyNot(problem, arguments.whyNot, options.memory, result.best[0]));
    std::cout << answer;
    return okStatus();
  }
  if (!arguments.output.empty())
    HOCKET_RETURN_IF_ERROR(writeFileAtomically(
        arguments.output,
        planText(arguments.request, problem, result.best[0])));
  if (!arguments.page.empty()) {
    std::vector<PricedPlan> front = search.paretoFront(options, frontSteps);
    std::vector<Neighbour> neighbours =
        neighboursOf(problem, result.best[0], options.memory);
    HOCKET_ASSIGN_OR_RETURN(std::string page,
                            planPage({problem, result, front, neighbours}));
    HOCKET_RETURN_IF_ERROR(writeFileAtomically(arguments.page, page));
  }
  if (arguments.json)
    printJson(
        searchJson(problem, result, search.paretoFront(options, frontSteps)));
  else
    printText(problem, result);
  return okStatus();
}

Status runDiff(const PlanArguments &arguments) {
  std::vector<std::vector<PriceItem>> items;
  for (const std::string &path : arguments.compared) {
    HOCKET_ASSIGN_OR_RETURN(std::vector<PriceItem> read, readPriceItems(path));
    items.push_back(std::move(read));
  }
  std::cout << differenceText(items[0], items[1]);
  return okStatus();
}

} // namespace

void hocket::registerPlan(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App *command =
      addCommand(app, "plan", "Find the fastest plan on a cluster");
  command->footer(planDetails);
  PlanRequest &request = arguments->request;
  command->add_option("SPEC", request.input,
                      "A specification, or a Hugging Face folder");
  command->add_option("--cluster", request.cluster, "The system to plan for")
      ->type_name("SYSTEM:DEVICES");
  command
      ->add_option("--set", request.overrides,
                   "Overrides a field of the spec; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--memory-margin", arguments->margin,
                   "The share of a device's memory to leave free")
      ->type_name("SHARE")
      ->capture_default_str();
  constexpr uint64_t mostPlans = 1000;
  wantWhole(
      command->add_option("--top", arguments->top, "How many plans to list"), 1,
      mostPlans)
      ->capture_default_str();
  wantPath(command->add_option("-o,--output", arguments->output,
                               "Write the best plan, for --plan of other "
                               "commands"))
      ->type_name("FILE");
  command
      ->add_option("--why-not", arguments->whyNot,
                   "Why a plan with these values is not the best, e.g. "
                   "tp=8,pp=16")
      ->type_name("PLAN");
  wantPath(command->add_option("--html", arguments->page,
                               "Write a page: the plan, its price, passes and "
                               "memory, and what was rejected"))
      ->type_name("FILE");
  command->add_flag("--offload", arguments->offload,
                    "Also consider plans that keep optimizer state or "
                    "activations in the host's memory. Programs cannot do "
                    "that yet, so such a plan is priced but not compiled");
  command->add_flag("--json", arguments->json, "Print JSON");
  CLI::App *diff =
      addCommand(*command, "diff",
                 "Compare the prices of two plans that -o wrote, item by item");
  diff->add_option("PLAN", arguments->compared, "Two plans")
      ->required()
      ->expected(2);
  diff->callback([arguments, &result] { result = runDiff(*arguments); });
  command->callback([arguments, diff, &result] {
    if (!diff->parsed())
      result = run(*arguments);
  });
}
