//===- ProfileReport.cpp - Where the time went ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/ProfileReport.h"

#include "runtime/base/Format.h"
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
  return formatText(
      "gemm %llu x %llu x %llu %s%s%s%s -> %s%s%s%s",
      (unsigned long long)gemm.m(), (unsigned long long)gemm.n(),
      (unsigned long long)gemm.k(), type(gemm.a()),
      gemm.transpose_a() ? " A^T" : "", gemm.transpose_b() ? " B^T" : "",
      gemm.b_packed() ? " packed" : "", type(gemm.d()),
      gemm.accumulate() == program::OVERWRITE ? "" : " +=",
      gemm.epilogue().empty() ? "" : " ", gemm.epilogue().c_str());
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

std::vector<ProfileGroup> hocket::profileGroups(const Executor &executor) {
  std::map<std::string, ProfileGroup> groups;
  const program::Role &role = executor.role();
  for (size_t s = 0; s < executor.profile().size(); ++s)
    for (size_t i = 0; i < executor.profile()[s].size(); ++i) {
      const InstructionTime &time = executor.profile()[s][i];
      const Instruction &instruction =
          role.sequences(int(s)).instructions(int(i));
      std::string name = groupName(instruction, role, executor.program());
      ProfileGroup &group = groups[name];
      group.name = name;
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
         group.name});
  }
  return formatText("%s in instructions of %zu kinds\n",
                    formatDuration(total).c_str(), groups.size()) +
         formatTable({">share", ">time", ">runs", ">a run", ">GFLOP/s", "what"},
                     rows);
}
