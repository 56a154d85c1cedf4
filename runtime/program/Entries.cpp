//===- Entries.cpp - What a program can be asked to do --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/Entries.h"

#include <algorithm>
#include <cstdint>
#include <set>

using namespace hocket;

static constexpr std::string_view kRerun = "rerun.";

std::string hocket::rerunEntryName(std::string_view entry) {
  return std::string(kRerun) + std::string(entry);
}

std::string_view hocket::repeatedEntryOf(std::string_view entry) {
  return entry.starts_with(kRerun) ? entry.substr(kRerun.size()) : entry;
}

BatchSizes hocket::batchSizesOf(const program::TrainingInfo &training) {
  std::vector<BatchSize> rows;
  for (const auto &row : training.batch_sizes())
    rows.push_back({row.from(), row.size()});
  StatusOr<BatchSizes> sizes = BatchSizes::create(std::move(rows));
  return sizes.ok() ? *std::move(sizes)
                    : BatchSizes(training.global_batch_size());
}

std::vector<std::string> hocket::entriesOf(const program::Program &program) {
  std::vector<std::string> names;
  for (const program::Role &role : program.roles())
    for (const program::Entry &entry : role.entries())
      if (std::find(names.begin(), names.end(), entry.name()) == names.end())
        names.push_back(entry.name());
  return names;
}

std::vector<const program::Host *>
hocket::hostsOf(const program::Role &role, const program::Entry &entry) {
  std::vector<const program::Host *> hosts;
  std::set<uint32_t> seen;
  for (const program::Entry::Run &run : entry.runs()) {
    if (!seen.insert(run.sequence()).second)
      continue;
    for (const program::Instruction &instruction :
         role.sequences(int(run.sequence())).instructions())
      if (instruction.has_host())
        hosts.push_back(&instruction.host());
  }
  return hosts;
}

std::string hocket::mainEntryOf(const program::Program &program) {
  std::vector<std::string> names = entriesOf(program);
  for (const char *name : {"train_step", "decode"})
    if (std::find(names.begin(), names.end(), name) != names.end())
      return name;
  return "eval_step";
}

std::string hocket::missingEntryText(const program::Program &program,
                                     const std::string &entry) {
  std::string text = "the program has no entry '" + entry + "'";
  std::vector<std::string> names = entriesOf(program);
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0                  ? ": it has "
             : i + 1 == names.size() ? " and "
                                     : ", ") +
            names[i];
  return text;
}
