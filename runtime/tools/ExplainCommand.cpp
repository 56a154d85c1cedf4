//===- ExplainCommand.cpp - `hocket explain` ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/ExplainCommand.h"

#include "base/json/JsonLines.h"
#include "runtime/program/file/ProgramFile.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/reports/ExplainReport.h"
#include "runtime/tools/reports/RuleText.h"

#include <filesystem>
#include <iostream>
#include <memory>

using namespace hocket;

namespace {
struct ExplainArguments {
  std::string path, name;
  bool json = false;
};
} // namespace

static Status listNames(const program::Program &program, bool json) {
  std::vector<std::string> names = explainableNames(program);
  if (json)
    std::cout << toJsonText({{"names", names}}, 2) << "\n";
  else
    for (const std::string &name : names)
      std::cout << name << "\n";
  return okStatus();
}

/// What a numbered rule means: `hocket explain S22`.
static Status explainRule(const ExplainArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(Rule rule, findRule(arguments.path));
  if (arguments.json)
    std::cout << toJsonText({{"rule", rule.number},
                             {"of", rule.title},
                             {"text", rule.text},
                             {"example", rule.example},
                             {"advice", rule.advice}},
                            2)
              << "\n";
  else
    std::cout << ruleText(rule);
  return okStatus();
}

static Status run(const ExplainArguments &arguments) {
  std::error_code error;
  if (isRuleNumber(arguments.path) && arguments.name.empty() &&
      !std::filesystem::exists(arguments.path, error))
    return explainRule(arguments);
  HOCKET_ASSIGN_OR_RETURN(program::Program program,
                          readProgram(arguments.path));
  if (arguments.name.empty())
    return listNames(program, arguments.json);
  auto explanation = explain(program, arguments.name);
  if (!explanation.ok())
    return explanation.status().withContext(arguments.path);
  if (arguments.json)
    std::cout << toJsonText(*explanation, 2) << "\n";
  else
    std::cout << explanationTextOf(*explanation);
  return okStatus();
}

void hocket::registerExplain(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App *command =
      addCommand(app, "explain",
                 "Explain why a tensor is sharded as it is, what made a "
                 "collective necessary, or what a rule of an error means");
  command
      ->add_option("FILE", arguments->path,
                   "An executable (.hkx); or the number of a rule, as "
                   "errors quote it (S22)")
      ->required();
  command->add_option(
      "NAME", arguments->name,
      "A tensor, a kind of collective (all_gather), send, a group (tp) or an\n"
      "instruction (forward_0:12). Without it, all names are listed");
  command->add_flag("--json", arguments->json, "As JSON");
  command->footer("Example:\n  hocket explain S22\n  hocket explain model.hkx "
                  "layers.3.attention.q.weight\n  hocket explain model.hkx "
                  "reduce_scatter\n  hocket explain model.hkx pp\n  hocket "
                  "explain model.hkx backward_0:17 --json");
  command->callback([arguments, &result] { result = run(*arguments); });
}
