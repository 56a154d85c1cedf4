//===- TrainedPlans.h - Models trained under plans --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_TRAINEDPLANS_H
#define HOCKET_TEST_END_TO_END_SUPPORT_TRAINEDPLANS_H

#include "passes/planning/strategy/StrategyProblem.h"
#include "runtime/program/program.pb.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/KeptOutcomes.h"
#include "test/end_to_end/support/PlanTable.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <memory>

namespace hocket::test {

using SharedProgram = std::shared_ptr<const program::Program>;

/// Trains with all ranks as threads of this process, in a folder of its own.
/// Of every run it is checked that the memory of each rank is what the program
/// planned.
class TrainedPlans : public TrainingFolder {
protected:
  static constexpr uint64_t steps = 6; ///< Two of them of warm-up.

  /// A step is 12 sequences of 16 tokens. `training` has more fields of that
  /// message. `--recompute auto` gets half the memory that it can make a
  /// difference to.
  static SharedProgram compile(const ModelRow &model, const PlanRow &plan,
                               const std::string &training = "",
                               const std::string &target = "cpu");

  /// The problem of how the same ops are split, over `plan`'s mesh.
  static planning::StrategyProblem strategiesOf(const ModelRow &model,
                                                const PlanRow &plan);

  /// Trains to step `until`, from what the run `load` saved if it is named.
  /// Saves, unless `name` is empty; logs always.
  void train(const SharedProgram &program, uint64_t until,
             const std::string &name, const std::string &load = "");
  void train(const SharedProgram &program, TrainingOptions options);

  /// What the run `name` logged, and saved at step `until` (0: nothing).
  Outcome outcomeOf(const std::string &name, uint64_t until);

  /// The first steps of `model` on one rank of the cpu target in as many
  /// microbatches, in fp32; trained once and remembered by all tests, and by
  /// those of other processes (KeptOutcomes).
  const Outcome &oneRank(const ModelRow &model, int64_t microbatches,
                         uint64_t until = steps);

  /// Losses to 1e-5, as is all state, which steps of rounding have moved.
  static void expectSame(const Outcome &actual, const Outcome &expected);

private:
  /// Every level is an input: but for where they come from, both are the same,
  /// byte for byte.
  static void expectSameByLevels(program::Program whole,
                                 program::Program byLevels);
  static std::string specOf(const ModelRow &model, const PlanRow &plan,
                            const std::string &training);
  static std::string scarceMemory(const ModelRow &model, const PlanRow &plan,
                                  const std::string &training,
                                  const std::string &target);
  /// Bytes that a rank allocated, and the last it used.
  struct MeasuredMemory {
    uint64_t arena = 0, touched = 0;
  };
  static void
  expectPlannedMemory(const program::Program &program,
                      const std::map<unsigned, MeasuredMemory> &measured);
};

/// The words of a plan as options and as fields.
void addWords(const std::string &text, CompileChoice &choice);

/// How far apart states are, of the size of what has been trained.
double relativeDistance(const std::vector<double> &a,
                        const std::vector<double> &b);

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_TRAINEDPLANS_H
