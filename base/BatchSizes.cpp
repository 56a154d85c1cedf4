//===- BatchSizes.cpp - A global batch that may grow ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/BatchSizes.h"

#include "base/CheckedMath.h"

#include <charconv>

using namespace hocket;

static constexpr std::string_view kTrainEntry = "train_step";

StatusOr<BatchSizes> BatchSizes::create(std::vector<BatchSize> rows) {
  if (rows.empty() || rows.front().from != 0)
    return invalidArgument("the first batch size is not from sample 0");
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string row = "batch size " + std::to_string(rows[i].size) +
                      " from sample " + std::to_string(rows[i].from);
    if (rows[i].size == 0)
      return invalidArgument(row + " is none");
    if (i == 0)
      continue;
    const BatchSize &before = rows[i - 1];
    if (rows[i].from <= before.from || rows[i].size <= before.size)
      return invalidArgument(row + " does not grow: the one before it is " +
                             std::to_string(before.size) + " from sample " +
                             std::to_string(before.from));
    if ((rows[i].from - before.from) % before.size != 0)
      return invalidArgument(row + " begins within a step of " +
                             std::to_string(before.size));
  }
  return BatchSizes(std::move(rows));
}

uint64_t BatchSizes::sizeAfter(uint64_t consumed) const {
  uint64_t size = rows.front().size;
  for (const BatchSize &row : rows)
    if (row.from <= consumed)
      size = row.size;
  return size;
}

std::optional<uint64_t> BatchSizes::samplesIn(uint64_t steps) const {
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    uint64_t here = (rows[i + 1].from - rows[i].from) / rows[i].size;
    if (steps <= here)
      return rows[i].from + steps * rows[i].size;
    steps -= here;
  }
  std::optional<uint64_t> rest = checkedMultiply(steps, rows.back().size);
  return rest ? checkedAdd(rows.back().from, *rest) : std::nullopt;
}

uint64_t BatchSizes::stepsIn(uint64_t samples) const {
  uint64_t steps = 0;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    if (samples < rows[i + 1].from)
      return steps + (samples - rows[i].from) / rows[i].size;
    steps += (rows[i + 1].from - rows[i].from) / rows[i].size;
  }
  return steps + (samples - rows.back().from) / rows.back().size;
}

std::string hocket::trainEntryName(uint64_t microbatches, uint64_t most) {
  std::string name(kTrainEntry);
  return microbatches == most ? name
                              : name + "." + std::to_string(microbatches);
}

std::optional<uint64_t> hocket::microbatchesOfEntry(std::string_view entry,
                                                    uint64_t most) {
  if (entry == kTrainEntry)
    return most;
  if (!isTrainEntry(entry))
    return std::nullopt;
  std::string_view digits = entry.substr(kTrainEntry.size() + 1);
  uint64_t number = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool isNumber = error == std::errc() && end == digits.data() + digits.size();
  // One spelling for each number.
  return isNumber && number > 0 && trainEntryName(number, most) == entry
             ? std::optional(number)
             : std::nullopt;
}

bool hocket::isTrainEntry(std::string_view entry) {
  return entry == kTrainEntry ||
         (entry.starts_with(kTrainEntry) && entry[kTrainEntry.size()] == '.');
}
