//===- PageReport.cpp - An executable as a page ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/reports/PageReport.h"

#include "base/Format.h"
#include "runtime/predict/MemoryUse.h"
#include "runtime/predict/Timeline.h"
#include "runtime/program/Entries.h"
#include "runtime/telemetry/SpanNames.h"
#include "runtime/tools/page/Page.h"
#include "runtime/tools/reports/ProgramReport.h"
#include "runtime/tools/reports/RooflineReport.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace hocket;
using nlohmann::ordered_json;
using program::Instruction;
using program::Program;

/// Moments at which memory is shown; a screen has no more columns.
static constexpr size_t memoryPoints = 1200;
/// More instructions of a role than anybody looks at one by one.
static constexpr size_t foldLimit = 20000;
/// Units of time in a step: what a page cannot show is not written.
static constexpr double ticksOfStep = 1e7;

namespace {

/// Each text once.
class Texts {
public:
  size_t indexOf(const std::string &text) {
    auto [entry, isNew] = indices.try_emplace(text, list.size());
    if (isNew)
      list.push_back(text);
    return entry->second;
  }
  ordered_json list = ordered_json::array();

private:
  std::map<std::string, size_t> indices;
};

/// The timeline of one role.
class RoleTimeline {
public:
  RoleTimeline(const Program &program, uint32_t index,
               const InstructionCosts &costs, Texts &texts)
      : program(program), index(index), role(program.roles(int(index))),
        costs(costs), texts(texts) {
    std::map<std::string, uint32_t> known;
    for (const auto &sequence : role.sequences()) {
      // Streams that meet cut a fragment into "backward_3.0", "backward_3.1".
      std::string name = sequence.name().substr(0, sequence.name().find('.'));
      auto [entry, isNew] = known.try_emplace(name, names.size());
      if (isNew)
        names.push_back(name);
      fragmentOf.push_back(entry->second);
    }
  }

  std::vector<PredictedSpan> spans;

  ordered_json json(double tick) {
    std::vector<ordered_json> parts(names.size(), ordered_json::array());
    for (int q = 0; q < role.sequences_size(); ++q)
      addParts(role.sequences(q), tick, parts[fragmentOf[size_t(q)]]);
    for (ordered_json &list : parts)
      for (ordered_json &part : list)
        part[2] = std::round(part[2].get<double>() * 10) / 10;
    ordered_json result = {
        {"name", role.name()},         {"ranks", role.ranks_size()},
        {"first_rank", role.ranks(0)}, {"streams", streamNames(program, role)},
        {"fragments", names},          {"parts", parts}};
    addRuns(tick, result);
    result["memory"] = memoryJson(tick);
    return result;
  }

private:
  static int64_t ticks(double seconds, double tick) {
    return std::llround(seconds / tick);
  }

  static int kindOf(const Instruction &instruction) {
    if (instruction.has_collective() || instruction.has_transfer())
      return 1;
    return instruction.has_host() ? 2 : 0;
  }

  /// Adds what a sequence does on stream 0; neighbours that compute are one.
  void addParts(const program::Sequence &sequence, double tick,
                ordered_json &parts) {
    for (const Instruction &instruction : sequence.instructions()) {
      if (instruction.stream() > 0 || instruction.has_record() ||
          instruction.has_wait())
        continue;
      double length = costs.seconds(instruction, role, program) / tick;
      int kind = kindOf(instruction);
      if (kind == 0 && !parts.empty() && parts.back()[0] == 0) {
        parts.back()[2] = parts.back()[2].get<double>() + length;
        continue;
      }
      parts.push_back(
          {kind,
           texts.indexOf(kind ? actionName(instruction, program) : "compute"),
           length});
    }
  }

  /// Runs of fragments on stream 0, and single instructions beside it.
  void addRuns(double tick, ordered_json &result) {
    ordered_json runs = ordered_json::array(), beside = ordered_json::array();
    double begin = 0, end = 0, wait = 0;
    const PredictedSpan *open = nullptr;
    auto close = [&] {
      if (open)
        runs.push_back(
            {fragmentOf[open->sequence], open->microbatch, ticks(begin, tick),
             ticks(end, tick) - ticks(begin, tick), ticks(wait, tick)});
    };
    for (const PredictedSpan &span : spans) {
      if (span.stream > 0) {
        addBeside(span, tick, beside);
        continue;
      }
      if (!open || !isSameRun(*open, span)) {
        close();
        end = begin = span.begin, wait = 0;
      }
      open = &span;
      wait += span.wait + (span.begin - end); // For events between parts.
      end = span.end;
    }
    close();
    result["runs"] = runs;
    result["beside"] = beside;
  }

  /// Whether `next` goes on with the run of a fragment that `last` is of.
  bool isSameRun(const PredictedSpan &last, const PredictedSpan &next) const {
    return last.run == next.run ||
           (last.sequence < next.sequence &&
            fragmentOf[last.sequence] == fragmentOf[next.sequence] &&
            last.microbatch == next.microbatch);
  }

