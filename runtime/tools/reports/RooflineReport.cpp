//===- RooflineReport.cpp - A step's kernels, described -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/reports/RooflineReport.h"

#include "base/Format.h"
#include "base/Quantity.h"

#include <nlohmann/json.hpp>

using namespace hocket;
using nlohmann::ordered_json;

using Rows = std::vector<std::vector<std::string>>;

/// Of the step: what takes less has no line of its own.
static constexpr double leastShare = 5e-4;
static constexpr Bound bounds[] = {Bound::Compute, Bound::Memory,
                                   Bound::Latency, Bound::Link};

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "compute 89.8 ms (78.8%), ...", of stream 0.
static std::string boundsText(const Roofline &roofline) {
  std::string text;
  auto add = [&](const char *name, double seconds) {
    double share = seconds / roofline.step.seconds;
    if (share > leastShare)
      text += formatText("%s%s %s (%.1f%%)", text.empty() ? "" : ", ", name,
                         formatDuration(seconds).c_str(), 100 * share);
  };
  auto seconds = roofline.roles[roofline.step.role].secondsByBound();
  for (Bound bound : bounds)
    add(boundName(bound), seconds[size_t(bound)]);
  add("waiting", roofline.waitingSeconds());
  add("between steps", roofline.outsideSeconds);
  return text;
}

static std::string headText(const Roofline &roofline,
                            const KernelCosts &costs) {
  const cluster::Device &device = costs.described().device();
  const cluster::Multiprocessors &each = device.multiprocessors();
  Rows rows = {
      {"  step", formatText("%.2f ms", 1e3 * roofline.step.seconds)},
      {"  tokens/s",
       formatGrouped(uint64_t(roofline.tokensPerSecond())) +
           formatText(", %s a step on %s",
                      formatGrouped(uint64_t(roofline.tokens)).c_str(),
                      formatNoun(uint64_t(roofline.ranks), "rank").c_str())},
      {"  MFU", formatText("%.1f%% of %s a device", 100 * roofline.mfu(),
                           formatRate(roofline.peak, "FLOP/s").c_str())},
      {"  goes into", boundsText(roofline)},
      {"  memory",
       formatRate(device.memory_bandwidth(), "B/s") +
           formatText(" x %.0f ns: %s must be in flight",
                      1e9 * device.memory_latency(),
                      formatBytes(uint64_t(roofline.neededBytes)).c_str())},
      {"  blocks",
       formatText("%s, each with up to %lld threads and %lld blocks",
                  formatNoun(uint64_t(each.count()), "multiprocessor").c_str(),
                  (long long)each.threads(), (long long)each.blocks())},
      {"  registers",
       roofline.hasCode
           ? "of the code for " + each.architecture() + " inside"
           : "not known, and limiting nothing: compile with --arch " +
                 each.architecture()}};
  return "train_step, predicted for " + costs.description() +
         "; nothing was run\n" + formatTable({"", ""}, rows);
}

static std::string blocksText(const RooflineRow &row) {
  return row.time.blocks > 0 ? formatGrouped(uint64_t(row.time.blocks)) : "";
}

static std::string inFlightText(const RooflineRow &row, double needed) {
  return row.time.inFlightBytes > 0
             ? formatText("%.0f%%", 100 * row.time.inFlightBytes / needed)
             : "";
}

static std::vector<std::string> cellsOf(const RooflineRow &row,
                                        const Roofline &roofline) {
  auto whole = [](double value) {
    return value > 0 ? formatGrouped(uint64_t(value)) : std::string();
  };
  return {formatText("%.1f%%", 100 * row.ofStep() / roofline.step.seconds),
          formatText("%.3f", 1e3 * row.ofStep()),
          formatGrouped(row.launches),
          formatText("%.1f", 1e6 * row.seconds),
          boundName(row.time.bound),
          blocksText(row),
          whole(row.launch.threads),
          row.code ? formatGrouped(row.code->registers) : "",
          inFlightText(row, roofline.neededBytes),
          row.launch.flops > 0 ? formatCount(row.launch.flops) : "",
          formatBytes(uint64_t(row.launch.bytes)),
          row.name,
          row.limit};
}

