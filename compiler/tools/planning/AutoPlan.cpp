//===- AutoPlan.cpp - hocket compile --plan auto --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/AutoPlan.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "compiler/tools/planning/PlanReport.h"

#include <google/protobuf/text_format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::planning;

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

namespace {

/// Lays out plans, and remembers the last one. One that fits `memory` is
/// compiled to its end.
class PlanLayout {
public:
  PlanLayout(const CostProblem &problem, const CompileRequest &request,
             int64_t memory)
      : problem(problem), request(request), memory(memory) {}

  /// What compiles a plan of the cost model.
  CompileRequest requestFor(const ParallelPlan &plan) const {
    CompileRequest own = request;
    own.spec.withoutPlan = true;
    own.spec.planPath.clear();
    google::protobuf::TextFormat::PrintToString(messageOf(plan, problem.model),
                                                &own.spec.planText);
    auto set = [&](const std::string &field, int64_t value) {
      own.spec.overrides.push_back(field + "=" + std::to_string(value));
    };
    set("training.global_batch_size", problem.step.globalBatch);
    set("cluster.memory_bytes", problem.system.device().memory_bytes());
    return own;
  }

  StatusOr<int64_t> operator()(const PricedPlan &priced) {
    const ParallelPlan &plan = priced.plan;
    CompileRequest trial = requestFor(plan);
    if (!isFinal()) {
      trial.to = Level::Exec;
      trial.emitCuda = false;
    }
    trial.anyMemory = true;
    trial.dumpPhases.clear();
    trial.fusionReport.clear();
    trial.goesOn = [&](const std::vector<RoleMemory> &roles) {
      return isFinal() && mostNeeded(roles) <= memory;
    };
    HOCKET_ASSIGN_OR_RETURN(last, compile(trial));
    return mostNeeded(last.memory);
  }

  /// Whether a plan that fits is compiled as it was asked for.
  bool isFinal() const {
    return request.to == Level::Program && request.dumpPhases.empty() &&
           request.fusionReport.empty();
  }

  CompileResult last;

private:
  const CostProblem &problem;
  const CompileRequest &request;
  int64_t memory;
};

} // namespace

/// Why nothing was found.
static Status nothingFits(const CostProblem &problem,
                          const FittingResult &result, int64_t memory) {
  std::string text = "no plan for " +
                     formatNoun(uint64_t(problem.devices), "device") + " of " +
                     problem.system.name() + " fits " +
                     formatBytes(uint64_t(memory)) + " a rank";
  const MeasuredPlan *nearest = nullptr;
  for (const MeasuredPlan &tried : result.measured)
    if (tried.bytes.ok() && (!nearest || *tried.bytes < *nearest->bytes))
      nearest = &tried;
  if (nearest)
    return invalidArgument(text + ": " +
                           std::to_string(result.measured.size()) +
                           " were laid out, and the one that comes nearest, " +
                           printPlan(nearest->plan.plan) + ", needs " +
                           formatBytes(uint64_t(*nearest->bytes)) +
                           "; use more devices, or a smaller --memory-margin");
  if (!result.measured.empty())
    return result.measured.front().bytes.status().withContext(
        printPlan(result.measured.front().plan.plan));
  return invalidArgument(text + "; hocket plan says what comes nearest");
}

StatusOr<AutoPlan> hocket::choosePlan(const AutoPlanOptions &options,
                                      CompileRequest &request) {
  AutoPlan plan;
  HOCKET_ASSIGN_OR_RETURN(
      plan.problem,
      planProblem({request.input, request.spec.overrides, options.cluster}));
  FittingOptions limits;
  limits.memory = int64_t(double(plan.problem.system.device().memory_bytes()) *
                          (1 - options.margin));
  PlanLayout layout(plan.problem, request, limits.memory);
  PlanSearch search(plan.problem, {});
  plan.search = findFittingPlan(search, limits, std::ref(layout));
  if (!plan.search.found)
    return nothingFits(plan.problem, plan.search, limits.memory);
  plan.planned = layout.last.memory;
  if (layout.isFinal())
    plan.compiled = std::move(layout.last);
  request = layout.requestFor(plan.best().plan);
  return plan;
}

std::string hocket::unequalPeaks(const AutoPlan &plan,
                                 const program::Program &program) {
  std::map<int64_t, int64_t> certified;
  for (const auto &peak : program.certificate().peaks())
    certified[peak.rank()] = int64_t(peak.bytes());
  std::string text;
  for (const RoleMemory &role : plan.planned)
    for (int64_t rank : role.ranks) {
      int64_t bytes = certified[rank];
      if (bytes == role.arena)
        continue;
      text += formatText("%s: planned %lld bytes, certified %lld (%+lld); "
                         "planned at the peak: %s\n",
                         ranksText(role.ranks).c_str(), (long long)role.arena,
                         (long long)bytes, (long long)(bytes - role.arena),
                         ownersText(role).c_str());
      break;
    }
  return text;
}

//===----------------------------------------------------------------------===//
// What was priced beside what was planned
//===----------------------------------------------------------------------===//

