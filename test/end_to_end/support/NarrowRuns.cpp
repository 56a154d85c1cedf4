//===- NarrowRuns.cpp - How far apart runs in bf16 are --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/NarrowRuns.h"

#include "runtime/executor/Executor.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::test;

Difference test::operator|(const Difference &a, const Difference &b) {
  return {std::max(a.loss, b.loss), std::max(a.norm, b.norm),
          std::max(a.state, b.state)};
}

std::ostream &test::operator<<(std::ostream &out,
                               const Difference &difference) {
  return out << "loss " << difference.loss << ", norm " << difference.norm
             << ", state " << difference.state;
}

Difference test::differenceOf(const Outcome &a, const Outcome &b) {
  Difference difference;
  EXPECT_EQ(a.losses.size(), b.losses.size());
  EXPECT_EQ(a.state.size(), b.state.size());
  for (size_t i = 0; i < std::min(a.losses.size(), b.losses.size()); ++i) {
    double loss = std::abs(a.losses[i] / b.losses[i] - 1),
           norm = std::abs(a.norms[i] / b.norms[i] - 1);
    difference = difference | Difference{loss, norm, 0};
  }
  for (const auto &[name, values] : b.state)
    if (a.state.count(name))
      difference.state = std::max(difference.state,
                                  relativeDistance(a.state.at(name), values));
  return difference;
}

/// Every weight by at most the unit roundoff of bf16; they are f32.
static void move(Executor &executor, unsigned seed) {
  std::mt19937 random(seed);
  for (const program::ParameterSlice &slice : executor.role().slices()) {
    if (slice.state() != "value")
      continue;
    std::vector<float> values(executor.sliceBytes(slice) / sizeof(float));
    uint64_t bytes = values.size() * sizeof(float);
    ASSERT_TRUE(executor.readSlice(slice, 0, values.data(), bytes).ok());
    for (float &value : values)
      value *= 1 + (float(random()) * 0x1p-31F - 1) * 0x1p-9F;
    ASSERT_TRUE(executor.writeSlice(slice, 0, values.data(), bytes).ok());
  }
}

Outcome NarrowRuns::runMoved(const SharedProgram &program, uint64_t until,
                             unsigned seed) {
  std::string name = "moved" + std::to_string(seed);
  TrainingOptions options;
  options.steps = until;
  options.logFile = folder + "/" + name + ".jsonl";
  options.saveDir = folder + "/" + name;
  options.started = [&](Executor &executor) { move(executor, seed); };
  train(program, std::move(options));
  return HasFatalFailure() ? Outcome() : outcomeOf(name, until);
}

Difference NarrowRuns::bandOf(const SharedProgram &program, uint64_t until) {
  std::vector<Outcome> moved;
  for (unsigned seed = 0; seed < 8; ++seed)
    moved.push_back(runMoved(program, until, seed));
  Difference band;
  for (const Outcome &a : moved)
    for (const Outcome &b : moved)
      band = band | differenceOf(a, b);
  return band;
}