std::string hocket::rooflineText(const Roofline &roofline,
                                 const KernelCosts &costs) {
  const RoleRoofline &role = roofline.roles[roofline.step.role];
  Rows rows;
  uint64_t left = 0;
  double leftSeconds = 0;
  for (const RooflineRow &row : role.rows) {
    if (row.ofStep() >= leastShare * roofline.step.seconds) {
      rows.push_back(cellsOf(row, roofline));
      continue;
    }
    ++left;
    leftSeconds += row.ofStep();
  }
  std::string text = headText(roofline, costs) + "\n";
  if (roofline.roles.size() > 1)
    text += formatText("Kernels of role '%s', which is done last; --json has "
                       "all %zu roles\n",
                       role.name.c_str(), roofline.roles.size());
  text += formatTable({">share", ">ms", ">launches", ">us each", "bound",
                       ">blocks", ">threads", ">registers", ">in flight",
                       ">flops", ">bytes", "kernel", "limited by"},
                      rows);
  if (left > 0)
    text += formatText("and %s of %.3f ms together\n",
                       formatNoun(left, "other").c_str(), 1e3 * leftSeconds);
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static ordered_json rowJson(const RooflineRow &row, double step) {
  ordered_json json = {{"name", row.name},
                       {"launches", row.launches},
                       {"seconds", row.seconds},
                       {"step_seconds", row.ofStep()},
                       {"share", row.ofStep() / step},
                       {"bound", boundName(row.time.bound)},
                       {"limit", row.limit},
                       {"stream", row.stream},
                       {"flops", row.launch.flops},
                       {"bytes", row.launch.bytes}};
  auto add = [&](const char *name, double value) {
    if (value > 0)
      json[name] = value;
  };
  add("blocks", row.time.blocks);
  add("threads", row.launch.threads);
  if (row.code) {
    json["registers"] = row.code->registers;
    json["static_shared_bytes"] = row.code->sharedBytes;
  }
  add("shared_bytes", row.launch.sharedBytes);
  add("blocks_of_a_multiprocessor", row.time.blocksAtOnce);
  add("in_flight_bytes", row.time.inFlightBytes);
  add("compute_seconds", row.time.compute);
  add("memory_seconds", row.time.memory);
  add("latency_seconds", row.time.latency);
  add("epilogue_seconds", row.time.epilogue);
  add("start_seconds", row.time.start);
  return json;
}

ordered_json hocket::rooflineJson(const Roofline &roofline,
                                  const KernelCosts &costs) {
  double step = roofline.step.seconds;
  ordered_json roles = ordered_json::array();
  for (const RoleRoofline &role : roofline.roles) {
    ordered_json kernels = ordered_json::array();
    for (const RooflineRow &row : role.rows)
      kernels.push_back(rowJson(row, step));
    ordered_json bound = ordered_json::object();
    auto seconds = role.secondsByBound();
    for (Bound which : bounds)
      bound[boundName(which)] = seconds[size_t(which)];
    roles.push_back({{"name", role.name},
                     {"ranks", role.ranks},
                     {"seconds_by_bound", bound},
                     {"kernels", kernels}});
  }
  const cluster::Device &device = costs.described().device();
  return {{"system", costs.described().name()},
          {"device", device.name()},
          {"predicted", true},
          {"seconds", step},
          {"waiting_seconds", roofline.waitingSeconds()},
          {"outside_seconds", roofline.outsideSeconds},
          {"tokens_per_second", roofline.tokensPerSecond()},
          {"mfu", roofline.mfu()},
          {"peak_flops", roofline.peak},
          {"memory_bandwidth", device.memory_bandwidth()},
          {"memory_latency", device.memory_latency()},
          {"needed_bytes", roofline.neededBytes},
          {"multiprocessors", device.multiprocessors().count()},
          {"registers_known", roofline.hasCode},
          {"last_role", roofline.step.role},
          {"roles", roles}};
}
