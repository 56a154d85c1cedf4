//===- StrategyCommand.cpp - hocket strategy ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/StrategyCommand.h"

#include "compiler/tools/planning/CommandFiles.h"
#include "passes/planning/strategy/ChosenSplits.h"
#include "passes/planning/strategy/StrategySolve.h"
#include "passes/planning/strategy/StrategyText.h"
#include "passes/planning/strategy/StrategyValidator.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr uint64_t kMostStrategyFileBytes = uint64_t{256} << 20;

struct StrategyArguments {
  std::string file, choice, output, shardings;
  double seconds = 0;
  StrategyAlgorithm algorithm = StrategyAlgorithm::Exact;
  bool json = false, nodes = false;
};

StatusOr<StrategyProblem> readProblem(const std::string &file) {
  return parseFile(file, kMostStrategyFileBytes, readStrategyProblem);
}

void print(const StrategyPlan &plan, const StrategyVerdict &verdict,
           bool asJson) {
  if (asJson) {
    nlohmann::ordered_json json = {{"cost", plan.cost},
                                   {"bound", plan.bound},
                                   {"gap", plan.gap()},
                                   {"peak", verdict.peak},
                                   {"choice", plan.choice}};
    return printJson(json);
  }
  constexpr double percent = 100;
  std::cout << "cost         " << plan.cost << "\nlower bound  " << plan.bound
            << "\ngap          " << std::fixed << std::setprecision(2)
            << plan.gap() * percent << " %\npeak usage   " << verdict.peak
            << "\n";
}

/// For `hocket compile`, which reads the same text.
Status writeShardings(const StrategyArguments &arguments,
                      const StrategyProblem &problem,
                      const StrategyChoice &choice) {
  if (arguments.shardings.empty())
    return okStatus();
  StatusOr<std::string> text = writtenChosenSplits(problem, choice);
  Status readable = text.ok()
                        ? readChosenSplits(arguments.shardings, *text).status()
                        : text.status();
  if (!readable.ok())
    return readable.withContext(arguments.file);
  return writeIfAsked(arguments.shardings, *text);
}

Status solve(const StrategyArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(StrategyProblem problem, readProblem(arguments.file));
  StrategyOptions options;
  options.algorithm = arguments.algorithm;
  auto end = std::chrono::steady_clock::now() +
             std::chrono::duration<double>(arguments.seconds);
  if (arguments.seconds > 0)
    options.expired = [end] { return std::chrono::steady_clock::now() > end; };
  StrategyPlan plan = solveStrategies(problem, options);
  StatusOr<StrategyVerdict> verdict = validateStrategies(problem, plan.choice);
  if (!plan.fits)
    return resourceExhausted(
        arguments.file + ": does not fit: " +
        (plan.isFinal ? "there is no choice that does"
                      : "the nearest choice: " + verdict.status().message() +
                            "; a longer search may find one that does"));
  if (!verdict.ok() || verdict->cost != plan.cost)
    return internalError(arguments.file + ": the choice found does not pass "
                                          "its validator");
  HOCKET_RETURN_IF_ERROR(writeShardings(arguments, problem, plan.choice));
  print(plan, *verdict, arguments.json);
  return writeIfAsked(arguments.output, writtenStrategyChoice(plan.choice));
}

/// What each node has taken, by its words where it has some.
void printNodes(const StrategyProblem &problem, const StrategyChoice &choice) {
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const StrategyNode &node = problem.nodes[i];
    auto taken = size_t(choice[i]);
    std::cout << (node.name.empty() ? "node " + std::to_string(i) : node.name)
              << " from " << node.begin << " to " << node.end << ": "
              << (node.labels.empty() ? "strategy " + std::to_string(taken)
                                      : node.labels[taken])
              << ", cost " << node.costs[taken] << ", usage "
              << node.usages[taken] << "\n";
  }
}

Status check(const StrategyArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(StrategyProblem problem, readProblem(arguments.file));
  HOCKET_ASSIGN_OR_RETURN(
      StrategyChoice choice,
      parseFile(arguments.choice, kMostStrategyFileBytes, readStrategyChoice));
  StatusOr<StrategyVerdict> verdict = validateStrategies(problem, choice);
  if (!verdict.ok())
    return verdict.status().withContext(arguments.choice);
  std::cout << "cost         " << verdict->cost << "\npeak usage   "
            << verdict->peak << "\n";
  if (arguments.nodes)
    printNodes(problem, choice);
  return writeShardings(arguments, problem, choice);
}

void registerSolve(CLI::App &strategy, Status &result) {
  auto arguments = std::make_shared<StrategyArguments>();
  CLI::App *command =
      addCommand(strategy, "solve", "Find the cheapest strategies that fit");
  command->footer("Example:\n  hocket strategy solve problem.json --seconds 10 "
                  "-o choice.json");
  command
      ->add_option("FILE", arguments->file,
                   "A problem, as the contest IOPDDL writes them")
      ->required();
  wantNumber(command->add_option("--seconds", arguments->seconds,
                                 "Search this long, or until the choice is "
                                 "proved to be the cheapest; 0: a fixed "
                                 "number of steps, the same everywhere"),
             0, kMostSearchSeconds)
      ->type_name("SECONDS")
      ->capture_default_str();
  addChoice<StrategyAlgorithm>(
      *command, "--algorithm", arguments->algorithm,
      {{"greedy", StrategyAlgorithm::Greedy},
       {"search", StrategyAlgorithm::Search},
       {"exact", StrategyAlgorithm::Exact}},
      "greedy, search (from there) or exact (after both)");
  command->add_flag("--json", arguments->json, "Print JSON");
  wantPath(command->add_option("-o,--output", arguments->output,
                               "The index of each node's strategy"))
      ->type_name("FILE");
  wantPath(command->add_option("--shardings", arguments->shardings,
                               "The same in words, of a problem that was "
                               "exported with --mesh: what compile --shardings "
                               "takes"))
      ->type_name("FILE");
  command->callback([arguments, &result] { result = solve(*arguments); });
}

void registerCheck(CLI::App &strategy, Status &result) {
  auto arguments = std::make_shared<StrategyArguments>();
  CLI::App *command = addCommand(
      strategy, "check", "Print what a choice costs, and whether it fits");
  command->footer("Example:\n  hocket strategy check problem.json choice.json");
  command->add_option("FILE", arguments->file, "A problem")->required();
  command->add_option("CHOICE", arguments->choice, "What `solve` writes")
      ->required();
  command->add_flag("--nodes", arguments->nodes,
                    "Also print the strategy of each node");
  wantPath(command->add_option("--shardings", arguments->shardings,
                               "Write it in words, as solve does"))
      ->type_name("FILE");
  command->callback([arguments, &result] { result = check(*arguments); });
}

} // namespace

CLI::App *hocket::registerStrategy(CLI::App &app, Status &result) {
  CLI::App *strategy = addCommand(
      app, "strategy", "Choose how each op is sharded, at the least cost");
  strategy->require_subcommand(1);
  registerSolve(*strategy, result);
  registerCheck(*strategy, result);
  return strategy;
}
