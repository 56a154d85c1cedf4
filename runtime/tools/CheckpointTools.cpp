//===- CheckpointTools.cpp - `hocket checkpoint inspect` etc. -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/CheckpointTools.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "base/json/JsonLines.h"
#include "runtime/checkpoint/Compare.h"
#include "runtime/checkpoint/Reshard.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/ProgressLine.h"

#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;
using checkpoint::Checkpoint;
using checkpoint::TensorSpec;
using nlohmann::ordered_json;

namespace {

struct CheckpointToolArguments {
  std::string path, other, output;
  bool json = false, statistics = false, spec = false, weightsOnly = false;
  unsigned shards = 1;
  double tolerance = 0;
};

//===----------------------------------------------------------------------===//
// What several of them need
//===----------------------------------------------------------------------===//

uint64_t bytesOf(const TensorSpec &spec) {
  return *checkpoint::tensorBytes(spec.shape, spec.type);
}

uint64_t elementsOf(const TensorSpec &spec) {
  return bytesOf(spec) / elementBytes(spec.type);
}

/// Shows how far the reading of `total` bytes is.
class ReadingLine {
public:
  explicit ReadingLine(uint64_t total) : total(total) {}
  ~ReadingLine() { line.clear(); }

  checkpoint::ReadProgress progress() {
    return [this](uint64_t bytes) {
      done += bytes;
      line.show([this](double seconds) {
        return describeRate(done, total, seconds);
      });
    };
  }

private:
  uint64_t total, done = 0;
  ProgressLine line;
};

uint64_t bytesOf(const Checkpoint &checkpoint, bool slots) {
  uint64_t bytes = 0;
  for (const TensorSpec &spec : checkpoint.tensors())
    if (slots || spec.key.slot.empty())
      bytes += bytesOf(spec);
  return bytes;
}

StatusOr<Checkpoint> openQuickly(const std::string &path) {
  return Checkpoint::open(path, {.verifyDigests = false});
}

//===----------------------------------------------------------------------===//
// inspect
//===----------------------------------------------------------------------===//

ordered_json jsonOf(const checkpoint::TensorStatistics &values) {
  return {{"elements", values.elements}, {"not_finite", values.notFinite},
          {"minimum", values.minimum},   {"maximum", values.maximum},
          {"mean", values.mean},         {"rms", values.rms}};
}

/// Of the state, as people read it: a line.
std::string stateText(const checkpoint::RunState &state) {
  std::string text = formatText(
      "step %llu, %s of training, seed %llu", wide(state.step),
      formatNoun(state.consumedSamples, "sample").c_str(), wide(state.seed));
  if (state.lossScale)
    text += formatText(", loss scale %g since %s", state.lossScale->scale,
                       formatNoun(state.lossScale->goodSteps, "step").c_str());
  return text;
}

ordered_json jsonOf(const checkpoint::RunState &state) {
  ordered_json object = {{"step", state.step},
                         {"consumed_samples", state.consumedSamples},
                         {"seed", state.seed}};
  if (state.lossScale)
    object["loss_scale"] = {{"scale", state.lossScale->scale},
                            {"good_steps", state.lossScale->goodSteps}};
  return object;
}

/// A row of the table of tensors, and what JSON says of it.
struct TensorLine {
  std::vector<std::string> cells;
  ordered_json object;
};

StatusOr<TensorLine> lineOf(const Checkpoint &checkpoint,
                            const TensorSpec &spec, bool statistics,
                            const checkpoint::ReadProgress &progress) {
  TensorLine line;
  std::string type(elementName(spec.type));
  line.cells = {spec.key.text(), type, checkpoint::shapeText(spec.shape),
                formatBytes(bytesOf(spec))};
  line.object = {{"name", spec.key.name},
                 {"slot", spec.key.slot},
                 {"dtype", type},
                 {"shape", spec.shape},
                 {"bytes", bytesOf(spec)}};
  if (!statistics)
    return line;
  HOCKET_ASSIGN_OR_RETURN(auto values,
                          statisticsOf(checkpoint, spec, progress));
  if (!values) { // Not of floats.
    line.cells.insert(line.cells.end(), 5, "");
    return line;
  }
  line.object["values"] = jsonOf(*values);
  for (double value :
       {values->minimum, values->maximum, values->mean, values->rms})
    line.cells.push_back(formatText("%.4g", value));
  line.cells.push_back(formatGrouped(values->notFinite));
  return line;
}

void printHead(const Checkpoint &checkpoint) {
  uint64_t parameters = 0;
  for (const TensorSpec &spec : checkpoint.tensors())
    if (spec.key.slot.empty())
      parameters += elementsOf(spec);
  uint64_t weights = bytesOf(checkpoint, false);
  uint64_t others = bytesOf(checkpoint, true) - weights;
  std::cout << checkpoint.path() << ": " << stateText(checkpoint.state())
            << "\n"
            << formatCount(double(parameters)) << " parameters, "
            << formatBytes(weights) << " of weights, "
            << (others ? formatBytes(others) + " of optimizer state"
                       : "no optimizer state")
            << ", in " << formatNoun(checkpoint.safetensors().size(), "file")
            << "\n";
}

Status runInspect(const CheckpointToolArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(Checkpoint checkpoint, openQuickly(arguments.path));
  if (arguments.spec) {
    std::cout << checkpoint.state().specText;
    return okStatus();
  }
  std::vector<std::vector<std::string>> rows;
  ordered_json tensors = ordered_json::array();
  {
    ReadingLine reading(bytesOf(checkpoint, true));
    for (const TensorSpec &spec : checkpoint.tensors()) {
      HOCKET_ASSIGN_OR_RETURN(
          TensorLine line,
          lineOf(checkpoint, spec, arguments.statistics, reading.progress()));
      rows.push_back(std::move(line.cells));
      tensors.push_back(std::move(line.object));
    }
  }
  if (arguments.json) {
    ordered_json object = {{"path", checkpoint.path()}};
    object.update(jsonOf(checkpoint.state()));
    for (const checkpoint::SafetensorsFile &file : checkpoint.safetensors())
      object["files"].push_back(
          std::filesystem::path(file.path()).filename().string());
    object["tensors"] = std::move(tensors);
    std::cout << toJsonText(object) << "\n";
    return okStatus();
  }
  printHead(checkpoint);
  std::vector<std::string> header = {"tensor", "type", "shape", ">bytes"};
  if (arguments.statistics)
    header.insert(header.end(),
                  {">minimum", ">maximum", ">mean", ">rms", ">not finite"});
  std::cout << "\n" << formatTable(header, rows);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// verify
//===----------------------------------------------------------------------===//

Status runVerify(const CheckpointToolArguments &arguments) {
  auto opened = Checkpoint::open(arguments.path);
  if (!opened.ok() && opened.status().code() != StatusCode::DataLoss)
    return opened.status();
  std::string reason = opened.ok() ? "" : opened.status().message();
  if (arguments.json)
    std::cout << toJsonText({{"path", arguments.path},
                             {"sound", opened.ok()},
                             {"reason", reason}})
              << "\n";
  if (!opened.ok())
    return failedPrecondition(reason);
  if (!arguments.json)
    std::cout << opened->path()
              << ": sound: " << formatNoun(opened->tensors().size(), "tensor")
              << ", " << formatBytes(bytesOf(*opened, true)) << " in "
              << formatNoun(opened->safetensors().size(), "file") << "\n";
  return okStatus();
}

//===----------------------------------------------------------------------===//
// diff
//===----------------------------------------------------------------------===//

ordered_json jsonOf(const checkpoint::TensorDifference &difference) {
  ordered_json relative = difference.relative;
  if (std::isinf(difference.relative))
    relative = nullptr;
  return {{"tensor", difference.key.text()},
          {"elements", difference.elements},
          {"unequal", difference.unequal},
          {"largest", difference.largest},
          {"relative", relative}};
}

void printComparison(const CheckpointToolArguments &arguments,
                     const checkpoint::Comparison &found) {
  if (arguments.json) {
    ordered_json object = {{"equal", found.equal},
                           {"mismatches", found.mismatches},
                           {"different", ordered_json::array()}};
    for (const checkpoint::TensorDifference &difference : found.different)
      object["different"].push_back(jsonOf(difference));
    std::cout << toJsonText(object) << "\n";
    return;
  }
  for (const std::string &mismatch : found.mismatches)
    std::cout << mismatch << "\n";
  std::vector<std::vector<std::string>> rows;
  for (const checkpoint::TensorDifference &difference : found.different)
    rows.push_back({difference.key.text(),
                    formatGrouped(difference.unequal) + " of " +
                        formatGrouped(difference.elements),
                    formatText("%.3g", difference.largest),
                    std::isinf(difference.relative)
                        ? "-"
                        : formatText("%.3g", difference.relative)});
  if (!rows.empty())
    std::cout << formatTable(
        {"tensor", ">unequal", ">largest", ">relative norm"}, rows);
  std::cout << formatNoun(found.equal, "tensor") << " equal, "
            << formatGrouped(found.different.size()) << " different, "
            << formatGrouped(found.mismatches.size())
            << " without a counterpart\n";
}

Status runDiff(const CheckpointToolArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(Checkpoint a, openQuickly(arguments.path));
  HOCKET_ASSIGN_OR_RETURN(Checkpoint b, openQuickly(arguments.other));
  checkpoint::Comparison found;
  {
    bool slots = !arguments.weightsOnly;
    ReadingLine reading(bytesOf(a, slots));
    HOCKET_ASSIGN_OR_RETURN(found, compare(a, b, slots, reading.progress()));
  }
  printComparison(arguments, found);
  uint64_t far = 0;
  for (const checkpoint::TensorDifference &difference : found.different)
    far += arguments.tolerance == 0 ||
           !(difference.relative <= arguments.tolerance);
  if (found.mismatches.empty() && far == 0)
    return okStatus();
  return failedPrecondition(
      arguments.path + " and " + arguments.other + " differ" +
      (arguments.tolerance > 0
           ? formatText(" by more than %g", arguments.tolerance)
           : ""));
}

//===----------------------------------------------------------------------===//
// merge, reshard
//===----------------------------------------------------------------------===//

Status runReshard(const CheckpointToolArguments &arguments) {
  // What is copied is checked first.
  HOCKET_ASSIGN_OR_RETURN(Checkpoint from, Checkpoint::open(arguments.path));
  checkpoint::ReshardOptions options{arguments.shards, !arguments.weightsOnly};
  uint64_t bytes = bytesOf(from, options.slots);
  {
    ReadingLine reading(bytes);
    HOCKET_RETURN_IF_ERROR(
        reshard(from, arguments.output, options, reading.progress()));
  }
  HOCKET_ASSIGN_OR_RETURN(Checkpoint written, openQuickly(arguments.output));
  std::cout << written.path() << ": "
            << formatNoun(written.tensors().size(), "tensor") << ", "
            << formatBytes(bytes) << " in "
            << formatNoun(written.safetensors().size(), "file") << "\n";
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Their options
//===----------------------------------------------------------------------===//

constexpr char kWhich[] = "A checkpoint (its latest iteration), or one "
                          "iteration of it";

CLI::App *addTool(CLI::App &checkpoint, const char *name, const char *text,
                  const std::shared_ptr<CheckpointToolArguments> &arguments,
                  Status &result,
                  Status (*run)(const CheckpointToolArguments &)) {
  CLI::App *command = addCommand(checkpoint, name, text);
  command->add_option("DIR", arguments->path, kWhich)->required();
  command->callback([arguments, &result, run] { result = run(*arguments); });
  return command;
}

void addJson(CLI::App &command, CheckpointToolArguments &arguments) {
  command.add_flag("--json", arguments.json, "Print the result as JSON");
}

void addOutput(CLI::App &command, CheckpointToolArguments &arguments) {
  wantPath(command.add_option("-o,--output", arguments.output,
                              "The folder to write"))
      ->type_name("DIR")
      ->required();
  command.add_flag("--weights-only", arguments.weightsOnly,
                   "Leave out the optimizer's state");
}

} // namespace

void hocket::registerCheckpointTools(CLI::App &checkpoint, Status &result) {
  auto inspected = std::make_shared<CheckpointToolArguments>();
  CLI::App *command =
      addTool(checkpoint, "inspect", "Show what a checkpoint holds", inspected,
              result, runInspect);
  addJson(*command, *inspected);
  command->add_flag("--stats", inspected->statistics,
                    "Read every tensor: minimum, maximum, mean, root mean "
                    "square, number of elements that are not finite");
  command->add_flag("--spec", inspected->spec,
                    "Print the specification of the run, and nothing else");
  command->footer("Example:\n  hocket checkpoint inspect run --stats");

  auto verified = std::make_shared<CheckpointToolArguments>();
  command = addTool(checkpoint, "verify",
                    "Check every byte against its digest. Exit status 0, or "
                    "1 with the reason",
                    verified, result, runVerify);
  addJson(*command, *verified);
  command->footer("Example:\n  hocket checkpoint verify run");

  auto compared = std::make_shared<CheckpointToolArguments>();
  command = addTool(checkpoint, "diff",
                    "Compare two checkpoints, however each was sharded. Exit "
                    "status 0 if they are equal, or 1",
                    compared, result, runDiff);
  command->add_option("OTHER", compared->other, kWhich)->required();
  command->add_flag("--weights-only", compared->weightsOnly,
                    "Leave out the optimizer's state");
  wantPositive(command->add_option("--tolerance", compared->tolerance,
                                   "Exit status 0 also if the norm of each "
                                   "tensor's difference is at most this "
                                   "share of the tensor's norm"),
               1e6)
      ->type_name("SHARE");
  addJson(*command, *compared);
  command->footer("Example:\n  hocket checkpoint diff run/iter_0000100 "
                  "run/iter_0000200");

  auto merged = std::make_shared<CheckpointToolArguments>();
  command = addTool(checkpoint, "merge",
                    "Write a checkpoint as one file of weights and one of "
                    "optimizer state",
                    merged, result, runReshard);
  addOutput(*command, *merged);
  command->footer("Any plan loads any checkpoint: a merged one is for people "
                  "and for other programs.\n\nExample:\n  hocket checkpoint "
                  "merge run -o whole --weights-only");

  auto resharded = std::make_shared<CheckpointToolArguments>();
  command = addTool(checkpoint, "reshard",
                    "Write a checkpoint as a given number "
                    "of files",
                    resharded, result, runReshard);
  addOutput(*command, *resharded);
  wantWhole(command->add_option("--shards", resharded->shards,
                                "Files of weights, and as many of optimizer "
                                "state"),
            1, 65536)
      ->type_name("N")
      ->required();
  command->footer("Example:\n  hocket checkpoint reshard run -o run-8 --shards "
                  "8");
}
