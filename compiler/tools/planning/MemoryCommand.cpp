//===- MemoryCommand.cpp - hocket memory ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/MemoryCommand.h"

#include "compiler/tools/planning/CommandFiles.h"
#include "passes/planning/memory/MemoryCsv.h"
#include "passes/planning/memory/MemoryPlan.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/OutputFile.h"

#include <chrono>
#include <iomanip>
#include <iostream>
#include <limits>
#include <memory>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr uint64_t kMostMemoryFileBytes = uint64_t{64} << 20;

struct MemoryArguments {
  std::string file, output;
  int64_t capacity = -1;
  double seconds = 10;
  MemoryAlgorithm algorithm = MemoryAlgorithm::Search;
};

void printPlan(std::ostream &out, const MemoryPlan &plan) {
  for (const auto &[name, arena] : plan.arenas) {
    if (plan.arenas.size() > 1)
      out << "arena        " << (name.empty() ? "(unnamed)" : name) << "\n";
    out << "peak         " << arena.peak << "\nlower bound  "
        << arena.lowerBound << "\n";
  }
  constexpr double percent = 100;
  out << "gap          " << std::fixed << std::setprecision(2)
      << plan.gap() * percent << " %\n";
}

/// Says by how much, and whether that is final.
Status checkFit(const MemoryPlan &plan, int64_t capacity) {
  for (const auto &[name, arena] : plan.arenas)
    if (arena.peak > capacity)
      return resourceExhausted(
          "does not fit in " + std::to_string(capacity) + " bytes" +
          (name.empty() ? "" : " of arena " + name) + ": " +
          std::to_string(arena.peak - capacity) + " too many" +
          (arena.lowerBound > capacity
               ? "; no plan has a peak below " +
                     std::to_string(arena.lowerBound)
               : "; a longer search may find a plan that does"));
  return okStatus();
}

Status run(const MemoryArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(std::string text,
                          readFile(arguments.file, kMostMemoryFileBytes));
  HOCKET_ASSIGN_OR_RETURN(MemoryTable table,
                          readMemoryCsv(arguments.file, text));
  MemoryOptions options;
  options.algorithm = arguments.algorithm;
  options.steps = std::numeric_limits<int64_t>::max();
  if (arguments.capacity >= 0)
    options.capacity = arguments.capacity;
  auto end = std::chrono::steady_clock::now() +
             std::chrono::duration<double>(arguments.seconds);
  options.expired = [end] { return std::chrono::steady_clock::now() > end; };
  HOCKET_ASSIGN_OR_RETURN(MemoryPlan plan, planMemory(table.problem, options));
  HOCKET_RETURN_IF_ERROR(validateMemoryPlan(table.problem, plan.offsets));
  printPlan(reportStream(arguments.output), plan);
  if (options.capacity)
    HOCKET_RETURN_IF_ERROR(
        checkFit(plan, *options.capacity).withContext(arguments.file));
  return writeIfAsked(arguments.output, writeMemoryCsv(text, plan.offsets));
}

} // namespace

void hocket::registerMemory(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<MemoryArguments>();
  CLI::App *memory = addCommand(app, "memory", "Plan memory");
  memory->require_subcommand(1);
  CLI::App *command =
      addCommand(*memory, "solve", "Find offsets for buffers with lifetimes");
  command->footer("Example:\n  hocket memory solve buffers.csv --capacity "
                  "1048576 -o placed.csv");
  command
      ->add_option("FILE", arguments->file,
                   "Rows of id,lower,upper,size, as MiniMalloc has them")
      ->required();
  wantWhole(command->add_option("--capacity", arguments->capacity,
                                "Bytes to fit in; default: as few as "
                                "possible"),
            0, uint64_t(kMostUnits))
      ->type_name("BYTES");
  wantNumber(command->add_option("--seconds", arguments->seconds,
                                 "How long to search before giving the best "
                                 "plan so far"),
             0, kMostSearchSeconds)
      ->type_name("SECONDS")
      ->capture_default_str();
  addChoice<MemoryAlgorithm>(
      *command, "--algorithm", arguments->algorithm,
      {{"first-fit", MemoryAlgorithm::FirstFit},
       {"best-fit", MemoryAlgorithm::BestFit},
       {"search", MemoryAlgorithm::Search}},
      "first-fit, best-fit (of several orders) or search (exact)");
  command
      ->add_option("-o,--output", arguments->output,
                   "The same rows with their offsets (- for standard output)")
      ->type_name("FILE");
  command->callback([arguments, &result] { result = run(*arguments); });
}
