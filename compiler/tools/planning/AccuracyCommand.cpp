//===- AccuracyCommand.cpp - hocket accuracy ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/AccuracyCommand.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "compiler/tools/planning/CommandFiles.h"
#include "passes/planning/accuracy/AccuracyPlot.h"
#include "passes/planning/accuracy/FitConstants.h"
#include "runtime/cluster/Systems.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"

#include <google/protobuf/text_format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <memory>

using namespace hocket;
using namespace hocket::planning;

namespace {

struct AccuracyArguments {
  std::vector<std::string> files;
  std::string system, fit, constants, groups, plot;
  bool json = false, swapHalves = false;
  int64_t folds = 0; ///< 0: no cross-validation.
};

constexpr const char *accuracyDetails =
    R"(FILE is a comma-separated table of training runs with their times, in one of the
two layouts of docs/accuracy.md. Every row is predicted from its model, its plan
and the description of its system, without any tuning to the row.

Rows of a group alternate: the first, third, ... may be used for fitting, and the
others are held out. Rows that differ only in batch or release count as one. With
--fit, the constants of systems are fitted to the former, and their descriptions
are printed. SYSTEM+SYSTEM:NAME is a constant of these systems, RELEASE@NAME one
of software before a release.

Examples:
  hocket accuracy published.csv
  hocket accuracy measured.csv --svg measured.svg
  hocket accuracy runs.csv --fit h100 \
      --constants software.gemm,software.memory > my-h100.textproto
  hocket accuracy runs.csv --system my-h100.textproto
  hocket accuracy runs.csv --fit gb200,gb300 --cross-validate 5 \
      --constants software.memory,gb200:software.gemm)";

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

StatusOr<std::vector<ThroughputRow>>
readFiles(const AccuracyArguments &arguments) {
  std::vector<ThroughputRow> rows;
  std::vector<std::string> groups = splitAtCommas(arguments.groups);
  for (const std::string &file : arguments.files) {
    HOCKET_ASSIGN_OR_RETURN(std::vector<ThroughputRow> read,
                            parseFile(file, 64 << 20, readThroughput));
    for (ThroughputRow &row : read)
      if (groups.empty() || std::count(groups.begin(), groups.end(), row.group))
        rows.push_back(std::move(row));
  }
  if (rows.empty())
    return invalidArgument("no row is of the groups " + arguments.groups);
  return rows;
}

/// A description by its name or its path.
StatusOr<cluster::System> describedSystem(const std::string &name) {
  if (name.find_first_of("/.") == std::string::npos)
    return cluster::systemNamed(name);
  return parseFile(name, 1 << 20, cluster::parseSystem);
}

const char *unitOf(Quantity quantity) {
  switch (quantity) {
  case Quantity::Seconds:
    return " s";
  case Quantity::Gibibytes:
    return " GiB";
  case Quantity::Percent:
    return " %";
  }
  return "";
}

std::string shownShare(double share) {
  return formatSigned(100 * share, 1) + "%";
}

std::vector<std::string> cellsOf(const RowPrediction &row) {
  std::string line = std::to_string(row.row.line);
  if (!row.skipped.empty())
    return {
        line, row.row.label, "", "", "", "", "not predicted: " + row.skipped};
  const char *unit = unitOf(row.row.quantity);
  std::string spread =
      row.spread > 0 ? formatText("%.1f%%", 100 * row.spread) : "";
  return {line,
          row.row.label,
          formatText("%.4g%s", row.row.measured, unit),
          formatText("%.4g%s", row.predicted, unit),
          spread,
          shownShare(row.error()),
          row.heldOut ? "held out" : "fitted"};
}

/// Halves of a group, and both together.
struct Half {
  const char *name;
  std::function<bool(bool)> wanted;
};

const Half halves[] = {{"fitted", [](bool heldOut) { return !heldOut; }},
                       {"held out", [](bool heldOut) { return heldOut; }},
                       {"all", [](bool) { return true; }}};

ErrorStatistics statisticsOfHalf(const std::vector<RowPrediction> &rows,
                                 const std::string &group, const Half &half) {
  return statisticsOf(rows, [&](const RowPrediction &row) {
    return (group.empty() || row.row.group == group) &&
           half.wanted(row.heldOut);
  });
}

void printText(const std::vector<RowPrediction> &rows) {
  std::vector<std::vector<std::string>> cells;
  for (const RowPrediction &row : rows)
    cells.push_back(cellsOf(row));
  std::cout << formatTable({">line", "run", ">measured", ">predicted", ">+/-",
                            ">error", "half"},
                           cells)
            << "\n";
  std::vector<std::vector<std::string>> summary;
  for (const std::string &group : groupsOf(rows))
    for (const Half &half : halves) {
      ErrorStatistics of = statisticsOfHalf(rows, group, half);
      if (of.rows > 0)
        summary.push_back({group, half.name, std::to_string(of.rows),
                           formatText("%.1f%%", 100 * of.mean),
                           formatText("%.1f%%", 100 * of.median),
                           shownShare(of.bias), shownShare(of.worst)});
    }
  std::cout << formatTable(
      {"group", "half", ">rows", ">mean", ">median", ">bias", ">worst"},
      summary);
}

nlohmann::json accuracyJson(const ErrorStatistics &statistics) {
  return {{"rows", statistics.rows},
          {"mean", statistics.mean},
          {"median", statistics.median},
          {"bias", statistics.bias},
          {"worst", statistics.worst}};
}

