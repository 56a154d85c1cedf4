//===- StrategyExport.cpp - hocket strategy export ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/StrategyExport.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/Quantity.h"
#include "compiler/driver/ExportProblem.h"
#include "compiler/tools/SpecOptions.h"
#include "passes/planning/strategy/StrategyText.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OutputFile.h"

#include <charconv>
#include <iostream>
#include <memory>
#include <set>

using namespace hocket;

namespace {

struct StrategyExportArguments {
  CompileRequest request;
  std::string axes, cluster, output;
};

constexpr const char *exportDetails =
    R"(SPEC is a specification (textproto), a Hugging Face folder with config.json, or
xf IR (.mlir). Its forward and backward pass over one microbatch become the ops
whose strategies are chosen. The mesh is that of --mesh, with the axes dp and
tp; `hocket compile --shardings` can compile the choice. With --axes it is any mesh,
for a bound: every call of an op chooses by itself, and the choice is not compiled.

Examples:
  hocket strategy export examples/gpt2-124m/spec.textproto --mesh dp=2,tp=4 \
      --cluster h100:8 -o problem.json
  hocket strategy solve problem.json --shardings chosen.txt
  hocket compile examples/gpt2-124m/spec.textproto --mesh dp=2,tp=4 \
      --shardings chosen.txt -o gpt2.hkx)";

Status axesError(const std::string &text) {
  return invalidArgument("--axes " + text +
                         ": write different names with sizes, the slowest "
                         "first: data=2,model=4");
}

StatusOr<planning::MeshSizes> parseAxes(const std::string &text) {
  planning::MeshSizes axes;
  std::set<std::string> names;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, comma - at);
    at = comma + 1;
    size_t equals = part.find('=');
    int64_t size = 0;
    const char *end = part.data() + part.size();
    if (equals == 0 || equals == std::string::npos ||
        !names.insert(part.substr(0, equals)).second)
      return axesError(text);
    auto read = std::from_chars(part.data() + equals + 1, end, size);
    if (read.ec != std::errc() || read.ptr != end || size < 2 ||
        size > (int64_t{1} << 20))
      return axesError(text);
    axes.emplace_back(part.substr(0, equals), size);
  }
  return axes;
}

StatusOr<dist::StrategyExport>
optionsOf(const StrategyExportArguments &arguments) {
  dist::StrategyExport options;
  if (!arguments.axes.empty()) {
    HOCKET_ASSIGN_OR_RETURN(options.axes, parseAxes(arguments.axes));
  }
  HOCKET_ASSIGN_OR_RETURN(options.cluster,
                          cluster::readCluster(arguments.cluster));
  return options;
}

Status run(const StrategyExportArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(dist::StrategyExport options, optionsOf(arguments));
  HOCKET_ASSIGN_OR_RETURN(planning::StrategyProblem problem,
                          exportProblem(arguments.request, std::move(options)));
  std::string text = planning::writtenStrategyProblem(problem);
  if (arguments.output.empty() || isStandardOutput(arguments.output))
    return writeOutput("-", text);
  HOCKET_RETURN_IF_ERROR(writeFileAtomically(arguments.output, text));
  std::cout << "wrote " << arguments.output << ": "
            << formatNoun(problem.nodes.size(), "node") << ", "
            << formatNoun(problem.edges.size(), "edge") << "\n";
  return okStatus();
}

} // namespace

void hocket::registerStrategyExport(CLI::App &strategy, Status &result) {
  auto arguments = std::make_shared<StrategyExportArguments>();
  CLI::App *command =
      addCommand(strategy, "export",
                 "Write the strategies of a program's ops as a problem");
  command->footer(exportDetails);
  command
      ->add_option("SPEC", arguments->request.input,
                   "A specification, a Hugging Face folder or .mlir")
      ->required();
  command
      ->add_option("--axes", arguments->axes,
                   "Any mesh, the slowest axis first: data=2,model=4; "
                   "default: the plan's mesh, for which choices can be "
                   "compiled")
      ->type_name("AXES");
  command
      ->add_option("--cluster", arguments->cluster,
                   "The system whose times and memory are used: h100:8")
      ->type_name("SYSTEM:DEVICES")
      ->required();
  addSpecOptions(*command, arguments->request.spec);
  command
      ->add_option("-o,--output", arguments->output,
                   "The problem; without it, printed")
      ->type_name("FILE");
  command->callback([arguments, &result] { result = run(*arguments); });
}