namespace {

/// Kinds of bytes that a price and an arena both know.
enum Kind { State, Gradients, Activations, Workspace, Packing };
constexpr const char *kindNames[] = {"parameters and optimizer", "gradients",
                                     "activations", "workspace", "packing"};
constexpr size_t kinds = 5;
using KindBytes = std::array<int64_t, kinds>;

KindBytes pricedKinds(const RankMemory &memory) {
  KindBytes bytes = {};
  bytes[State] = memory[MemoryItem::Parameters] + memory[MemoryItem::Optimizer];
  bytes[Gradients] = memory[MemoryItem::Gradients];
  bytes[Activations] =
      memory[MemoryItem::Activations] + memory[MemoryItem::Logits];
  bytes[Workspace] = memory[MemoryItem::Workspace];
  return bytes;
}

/// What a price counts an arena's kind of bytes among.
Kind pricedKindOf(exec::MemoryKind kind) {
  switch (kind) {
  case exec::MemoryKind::Parameters:
  case exec::MemoryKind::WorkingCopies:
  case exec::MemoryKind::Optimizer:
  case exec::MemoryKind::State:
  case exec::MemoryKind::Cache:
    return State;
  case exec::MemoryKind::Gradients:
    return Gradients;
  case exec::MemoryKind::Activations:
  case exec::MemoryKind::Transfers:
    return Activations;
  case exec::MemoryKind::Inputs:
  case exec::MemoryKind::Temporaries:
  case exec::MemoryKind::Workspace:
    return Workspace;
  }
  return Workspace;
}

KindBytes plannedKinds(const RoleMemory &role) {
  KindBytes bytes = {};
  int64_t sum = 0;
  for (const auto &[kind, amount] : role.atPeak) {
    sum += amount;
    bytes[pricedKindOf(kind)] += amount;
  }
  bytes[Packing] = role.arena - sum;
  return bytes;
}

std::string bytesText(int64_t bytes) { return formatBytes(uint64_t(bytes)); }

/// "+1.20 GiB", "-300 B".
std::string changeText(int64_t bytes) {
  return (bytes < 0 ? "-" : "+") + bytesText(std::abs(bytes));
}

/// "activations +1.20 GiB, workspace -300.0 MiB": what is 1 % of the whole or
/// more.
std::string partsText(const KindBytes &priced, const KindBytes &planned,
                      int64_t whole) {
  std::string text;
  for (size_t kind = 0; kind < kinds; ++kind) {
    int64_t more = planned[kind] - priced[kind];
    if (std::abs(more) * 100 < whole)
      continue;
    text += (text.empty() ? "" : ", ") + std::string(kindNames[kind]) + " " +
            changeText(more);
  }
  return text.empty() ? "each kind is within 1%" : text;
}

std::string memoryTable(const AutoPlan &plan) {
  std::vector<std::vector<std::string>> rows;
  const std::vector<RankMemory> &priced = plan.best().cost.memory;
  for (size_t rank = 0; rank < plan.planned.size(); ++rank) {
    const RoleMemory &role = plan.planned[rank];
    const RankMemory &price = priced[std::min(rank, priced.size() - 1)];
    int64_t more = role.arena - price.total();
    rows.push_back(
        {std::to_string(rank), bytesText(price.total()), bytesText(role.arena),
         changeText(more) + formatText(" (%+.1f%%)", 100 * double(more) /
                                                         double(price.total())),
         partsText(pricedKinds(price), plannedKinds(role), role.arena)});
  }
  return "bytes of a rank, by pipeline rank, as the cost model priced them\n"
         "and as they were planned:\n" +
         formatTable(
             {">rank", ">priced", ">planned", ">difference", "of which"}, rows);
}

} // namespace

std::string hocket::autoPlanText(const AutoPlan &plan) {
  const FittingResult &search = plan.search;
  std::string text = "plan: " + printPlan(plan.best().plan) + "\n" +
                     summaryText(plan.problem, plan.best().cost) + "\n";
  text += formatNoun(search.measured.size(), "plan") +
          formatText(" laid out, %lld faster ones left out for their "
                     "priced bytes; gap %.2f%%\n",
                     (long long)search.skipped, 100 * search.gap());
  return text + memoryTable(plan);
}

nlohmann::json hocket::autoPlanJson(const AutoPlan &plan) {
  nlohmann::json ranks = nlohmann::json::array(), tried = ranks;
  const std::vector<RankMemory> &priced = plan.best().cost.memory;
  for (size_t rank = 0; rank < plan.planned.size(); ++rank) {
    const RankMemory &price = priced[std::min(rank, priced.size() - 1)];
    KindBytes before = pricedKinds(price),
              after = plannedKinds(plan.planned[rank]);
    nlohmann::json kindBytes;
    for (size_t kind = 0; kind < kinds; ++kind)
      kindBytes[kindNames[kind]] = {{"priced", before[kind]},
                                    {"planned", after[kind]}};
    ranks.push_back({{"priced", price.total()},
                     {"planned", plan.planned[rank].arena},
                     {"kinds", std::move(kindBytes)}});
  }
  for (const MeasuredPlan &measured : plan.search.measured) {
    nlohmann::json entry = {{"plan", printPlan(measured.plan.plan)},
                            {"nanoseconds", measured.plan.cost.nanoseconds()},
                            {"priced", measured.plan.cost.bytes()}};
    if (measured.bytes.ok())
      entry["planned"] = *measured.bytes;
    else
      entry["refused"] = measured.bytes.status().message();
    tried.push_back(std::move(entry));
  }
  return {{"plan", printPlan(plan.best().plan)},
          {"nanoseconds", plan.best().cost.nanoseconds()},
          {"gap", plan.search.gap()},
          {"skipped", plan.search.skipped},
          {"memory", std::move(ranks)},
          {"tried", std::move(tried)}};
}
