//===- ProfileReport.cpp - Where the time went ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/ProfileReport.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "runtime/program/DataType.h"
#include "runtime/program/InstructionOperands.h"

#include <algorithm>

using namespace hocket;
using program::Instruction;

static std::string gemmName(const program::Gemm &gemm,
                            const program::Role &role) {
  auto type = [&](uint32_t buffer) {
    return dataTypeName(role.buffers(int(buffer)).dtype());
  };
  return formatText("gemm %llu x %llu x %llu %s%s%s%s -> %s%s%s%s%s%s",
                    (unsigned long long)gemm.m(), (unsigned long long)gemm.n(),
                    (unsigned long long)gemm.k(), type(gemm.a()),
                    gemm.transpose_a() ? " A^T" : "",
                    gemm.transpose_b() ? " B^T" : "",
                    gemm.b_packed() ? " packed" : "", type(gemm.d()),
                    gemm.accumulate() == program::OVERWRITE ? "" : " +=",
                    gemm.epilogue().empty() ? "" : " ", gemm.epilogue().c_str(),
                    gemm.has_preactivation() ? "_gradient" : "",
                    gemm.has_bias_gradient() ? " bias_gradient" : "");
}

static std::string groupName(const Instruction &instruction,
                             const program::Role &role,
                             const program::Program &program) {
  if (instruction.has_gemm())
    return gemmName(instruction.gemm(), role);
  if (instruction.has_library()) {
    std::string name = "library " + instruction.library().op();
    // The tensors of a global norm are a list of any length.
    int shown = std::min(instruction.library().integers_size(), 10);
    for (int i = 0; i < shown; ++i)
      name += formatText(" %lld", (long long)instruction.library().integers(i));
    return name;
  }
  std::string text = instructionText(instruction, program);
  return text.substr(0, text.find('('));
}

/// The last word of an instruction's source, "spec.textproto:7:3
/// layers.2.attention", with every layer's number as `*`.
static std::string opOfAnyLayer(const std::string &source) {
  std::string name = source.substr(source.rfind(' ') + 1), result;
  for (size_t i = 0; i < name.size();) {
    size_t end = std::min(name.find('.', i), name.size());
    std::string part = name.substr(i, end - i);
    bool isNumber = !part.empty() &&
                    part.find_first_not_of("0123456789") == std::string::npos;
    result += (i ? "." : "") + (isNumber ? "*" : part);
    i = end + 1;
  }
  return result;
}

/// Ops of a group that are kept by name.
static constexpr size_t mostOps = 3;

static void addOp(const std::string &source, ProfileGroup &group) {
  bool isPlaceAlone = source.find(' ') == std::string::npos &&
                      source.find(':') != std::string::npos;
  if (source.empty() || isPlaceAlone || group.ops.size() > mostOps)
    return;
  std::string op = opOfAnyLayer(source);
  if (std::find(group.ops.begin(), group.ops.end(), op) == group.ops.end())
    group.ops.push_back(op);
}

/// "gemm 64 x 64 x 64 f32 -> f32 (layers.*.mlp.up, layers.*.mlp.down)".
static std::string whatText(const ProfileGroup &group) {
  std::string ops;
  for (size_t i = 0; i < std::min(group.ops.size(), mostOps); ++i)
    ops += (i ? ", " : "") + group.ops[i];
  if (group.ops.size() > mostOps)
    ops += ", ...";
  return ops.empty() ? group.name : group.name + " (" + ops + ")";
}

std::vector<ProfileGroup> hocket::profileGroups(const Executor &executor) {
  std::map<std::string, ProfileGroup> groups;
  const program::Role &role = executor.role();
  for (size_t s = 0; s < executor.profile().size(); ++s)
    for (size_t i = 0; i < executor.profile()[s].size(); ++i) {
      const MeasuredTime &time = executor.profile()[s][i];
      const Instruction &instruction =
          role.sequences(int(s)).instructions(int(i));
      std::string name = groupName(instruction, role, executor.program());
      ProfileGroup &group = groups[name];
      group.name = name;
      addOp(instruction.source(), group);
      group.runs += time.runs;
      group.seconds += time.seconds;
      group.flops +=
          double(time.runs) * instructionFlops(instruction, executor.program());
    }
  std::vector<ProfileGroup> sorted;
  for (auto &[name, group] : groups)
    if (group.runs)
      sorted.push_back(std::move(group));
  std::sort(sorted.begin(), sorted.end(),
            [](const ProfileGroup &a, const ProfileGroup &b) {
              return a.seconds != b.seconds ? a.seconds > b.seconds
                                            : a.name < b.name;
            });
  return sorted;
}

std::string hocket::profileText(const Executor &executor, size_t limit) {
  std::vector<ProfileGroup> groups = profileGroups(executor);
  double total = 0;
  for (const ProfileGroup &group : groups)
    total += group.seconds;
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(limit, groups.size()); ++i) {
    const ProfileGroup &group = groups[i];
    rows.push_back(
        {formatText("%.1f %%", 100 * group.seconds / std::max(total, 1e-12)),
         formatDuration(group.seconds), formatGrouped(group.runs),
         formatDuration(group.seconds / double(group.runs)),
         group.flops > 0 && group.seconds > 0
             ? formatText("%.1f", group.flops / group.seconds / 1e9)
             : "",
         whatText(group)});
  }
  double others = 0;
  for (size_t i = limit; i < groups.size(); ++i)
    others += groups[i].seconds;
  std::string text =
      formatDuration(total) + " in instructions of " +
      formatNoun(groups.size(), "kind") + "\n" +
      formatTable({">share", ">time", ">runs", ">a run", ">GFLOP/s", "what"},
                  rows);
  if (groups.size() > limit)
    text += "and " + formatNoun(groups.size() - limit, "more kind") +
            formatText(", %.1f %% of the time\n",
                       100 * others / std::max(total, 1e-12));
  return text;
}
