//===- TraceCommand.cpp - `hocket trace` ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/TraceCommand.h"

#include "base/Format.h"
#include "runtime/program/Entries.h"
#include "runtime/program/RankPlace.h"
#include "runtime/program/file/ProgramFile.h"
#include "runtime/telemetry/InstructionTrace.h"
#include "runtime/telemetry/MemoryTrace.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/OutputFile.h"

#include <algorithm>
#include <iostream>
#include <memory>

using namespace hocket;

namespace {

struct TraceArguments {
  std::string path, output, entry, ranks, detail = "auto";
  DeviceArguments device;
  PlanPricer pricer;
};

/// More spans than this are no help in a viewer.
constexpr size_t spanLimit = size_t(1) << 18;
/// Up to so many ranks each has a track of its own.
constexpr size_t rankLimit = 16;

/// The spans of every role, by stream.
using RoleSpans = std::vector<std::vector<std::vector<PredictedSpan>>>;

StatusOr<uint32_t> parseRank(const std::string &word, uint32_t count) {
  bool digits = !word.empty() && word.size() < 10 &&
                word.find_first_not_of("0123456789") == std::string::npos;
  if (!digits)
    return invalidArgument("--ranks: '" + word +
                           "' is no rank; expected e.g. 0,8-15, or all");
  auto rank = uint32_t(std::stoul(word));
  if (rank >= count)
    return invalidArgument(formatText(
        "--ranks: the program has ranks 0 to %u, not %u", count - 1, rank));
  return rank;
}

/// "0,8-15" as ranks below `count`.
StatusOr<std::vector<uint32_t>> parseRanks(const std::string &text,
                                           uint32_t count) {
  std::vector<uint32_t> ranks;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, end - at);
    size_t dash = part.find('-');
    HOCKET_ASSIGN_OR_RETURN(uint32_t first,
                            parseRank(part.substr(0, dash), count));
    uint32_t last = first;
    if (dash != std::string::npos) {
      HOCKET_ASSIGN_OR_RETURN(last, parseRank(part.substr(dash + 1), count));
    }
    if (last < first)
      return invalidArgument("--ranks: " + part + " ends before it begins");
    for (uint32_t rank = first; rank <= last; ++rank)
      ranks.push_back(rank);
    at = end + 1;
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// The ranks that get tracks: those asked for, else all of a few, else the
/// first of each role.
StatusOr<std::vector<uint32_t>> chooseRanks(const program::Program &program,
                                            const std::string &text,
                                            uint32_t count) {
  std::vector<uint32_t> ranks;
  if (!text.empty() && text != "all")
    return parseRanks(text, count);
  for (const auto &role : program.roles())
    for (uint32_t rank : role.ranks()) {
      ranks.push_back(rank);
      if (text.empty() && count > rankLimit)
        break;
    }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::map<uint32_t, uint32_t> rolesByRank(const program::Program &program) {
  std::map<uint32_t, uint32_t> roles;
  for (int r = 0; r < program.roles_size(); ++r)
    for (uint32_t rank : program.roles(r).ranks())
      roles[rank] = uint32_t(r);
  return roles;
}

std::vector<std::vector<TimedInstruction>>
timed(const std::vector<std::vector<PredictedSpan>> &streams) {
  std::vector<std::vector<TimedInstruction>> result(streams.size());
  for (size_t s = 0; s < streams.size(); ++s)
    for (const PredictedSpan &span : streams[s])
      result[s].push_back({span.sequence, span.instruction, span.microbatch, 0,
                           span.begin * 1e6, span.end * 1e6});
  return result;
}

std::vector<PredictedSpan>
joined(const std::vector<std::vector<PredictedSpan>> &streams) {
  std::vector<PredictedSpan> spans;
  for (const auto &stream : streams)
    spans.insert(spans.end(), stream.begin(), stream.end());
  return spans;
}

/// Simulates an entry; terms where the device is a described one.
StatusOr<PredictedStep> predict(const program::Program &program,
                                const std::string &entry,
                                const DeviceCosts &device,
                                const SpanListener &listener) {
  if (device.described)
    return predictStep(program, entry, *device.described, listener);
  PredictedStep step;
  HOCKET_ASSIGN_OR_RETURN(
      step.seconds, predictTimeline(program, entry, *device.costs, listener));
  return step;
}

Status run(TraceArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(program::Program program,
                          readProgram(arguments.path));
  if (arguments.entry.empty())
    arguments.entry = mainEntryOf(program);
  uint32_t count = countRanks(program);
  HOCKET_ASSIGN_OR_RETURN(std::vector<uint32_t> ranks,
                          chooseRanks(program, arguments.ranks, count));
  RoleSpans roles(size_t(program.roles_size()));
  for (int r = 0; r < program.roles_size(); ++r)
    roles[size_t(r)].resize(std::max(1u, program.roles(r).streams()));
  HOCKET_ASSIGN_OR_RETURN(
      DeviceCosts device,
      chooseDevice(arguments.device, program, arguments.pricer));
  HOCKET_ASSIGN_OR_RETURN(
      PredictedStep step,
      predict(program, arguments.entry, device, [&](const PredictedSpan &span) {
        roles[span.role][span.stream].push_back(span);
      }));
  std::map<uint32_t, uint32_t> roleOf = rolesByRank(program);
  size_t spans = 0;
  for (uint32_t rank : ranks)
    for (const auto &stream : roles[roleOf[rank]])
      spans += stream.size();
  bool fold = arguments.detail == "sequences" ||
              (arguments.detail == "auto" && spans > spanLimit);
  std::vector<std::string> events;
  std::map<uint32_t, std::vector<TraceMemory>> memory;
  for (uint32_t rank : ranks) {
    uint32_t role = roleOf[rank];
    RankTrace trace = instructionTrace(
        program, program.roles(int(role)), rank, timed(roles[role]),
        fold ? TraceDetail::Sequences : TraceDetail::Instructions,
        [&](unsigned peer) {
          return std::binary_search(ranks.begin(), ranks.end(), peer);
        });
    if (!memory.contains(role))
      memory[role] =
          memoryTrace(program, role, arguments.entry, joined(roles[role]));
    trace.memory = memory[role];
    events.push_back(traceEvents(trace));
  }
  HOCKET_RETURN_IF_ERROR(writeOutput(arguments.output, traceText(events)));
  std::ostream &out = reportStream(arguments.output);
  out << arguments.output << ": " << arguments.entry << " takes "
      << formatDuration(step.seconds) << ", predicted for "
      << device.costs->description() << "\n";
  if (device.described && arguments.entry == "train_step")
    out << termsText(step, device);
  if (ranks.size() < count)
    out << formatText(
        "%zu of %u ranks%s; --ranks chooses\n", ranks.size(), count,
        arguments.ranks.empty()
            ? ", one of each role: the others of a role do the same"
            : "");
  if (fold && arguments.detail == "auto")
    out << formatText("%zu instructions are too many for a viewer: only "
                      "sequences, collectives and transfers of streams "
                      "beside stream 0; --detail instructions shows all\n",
                      spans);
  return okStatus();
}

} // namespace

void hocket::registerTrace(CLI::App &app, Status &result, PlanPricer pricer) {
  auto arguments = std::make_shared<TraceArguments>();
  arguments->pricer = std::move(pricer);
  CLI::App *command = addCommand(
      app, "trace", "Predict when each instruction of each rank runs");
  command->add_option("FILE", arguments->path, "An executable (.hkx)")
      ->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "Write the timeline here, for ui.perfetto.dev")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--entry", arguments->entry,
                   "What to run (default: train_step, or decode for a "
                   "program that only generates)")
      ->type_name("NAME");
  command
      ->add_option("--ranks", arguments->ranks,
                   "Ranks to show: 0,8-15, or all (default: all of up to 16, "
                   "else one of each role)")
      ->type_name("LIST");
  wantOneOf(command->add_option("--detail", arguments->detail,
                                "instructions, sequences, or auto: sequences "
                                "if there are more than 262,144 instructions"),
            {"auto", "instructions", "sequences"})
      ->capture_default_str();
  addDeviceOptions(*command, arguments->device);
  command->footer(
      "With --cluster, instructions are priced as `hocket plan` prices such "
      "operations\n(for a GPU program, as `hocket inspect --roofline` does), "
      "and the output says where\nthe step differs from the price of its plan. "
      "Otherwise a few numbers describe the\ndevice: an instruction takes the "
      "time of its arithmetic or of its memory traffic,\na collective that of "
      "its ring. Order, streams and events are those of the program.\n"
      "The layout is that of train --trace, which measures.\n\nExample:\n  "
      "hocket trace gpt3.hkx -o gpt3.json --cluster h100:1024\n  hocket trace "
      "gpt3.hkx -o gpt3.json --device-flops 150e12 --memory-bandwidth 2e12 "
      "\\\n    --link-bandwidth 200e9 --network-bandwidth 20e9 "
      "--ranks-per-node 8");
  command->callback([arguments, &result] { result = run(*arguments); });
}
