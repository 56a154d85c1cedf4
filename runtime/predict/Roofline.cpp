//===- Roofline.cpp - Where a step's time would go ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/Roofline.h"

#include "base/Format.h"
#include "base/Quantity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace hocket;
using program::Instruction;

static constexpr const char *entryName = "train_step";

static std::string noun(double count, const char *name) {
  return formatNoun(uint64_t(std::llround(count)), name);
}

/// Waves of tiles, of which the last may not fill the multiprocessors.
static std::string tilesText(const GemmTiles &tiles, double count) {
  double waves = std::ceil(tiles.tiles / count);
  std::string text =
      formatText("%s of %gx%g tiles", noun(waves, "wave").c_str(), tiles.rows,
                 tiles.columns);
  if (tiles.parts > 1)
    text += formatText(", depth in %g", tiles.parts);
  return text +
         formatText(", %.0f%% full", 100 * tiles.tiles / (waves * count));
}

/// What keeps a launch from being faster, in words.
static std::string limitOf(const TimedLaunch &timed, const KernelCosts &costs) {
  const LaunchTime &time = timed.time;
  auto count = double(costs.described().device().multiprocessors().count());
  if (time.start > std::max({time.compute, time.memory, time.latency}))
    return "short: longer to start than to run";
  if (time.bound == Bound::Memory)
    return "";
  if (costs.times().isFew(time.blocks))
    return "too few blocks: " + formatGrouped(uint64_t(time.blocks)) + " on " +
           noun(count, "multiprocessor");
  if (timed.launch.gemm)
    return tilesText(time.tiles, count);
  return time.bound == Bound::Latency ? "too few bytes in flight" : "";
}

namespace {

/// Rows of one role.
class RoleCounter {
public:
  RoleCounter(const program::Program &program, const program::Role &role,
              const KernelCosts &costs)
      : program(program), role(role), costs(costs) {}

  RoleRoofline count() {
    RoleRoofline result{role.name(), role.ranks_size(), {}};
    for (const auto &[sequence, runs] : runsBySequence())
      for (const Instruction &instruction :
           role.sequences(int(sequence)).instructions())
        add(instruction, runs);
    for (auto &[key, row] : rows)
      result.rows.push_back(std::move(row));
    std::sort(result.rows.begin(), result.rows.end(),
              [](const RooflineRow &a, const RooflineRow &b) {
                return a.ofStep() != b.ofStep() ? a.ofStep() > b.ofStep()
                                                : a.name < b.name;
              });
    return result;
  }

private:
  /// Equal launches: of one kernel, in one shape, on one stream.
  using Key = std::tuple<std::string, double, double, double, uint32_t>;

  std::map<uint32_t, uint64_t> runsBySequence() const {
    std::map<uint32_t, uint64_t> runs;
    for (const auto &entry : role.entries())
      if (entry.name() == entryName)
        for (const auto &run : entry.runs())
          ++runs[run.sequence()];
    return runs;
  }

  void add(const Instruction &instruction, uint64_t runs) {
    if (instruction.has_collective() || instruction.has_transfer()) {
      addMessage(instruction, runs);
      return;
    }
    for (const TimedLaunch &timed : costs.launches(instruction, role)) {
      const KernelLaunch &launch = timed.launch;
      RooflineRow &row = rows[{launch.name, launch.blocks, launch.bytes,
                               launch.flops, instruction.stream()}];
      if (row.launches == 0)
        row = {launch.name,          0,
               timed.time.seconds(), launch,
               timed.time,           timed.code,
               instruction.stream(), limitOf(timed, costs)};
      row.launches += runs;
    }
  }

  void addMessage(const Instruction &instruction, uint64_t runs) {
    InstructionWork work = workOf(instruction, role, program);
    uint32_t group = instruction.has_collective()
                         ? instruction.collective().group()
                         : instruction.transfer().group();
    std::string name =
        instruction.has_collective() ? instruction.collective().op()
        : work.sentBytes > 0 && work.receivedBytes > 0 ? "send and receive"
        : work.sentBytes > 0                           ? "send"
                                                       : "receive";
    name += " " + program.groups(int(group)).name();
    double bytes = std::max(work.sentBytes, work.receivedBytes);
    RooflineRow &row = rows[{name, 0, bytes, 0, instruction.stream()}];
    if (row.launches == 0) {
      row.name = name;
      row.seconds = costs.timeOf(instruction, role, program).message;
      row.launch.bytes = bytes;
      row.time.bound = Bound::Link;
      row.stream = instruction.stream();
      if (row.stream > 0)
        row.limit = "beside what is computed, where that does not wait for it";
    }
    row.launches += runs;
  }

  const program::Program &program;
  const program::Role &role;
  const KernelCosts &costs;
  std::map<Key, RooflineRow> rows;
};

} // namespace

std::array<double, 4> RoleRoofline::secondsByBound() const {
  std::array<double, 4> seconds = {};
  for (const RooflineRow &row : rows)
    if (row.stream == 0)
      seconds[size_t(row.time.bound)] += row.ofStep();
  return seconds;
}

double Roofline::waitingSeconds() const {
  double busy = outsideSeconds;
  for (double seconds : roles[step.role].secondsByBound())
    busy += seconds;
  return std::max(0.0, step.seconds - busy);
}

StatusOr<Roofline> hocket::makeRoofline(const program::Program &program,
                                        const KernelCosts &costs) {
  Roofline roofline;
  roofline.outsideSeconds = costs.outsideSeconds();
  HOCKET_ASSIGN_OR_RETURN(roofline.step,
                          predictStep(program, entryName, costs, nullptr));
  roofline.tokens = double(program.training().global_batch_size()) *
                    double(program.model().sequence_length());
  roofline.flops = program.model().flops_per_token() * roofline.tokens;
  roofline.peak = costs.described().device().peak_16bit();
  roofline.neededBytes = costs.times().neededBytes();
  roofline.hasCode = costs.hasCode();
  for (const program::Role &role : program.roles()) {
    roofline.ranks += role.ranks_size();
    roofline.roles.push_back(RoleCounter(program, role, costs).count());
  }
  return roofline;
}