nlohmann::json accuracyJson(const RowPrediction &row) {
  nlohmann::json json = {
      {"line", row.row.line}, {"group", row.row.group}, {"run", row.row.label}};
  if (!row.skipped.empty()) {
    json["skipped"] = row.skipped;
    return json;
  }
  json["unit"] = std::string(unitOf(row.row.quantity)).substr(1);
  json["plan"] = printPlan(row.row.plan);
  json["measured"] = row.row.measured;
  json["predicted"] = row.predicted;
  json["spread"] = row.spread;
  json["error"] = row.error();
  json["held_out"] = row.heldOut;
  json["release"] = row.row.release;
  json["devices"] = row.row.problem.devices;
  for (size_t item = 0; item < kTimeItems; ++item)
    if (row.items[item] != 0)
      json["seconds"][std::string(spelled(TimeItem(item)))] =
          double(row.items[item]) * 1e-9;
  return json;
}

void printReport(const std::vector<RowPrediction> &rows) {
  nlohmann::json all = nlohmann::json::array(), groups;
  for (const RowPrediction &row : rows)
    all.push_back(accuracyJson(row));
  for (const std::string &group : groupsOf(rows))
    for (const Half &half : halves)
      groups[group][half.name] =
          accuracyJson(statisticsOfHalf(rows, group, half));
  nlohmann::json report = accuracyJson(statisticsOfHalf(rows, "", halves[2]));
  report["groups"] = groups;
  report["predictions"] = all;
  printJson(report);
}

void printPredictions(const AccuracyArguments &arguments,
                      const std::vector<RowPrediction> &predictions) {
  if (arguments.json)
    printReport(predictions);
  else
    printText(predictions);
}

Status fit(const AccuracyArguments &arguments,
           const std::vector<ThroughputRow> &rows) {
  std::vector<cluster::System> starts;
  for (const std::string &name : splitAtCommas(arguments.fit)) {
    HOCKET_ASSIGN_OR_RETURN(cluster::System start, describedSystem(name));
    starts.push_back(std::move(start));
  }
  FitOptions options;
  options.constants = arguments.constants.empty()
                          ? fittedConstants()
                          : splitAtCommas(arguments.constants);
  options.heldOut = arguments.swapHalves ? 0 : 1;
  if (arguments.folds > 0) {
    options.folds = arguments.folds;
    HOCKET_ASSIGN_OR_RETURN(std::vector<RowPrediction> predictions,
                            crossValidate(starts, rows, options));
    printPredictions(arguments, predictions);
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(FitResult result,
                          fitFromPoints(starts, rows, options));
  std::cout << "# Mean |log(predicted / measured)| of groups: fitted "
            << formatText("%.4f, held out %.4f\n", result.fitted,
                          result.heldOut);
  for (const cluster::System &system : result.systems) {
    std::string text;
    google::protobuf::TextFormat::PrintToString(system, &text);
    std::cout << text;
  }
  return okStatus();
}

Status run(const AccuracyArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(std::vector<ThroughputRow> rows,
                          readFiles(arguments));
  if (!arguments.fit.empty())
    return fit(arguments, rows);
  SystemSource source = cluster::systemNamed;
  if (!arguments.system.empty()) {
    HOCKET_ASSIGN_OR_RETURN(cluster::System given,
                            describedSystem(arguments.system));
    source = [given](const std::string &name) -> StatusOr<cluster::System> {
      return name == given.name() ? given : cluster::systemNamed(name);
    };
  }
  std::vector<RowPrediction> predictions = predictRows(rows, source);
  if (!arguments.plot.empty())
    HOCKET_RETURN_IF_ERROR(
        writeFileAtomically(arguments.plot, plotAccuracy(predictions)));
  printPredictions(arguments, predictions);
  return okStatus();
}

} // namespace

void hocket::registerAccuracy(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<AccuracyArguments>();
  CLI::App *command = addCommand(
      app, "accuracy", "Compare predictions with runs whose times are known");
  command->footer(accuracyDetails);
  command->add_option("FILE", arguments->files, "Tables of runs")->required();
  command->add_flag("--json", arguments->json, "Print JSON");
  wantPath(command->add_option("--svg", arguments->plot,
                               "Draw predicted against measured times into "
                               "this file"))
      ->type_name("FILE");
  command
      ->add_option("--system", arguments->system,
                   "A description to use for the system of its name")
      ->type_name("FILE");
  command
      ->add_option("--groups", arguments->groups,
                   "Only rows of these groups, separated by commas")
      ->type_name("NAMES");
  constexpr const char *fitOptions = "Options to fit constants";
  command
      ->add_option("--fit", arguments->fit,
                   "Fit constants of these systems to the first half of rows "
                   "and print their descriptions")
      ->type_name("SYSTEMS")
      ->group(fitOptions);
  command
      ->add_option("--constants", arguments->constants,
                   "With --fit: which, separated by commas; default: all")
      ->type_name("NAMES")
      ->group(fitOptions);
  command
      ->add_flag("--swap-halves", arguments->swapHalves,
                 "With --fit: fit to the half that is held out")
      ->group(fitOptions);
  wantWhole(command->add_option("--cross-validate", arguments->folds,
                                "With --fit: fit without each of so many parts "
                                "of the rows, and predict that"),
            2, 100)
      ->type_name("PARTS")
      ->group(fitOptions);
  command->callback([arguments, &result] { result = run(*arguments); });
}
