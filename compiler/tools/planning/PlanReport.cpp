//===- PlanReport.cpp - Plans and prices as text and JSON -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/PlanReport.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "passes/planning/ScheduleGenerators.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace hocket;
using namespace hocket::planning;

namespace {

double gibibytes(int64_t bytes) { return double(bytes) / double(1 << 30); }

/// Model FLOP/s of a device, and as a share of its peak.
double flopsOf(const CostProblem &problem, const StepCost &cost) {
  return modelFlops(problem.model, problem.step) /
         (cost.seconds() * double(problem.devices));
}

double peakOf(const CostProblem &problem) {
  const cluster::Device &device = problem.system.device();
  return problem.step.elementBits == 32 ? device.peak_32bit()
                                        : device.peak_16bit();
}

double tokensOf(const CostProblem &problem, const StepCost &cost) {
  return problem.step.tokens() / (cost.seconds() * double(problem.devices));
}

/// By how much the second is more; what is many times the first in multiples.
std::string changeText(int64_t first, int64_t second) {
  constexpr double most = 1000;
  if (first == 0)
    return "";
  double ratio = double(second) / double(first);
  if (std::abs(ratio) > most)
    return "x " + formatCount(ratio);
  return formatSigned(100 * double(second - first) / double(std::abs(first)),
                      1) +
         "%";
}

std::string amount(const std::string &kind, int64_t value) {
  return kind == "time" ? formatRounded(double(value) * 1e-6, 3) + " ms"
                        : formatRounded(gibibytes(value), 3) + " GiB";
}

} // namespace

PlanSpeed hocket::speedOf(const CostProblem &problem, const StepCost &cost) {
  return {tokensOf(problem, cost), flopsOf(problem, cost), peakOf(problem)};
}

std::string hocket::summaryText(const CostProblem &problem,
                                const StepCost &cost) {
  double flops = flopsOf(problem, cost);
  std::string text =
      formatText("%.3f s +/- %.1f%% a step, %s tokens/s and %s a device "
                 "(%.1f%% of peak), %.2f GiB of %.2f",
                 cost.seconds(), 100 * spreadOf(problem),
                 formatCount(tokensOf(problem, cost)).c_str(),
                 formatRate(flops, "FLOP/s").c_str(),
                 100 * flops / peakOf(problem), gibibytes(cost.bytes()),
                 gibibytes(problem.system.device().memory_bytes()));
  if (cost.hostBytes() > 0)
    text += formatText(", %.2f GiB of %.2f of the host",
                       gibibytes(cost.hostBytes()),
                       gibibytes(problem.system.host_memory_bytes()));
  return text;
}

/// The kinds of items, in the order in which they are listed.
static constexpr const char *kinds[] = {"time", "bytes", "host"};

static int64_t sumOf(const std::vector<PriceItem> &items,
                     const std::string &kind) {
  int64_t sum = 0;
  for (const PriceItem &item : items)
    if (item.kind == kind)
      sum += item.value;
  return sum;
}

std::string hocket::priceText(const StepCost &cost) {
  std::vector<PriceItem> items = itemsOf(cost);
  std::sort(items.begin(), items.end(),
            [](const PriceItem &a, const PriceItem &b) {
              return std::tie(b.value, a.name) < std::tie(a.value, b.name);
            });
  std::vector<std::vector<std::string>> rows, sums;
  for (const std::string kind : kinds) {
    int64_t total = sumOf(items, kind);
    if (total == 0)
      continue;
    sums.push_back({kind, "sum", amount(kind, total), ""});
    for (const PriceItem &item : items)
      if (item.kind == kind && item.value != 0)
        rows.push_back(
            {kind, item.name, amount(kind, item.value),
             formatRounded(100 * double(item.value) / double(total), 1) + "%"});
  }
  rows.insert(rows.end(), sums.begin(), sums.end());
  std::string what = "Time of pipeline rank " + std::to_string(cost.busiest) +
                     ", which is done last; bytes of rank " +
                     std::to_string(cost.fullest) + ", which has the most:\n";
  return what + formatTable({"", "item", ">amount", ">share"}, rows);
}

