//===- BatchGrowth.cpp - Batches that grow --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/BatchGrowth.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::spec;

/// Of different batches: each has a step of its own in the program.
static constexpr int64_t mostSizes = 1024;

bool spec::batchGrows(const Training &training) {
  return training.has_rampup_batch_size() ||
         training.batch_size_steps_size() > 0;
}

//===----------------------------------------------------------------------===//
// S46
//===----------------------------------------------------------------------===//

static void checkRampup(const Training &training, ConstraintErrors &errors) {
  const std::string field = "training.rampup_batch_size";
  const RampupBatchSize &rampup = training.rampup_batch_size();
  if (!rampup.has_start() || !rampup.has_increment() || !rampup.has_samples())
    return errors.add(46, field,
                      field + " wants start, increment and samples, as in "
                              "{start: 32 increment: 32 samples: 1000000}");
  int64_t whole = training.global_batch_size(), rise = whole - rampup.start();
  if (rise <= 0)
    return errors.add(46, field + ".start",
                      field + ".start is " + std::to_string(rampup.start()) +
                          "; write less than global_batch_size (" +
                          std::to_string(whole) +
                          "), to which the batch grows");
  if (rise % rampup.increment() != 0)
    return errors.add(46, field + ".increment",
                      field + ".increment is " +
                          std::to_string(rampup.increment()) +
                          "; write a divisor of global_batch_size - start (" +
                          std::to_string(rise) + ")");
  if (rise / rampup.increment() > mostSizes)
    errors.add(46, field + ".increment",
               "the batch grows " + std::to_string(rise / rampup.increment()) +
                   " times; write a larger increment, for at most " +
                   std::to_string(mostSizes));
}

static void checkRow(const Training &training, int row,
                     ConstraintErrors &errors) {
  const std::string field =
      "training.batch_size_steps[" + std::to_string(row) + "]";
  const BatchSizeStep &step = training.batch_size_steps(row);
  if (!step.has_batch_size() || !step.has_samples())
    return errors.add(46, field,
                      field + " wants batch_size and samples, as in "
                              "{batch_size: 256 samples: 1000000}");
  auto checkRange = [&](const std::string &name, int64_t value, int64_t most) {
    if (value < 1 || value > most)
      errors.add(4, field + "." + name,
                 field + "." + name + " is " + std::to_string(value) +
                     "; write a number from 1 to " + std::to_string(most));
  };
  checkRange("batch_size", step.batch_size(), largestBatch);
  checkRange("samples", step.samples(), manySteps);
  bool isLast = row + 1 == training.batch_size_steps_size();
  int64_t next = isLast ? training.global_batch_size()
                        : training.batch_size_steps(row + 1).batch_size();
  if (step.batch_size() >= next)
    errors.add(46, field + ".batch_size",
               "the batch grows, but " + field + ".batch_size is " +
                   std::to_string(step.batch_size()) +
                   ", and behind it comes " + std::to_string(next) +
                   (isLast ? " (global_batch_size)" : "") +
                   "; write a smaller one");
}

void spec::checkBatchGrowth(const Training &training,
                            ConstraintErrors &errors) {
  int rows = training.batch_size_steps_size();
  if (training.has_rampup_batch_size() && rows > 0)
    return errors.add(46, "training.rampup_batch_size",
                      "training.rampup_batch_size and batch_size_steps both "
                      "say how the batch grows; leave one out");
  if (training.has_rampup_batch_size())
    return checkRampup(training, errors);
  if (rows > mostSizes)
    return errors.add(46, "training.batch_size_steps",
                      "training.batch_size_steps has " + std::to_string(rows) +
                          " rows; write at most " + std::to_string(mostSizes));
  for (int row = 0; row < rows && errors.empty(); ++row)
    checkRow(training, row, errors);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

namespace {
/// The sizes of a run, in whole steps.
class Growth {
public:
  /// Steps of `size` until `end` samples were consumed. A row whose end the
  /// step before it has reached has no steps.
  void add(uint64_t size, uint64_t end) {
    if (consumed >= end)
      return;
    rows.push_back({consumed, size});
    consumed += (end - consumed + size - 1) / size * size;
  }
  BatchSizes finish(uint64_t size) {
    rows.push_back({consumed, size});
    return *BatchSizes::create(std::move(rows));
  }

private:
  std::vector<BatchSize> rows;
  uint64_t consumed = 0;
};
} // namespace

BatchSizes spec::batchSizesOf(const Training &training) {
  auto whole = static_cast<uint64_t>(training.global_batch_size());
  Growth growth;
  if (training.has_rampup_batch_size()) {
    const RampupBatchSize &rampup = training.rampup_batch_size();
    auto start = static_cast<uint64_t>(rampup.start()),
         increment = static_cast<uint64_t>(rampup.increment()),
         samples = static_cast<uint64_t>(rampup.samples());
    uint64_t count = (whole - start) / increment;
    // Megatron divides the samples as a float; a step begins at whole ones.
    for (uint64_t i = 0; i < count; ++i)
      growth.add(start + i * increment,
                 static_cast<uint64_t>(
                     (static_cast<__uint128_t>(samples) * (i + 1) + count - 1) /
                     count));
  }
  uint64_t end = 0;
  for (const BatchSizeStep &step : training.batch_size_steps()) {
    end += static_cast<uint64_t>(step.samples());
    growth.add(static_cast<uint64_t>(step.batch_size()), end);
  }
  return growth.finish(whole);
}

void spec::setBatchSizes(const BatchSizes &sizes, Training &training) {
  training.clear_rampup_batch_size();
  training.clear_batch_size_steps();
  const std::vector<BatchSize> &rows = sizes.sizes();
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    BatchSizeStep &step = *training.add_batch_size_steps();
    step.set_batch_size(static_cast<int64_t>(rows[i].size));
    step.set_samples(static_cast<int64_t>(rows[i + 1].from - rows[i].from));
  }
}