  /// One instruction beside stream 0. Where there are very many, those of one
  /// kind in one run of a fragment are one, from the first to the last.
  void addBeside(const PredictedSpan &span, double tick, ordered_json &beside) {
    size_t text = texts.indexOf(actionName(
        role.sequences(int(span.sequence)).instructions(int(span.instruction)),
        program));
    int64_t begin = ticks(span.begin, tick), end = ticks(span.end, tick);
    if (spans.size() > foldLimit) {
      auto [known, isNew] = folded.try_emplace(
          {span.stream, fragmentOf[span.sequence], span.microbatch, text},
          beside.size());
      if (!isNew) {
        ordered_json &first = beside[known->second];
        first[4] = end - first[3].get<int64_t>();
        first[5] = first[5].get<int64_t>() + ticks(span.wait, tick);
        return;
      }
    }
    beside.push_back({span.stream, text, span.microbatch, begin, end - begin,
                      ticks(span.wait, tick)});
  }

  ordered_json memoryJson(double tick) const {
    for (const auto &entry : role.entries()) {
      if (entry.name() != mainEntryOf(program))
        continue;
      MemoryUse use = predictMemory(program, index, entry, spans, memoryPoints);
      ordered_json times = ordered_json::array(), bytes = ordered_json::array();
      for (double time : use.times)
        times.push_back(ticks(time, tick));
      for (size_t kind = 0; kind < use.kinds.size(); ++kind) {
        ordered_json column = ordered_json::array();
        for (const std::vector<uint64_t> &row : use.bytes)
          column.push_back(row[kind]);
        // What never changes is written once.
        bool same = std::all_of(
            column.begin(), column.end(),
            [&](const ordered_json &value) { return value == column[0]; });
        bytes.push_back(same ? ordered_json::array({column[0]}) : column);
      }
      return {{"kinds", use.kinds}, {"times", times}, {"bytes", bytes}};
    }
    return ordered_json::object();
  }

  const Program &program;
  uint32_t index;
  const program::Role &role;
  const InstructionCosts &costs;
  Texts &texts;
  std::vector<std::string> names;   ///< Of fragments.
  std::vector<uint32_t> fragmentOf; ///< By sequence.
  /// By stream, fragment, microbatch and text: where in `beside`.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, size_t>, size_t> folded;
};

} // namespace

static ordered_json termsJson(const std::vector<StepTerm> &terms) {
  ordered_json json = ordered_json::object();
  for (const StepTerm &term : terms)
    json[term.name] = term.seconds;
  return json;
}

static StatusOr<ordered_json> timelineJson(const Program &program,
                                           const DeviceCosts &device) {
  const InstructionCosts &costs = *device.costs;
  Texts texts;
  std::vector<RoleTimeline> roles;
  for (int r = 0; r < program.roles_size(); ++r)
    roles.emplace_back(program, uint32_t(r), costs, texts);
  auto keep = [&](const PredictedSpan &span) {
    roles[span.role].spans.push_back(span);
  };
  PredictedStep step;
  if (device.described) {
    HOCKET_ASSIGN_OR_RETURN(step, predictStep(program, mainEntryOf(program),
                                              *device.described, keep));
  } else {
    HOCKET_ASSIGN_OR_RETURN(
        step.seconds,
        predictTimeline(program, mainEntryOf(program), costs, keep));
  }
  double seconds = step.seconds;
  double tick = seconds > 0 ? seconds / ticksOfStep : 1;
  ordered_json list = ordered_json::array();
  for (RoleTimeline &role : roles) {
    list.push_back(role.json(tick));
    role.spans = {};
  }
  ordered_json json{{"entry", mainEntryOf(program)},
                    {"device", costs.description()},
                    {"seconds", seconds},
                    {"tick", tick},
                    {"texts", texts.list},
                    {"roles", list}};
  if (device.described)
    json["terms"] = termsJson(step.terms);
  for (const StepTerm &term : step.terms)
    json["reasons"][term.name] = differenceReason(term.name, device);
  if (device.price)
    json["price"] = {{"seconds", device.price->seconds},
                     {"spread", device.price->spread},
                     {"terms", termsJson(device.price->terms)}};
  return json;
}

StatusOr<ordered_json> hocket::pageJson(const Program &program,
                                        const DeviceCosts &device) {
  HOCKET_ASSIGN_OR_RETURN(ordered_json timeline, timelineJson(program, device));
  ordered_json all = programJson(program, ProgramDetail::Totals);
  all["timeline"] = std::move(timeline);
  if (device.kernels) {
    HOCKET_ASSIGN_OR_RETURN(Roofline roofline,
                            makeRoofline(program, *device.kernels));
    all["roofline"] = rooflineJson(roofline, *device.kernels);
  }
  return all;
}

StatusOr<std::string> hocket::programPage(const Program &program,
                                          const DeviceCosts &device) {
  HOCKET_ASSIGN_OR_RETURN(ordered_json data, pageJson(program, device));
  return pageText(inspectPage, data);
}