std::string hocket::memoryText(const CostProblem &problem,
                               const StepCost &cost) {
  std::vector<std::string> header = {">rank"};
  for (size_t item = 0; item < kMemoryItems; ++item)
    header.push_back(">" + std::string(spelled(MemoryItem(item))));
  header.insert(header.end(), {">sum", ">of the device"});
  bool offloads = cost.hostBytes() > 0;
  if (offloads)
    header.push_back(">on the host");
  std::vector<std::vector<std::string>> rows;
  double capacity = double(problem.system.device().memory_bytes());
  for (size_t rank = 0; rank < cost.memory.size(); ++rank) {
    const RankMemory &memory = cost.memory[rank];
    std::vector<std::string> row = {std::to_string(rank)};
    for (int64_t bytes : memory.items)
      row.push_back(formatText("%.2f", gibibytes(bytes)));
    row.push_back(formatText("%.2f GiB", gibibytes(memory.total())));
    row.push_back(
        formatText("%.1f%%", 100 * double(memory.total()) / capacity));
    if (offloads)
      row.push_back(formatText("%.2f GiB", gibibytes(memory.hostTotal())));
    rows.push_back(std::move(row));
  }
  return formatTable(header, rows);
}

std::string hocket::differenceText(const std::vector<PriceItem> &before,
                                   const std::vector<PriceItem> &after) {
  std::vector<std::vector<std::string>> rows;
  for (const char *kind : kinds) {
    std::vector<std::string> names;
    for (const auto *items : {&before, &after})
      for (const PriceItem &item : *items)
        if (item.kind == kind &&
            !std::count(names.begin(), names.end(), item.name))
          names.push_back(item.name);
    auto valueIn = [&](const std::vector<PriceItem> &items,
                       const std::string &name) {
      int64_t sum = 0;
      for (const PriceItem &item : items)
        if (item.kind == kind && (name.empty() || item.name == name))
          sum += item.value;
      return sum;
    };
    auto add = [&](const std::string &label, const std::string &name) {
      int64_t a = valueIn(before, name), b = valueIn(after, name);
      if (a == 0 && b == 0)
        return;
      std::string unit = kind == std::string("time") ? " ns" : " B";
      std::string sign = b >= a ? "+" : "";
      rows.push_back({kind, label, std::to_string(a) + unit,
                      std::to_string(b) + unit,
                      sign + std::to_string(b - a) + unit, changeText(a, b)});
    };
    for (const std::string &name : names)
      add(name, name);
    add("total", "");
  }
  return formatTable({"", "item", ">first", ">second", ">difference", ""},
                     rows);
}

StatusOr<PlayedPlan> hocket::playPlan(const CostProblem &problem,
                                      const ParallelPlan &plan) {
  StageCosts stages = stageCosts(problem, plan, partWork(problem, plan));
  HOCKET_ASSIGN_OR_RETURN(
      Schedule schedule,
      compiledSchedule(plan.scheduleName(), stages.schedule));
  HOCKET_ASSIGN_OR_RETURN(Timeline timeline,
                          simulateSchedule(stages.schedule, schedule));
  if (auto share = processorShare(problem.system, plan)) {
    std::vector<double> tails(schedule.ranks.size(), 0);
    HOCKET_ASSIGN_OR_RETURN(
        std::vector<SharedRank> ranks,
        simulateShared(stages.schedule, schedule, *share, tails));
    timeline.makespan = 0;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      timeline.ranks[rank].times = ranks[rank].times;
      timeline.makespan = std::max(timeline.makespan, ranks[rank].end);
    }
  }
  return PlayedPlan{std::move(schedule), std::move(timeline)};
}

nlohmann::json hocket::jsonOf(const CostProblem &problem,
                              const PricedPlan &plan) {
  const StepCost &cost = plan.cost;
  nlohmann::json time, ranks = nlohmann::json::array();
  for (size_t i = 0; i < kTimeItems; ++i)
    time[std::string(spelled(TimeItem(i)))] = cost.items[i];
  for (const RankMemory &memory : cost.memory) {
    nlohmann::json rank = {{"total", memory.total()}};
    for (size_t i = 0; i < kMemoryItems; ++i)
      rank[std::string(spelled(MemoryItem(i)))] = memory.items[i];
    ranks.push_back(std::move(rank));
  }
  double flops = flopsOf(problem, cost);
  return {{"plan", printPlan(plan.plan)},
          {"nanoseconds", cost.nanoseconds()},
          {"spread", spreadOf(problem)},
          {"bytes", cost.bytes()},
          {"host_bytes", cost.hostBytes()},
          {"tokens_per_second_per_device", tokensOf(problem, cost)},
          {"flops_per_device", flops},
          {"utilisation", flops / peakOf(problem)},
          {"time", std::move(time)},
          {"time_of_rank", cost.busiest},
          {"memory", std::move(ranks)}};
}
