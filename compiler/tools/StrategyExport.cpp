//===- StrategyExport.cpp - hocket strategy export ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/StrategyExport.h"

#include "compiler/driver/Compile.h"
#include "compiler/tools/CompileCommand.h"
#include "compiler/tools/Registration.h"
#include "passes/dist/strategies/ExportStrategies.h"
#include "passes/planning/strategy/StrategyText.h"
#include "runtime/base/File.h"

#include "mlir/Parser/Parser.h"

#include <charconv>
#include <iostream>
#include <memory>
#include <set>

using namespace hocket;

namespace {

struct Arguments {
  CompileRequest request;
  std::string axes, cluster, output;
};

constexpr const char *details =
    R"(SPEC is a specification (textproto), a Hugging Face folder with config.json, or
xf IR (.mlir). Its forward and backward pass over one microbatch become the ops
whose strategies are chosen, its own plan counts for nothing.

Examples:
  hocket strategy export examples/gpt2-124m --axes data=2,model=4 \
      --cluster h100:8 -o problem.json
  hocket strategy solve problem.json -o choice.json)";

Status axesError(const std::string &text) {
  return invalidArgument("--axes " + text +
                         ": write different names with sizes, the slowest "
                         "first: data=2,model=4");
}

using AxisList = std::vector<std::pair<std::string, int64_t>>;

StatusOr<AxisList> parseAxes(const std::string &text) {
  AxisList axes;
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

StatusOr<dist::StrategyExport> optionsOf(const Arguments &arguments) {
  dist::StrategyExport options;
  HOCKET_ASSIGN_OR_RETURN(options.axes, parseAxes(arguments.axes));
  HOCKET_ASSIGN_OR_RETURN(options.cluster,
                          planning::readCluster(arguments.cluster));
  double devices = 1;
  for (const auto &[name, size] : options.axes)
    devices *= double(size);
  if (devices != double(options.cluster.devices))
    return invalidArgument("--axes " + arguments.axes + " are not the " +
                           std::to_string(options.cluster.devices) +
                           " devices of --cluster " + arguments.cluster);
  options.memory = options.cluster.system.device().memory_bytes();
  return options;
}

Status run(const Arguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(dist::StrategyExport options, optionsOf(arguments));
  CompileRequest request = arguments.request;
  request.to = Level::Xf;
  HOCKET_ASSIGN_OR_RETURN(CompileResult compiled, compile(request));
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(compiled.text, &context);
  if (!module)
    return internalError(request.input + ": its xf IR cannot be read again");
  StatusOr<planning::StrategyProblem> problem =
      dist::exportStrategies(*module, options);
  if (!problem.ok())
    return problem.status().withContext(request.input);
  problem->name = request.input;
  HOCKET_RETURN_IF_ERROR(planning::checkStrategyProblem(*problem));
  std::string text = planning::writtenStrategyProblem(*problem);
  if (arguments.output.empty()) {
    std::cout << text;
    return okStatus();
  }
  HOCKET_RETURN_IF_ERROR(writeFileAtomically(arguments.output, text));
  std::cout << "wrote " << arguments.output << ": " << problem->nodes.size()
            << " nodes, " << problem->edges.size() << " edges\n";
  return okStatus();
}

} // namespace

void hocket::registerStrategyExport(CLI::App &strategy, Status &result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = strategy.add_subcommand(
      "export", "Write the strategies of a program's ops as a problem");
  command->footer(details);
  command
      ->add_option("SPEC", arguments->request.input,
                   "A specification, a Hugging Face folder or .mlir")
      ->required();
  command
      ->add_option("--axes", arguments->axes,
                   "The mesh, the slowest axis first: data=2,model=4")
      ->required();
  command
      ->add_option("--cluster", arguments->cluster,
                   "What times and memory are those of: h100:8")
      ->required();
  addSpecOptions(*command, arguments->request.spec);
  command->add_option("-o,--output", arguments->output,
                      "The problem; without it, printed");
  command->callback([arguments, &result] { result = run(*arguments); });
}
