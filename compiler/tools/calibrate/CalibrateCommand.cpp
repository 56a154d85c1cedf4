//===- CalibrateCommand.cpp - hocket calibrate ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/calibrate/CalibrateCommand.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/Quantity.h"
#include "compiler/tools/calibrate/MeasureDevice.h"
#include "passes/planning/calibration/FitSystem.h"
#include "runtime/cluster/Systems.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/OutputFile.h"

#include <google/protobuf/text_format.h>

#include <chrono>
#include <iostream>
#include <memory>

using namespace hocket;
using namespace hocket::planning;

namespace {

struct CalibrateArguments {
  MeasureOptions options;
  std::string output;
};

constexpr const char *calibrateDetails =
    R"(Measures a device of this machine: GEMMs of many shapes, kernels that move data,
attention, launches, steps of small programs (on a CPU) and, with several ranks,
gathers. The result is a description of a system for --cluster, with a spread: the
error on measurements that were not used for fitting.

Examples:
  hocket calibrate -o here.textproto
  hocket calibrate --ranks 4 --threads 1 -o four.textproto
  hocket simulate spec.textproto --plan dp=4 --cluster ./four.textproto:4)";

/// A line a second: what is measured, how fast it goes, how long it will.
class Progress {
public:
  void operator()(const std::string &what, size_t done, size_t all) {
    using Seconds = std::chrono::duration<double>;
    double spent = Seconds(Clock::now() - start).count();
    if (done > 0 && spent - shown < 1)
      return;
    shown = spent;
    std::string line =
        formatText("calibrate: %zu of %zu, %s", done, all, what.c_str());
    if (done > 0)
      line += formatText(
          ", %.1f a second, %s left", double(done) / spent,
          formatDuration(spent / double(done) * double(all - done)).c_str());
    std::cerr << line + "\n";
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  double shown = 0;
};

std::string descriptionOf(const DeviceMeasurements &measured,
                          const FittedSystem &fitted) {
  std::string text = "# Measured by hocket calibrate on " + measured.name +
                     ",\n# " + formatNoun(measured.ranks, "rank") + ", " +
                     std::to_string(measured.atOnce) + " at once" +
                     ". Means of what predictions are off by:\n#\n";
  for (const FitQuality &quality : fitted.quality)
    text += formatText("#   %-10s %3zu samples, fitted %.1f %%, held out "
                       "%.1f %%\n",
                       quality.kind.c_str(), quality.samples,
                       100 * quality.fitted, 100 * quality.heldOut);
  std::string body;
  google::protobuf::TextFormat::PrintToString(fitted.system, &body);
  return text + "\n" + body;
}

Status run(const CalibrateArguments &arguments) {
  MeasureOptions options = arguments.options;
  options.note = [progress = Progress()](const std::string &what, size_t done,
                                         size_t all) mutable {
    progress(what, done, all);
  };
  HOCKET_ASSIGN_OR_RETURN(DeviceMeasurements measured, measureDevice(options));
  HOCKET_ASSIGN_OR_RETURN(FittedSystem fitted, fitSystem(measured));
  std::string text = descriptionOf(measured, fitted);
  // What is written can be read.
  std::string file =
      arguments.output.empty() ? "the description" : arguments.output;
  HOCKET_RETURN_IF_ERROR(cluster::parseSystem(file, text).status());
  if (arguments.output.empty() || isStandardOutput(arguments.output)) {
    std::cout << text;
    return okStatus();
  }
  HOCKET_RETURN_IF_ERROR(writeFileAtomically(arguments.output, text));
  for (const FitQuality &quality : fitted.quality)
    std::cout << formatText("%-10s off by %.1f %% (held out: %.1f %%)\n",
                            quality.kind.c_str(), 100 * quality.fitted,
                            100 * quality.heldOut);
  return okStatus();
}

} // namespace

void hocket::registerCalibrate(CLI::App &app, Status &result,
                               CompileProgram compile) {
  auto arguments = std::make_shared<CalibrateArguments>();
  arguments->options.compile = std::move(compile);
  CLI::App *command =
      addCommand(app, "calibrate",
                 "Measure this machine and describe it for hocket "
                 "plan");
  command->footer(calibrateDetails);
  command->add_option("--device", arguments->options.driver, "cpu or cuda")
      ->type_name("NAME")
      ->capture_default_str();
  constexpr unsigned mostRanks = 1024, mostThreads = 4096;
  wantWhole(command->add_option("--ranks", arguments->options.ranks,
                                "Ranks of the run to describe; with more "
                                "ranks than cores they take turns"),
            1, mostRanks)
      ->capture_default_str();
  wantWhole(command->add_option("--threads", arguments->options.threads,
                                "Threads of each rank; 0: its share of the "
                                "cores"),
            0, mostThreads)
      ->capture_default_str();
  constexpr double mostSeconds = 1e5;
  wantNumber(command->add_option(
                 "--seconds", arguments->options.seconds,
                 "Time to measure in total; a shorter time leaves more "
                 "noise. Compiling small programs and a first run of "
                 "everything take additional time"),
             0, mostSeconds)
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      ->add_option("-o,--output", arguments->output,
                   "The description; without it, printed")
      ->type_name("FILE");
  command->callback([arguments, &result] { result = run(*arguments); });
}
