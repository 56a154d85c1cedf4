//===- CompiledModel.h - A specification, compiled and run ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The way that a user's model goes: specification, program, executor on the
/// cpu driver.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_COMPILEDMODEL_H
#define HOCKET_TEST_END_TO_END_SUPPORT_COMPILEDMODEL_H

#include "passes/planning/strategy/StrategyProblem.h"
#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/executor/Executor.h"
#include "test/end_to_end/support/TrainedModel.h"

#include <memory>

namespace hocket {
struct CompileRequest;
}

namespace hocket::test {

/// Kernels for this machine's processor alone, and those that an earlier
/// program of this process, or of this run of tests, had, from there.
void shareKernels(CompileRequest &request);

struct CompileChoice {
  std::vector<std::string> overrides; ///< As of `--set`.
  bool fuse = true;
  /// Options that stand for fields, and their values.
  std::vector<std::pair<std::string, std::string>> flags = {};
  std::string target = "cpu";
  bool trains = true, writes = false; ///< `--entries`
  int64_t prefillTokens = 3;          ///< `--prefill-tokens`
  bool invariantGemms = false;        ///< `--invariant-gemms`
  /// Of a sequence that documents and ranks share; 0: as a user gets them.
  int64_t leastPart = 0;
  /// That a kernel of rows sums; 0: as a user gets them.
  int64_t leastSummedRows = 0;
};

/// The program of the textproto `spec`. Failures fail the test; the program is
/// empty then.
program::Program compileProgram(const std::string &spec,
                                const CompileChoice &choice = {});

/// The same from level to level: what each writes as text, the next reads.
program::Program compileByLevels(const std::string &spec,
                                 const CompileChoice &choice);

/// The bytes that the fullest rank of the same needs of its device, with what
/// the target needs beside the arena.
int64_t bytesNeeded(const std::string &spec, const CompileChoice &choice);

/// The text of the same at level xf.
std::string compileXf(const std::string &spec,
                      const CompileChoice &choice = {});

/// What `hocket strategy export` makes of the same, on as many slow devices
/// with quick links as the plan has ranks. A failure fails the test; the
/// problem is empty then.
planning::StrategyProblem strategyProblem(const std::string &spec,
                                          const CompileChoice &choice,
                                          int64_t ranks);

class CompiledModel {
public:
  /// With first values, and prepared. Not `valid` if that failed.
  explicit CompiledModel(program::Program program);

  /// One step; `batches` are its microbatches, `step` the steps done before.
  StepNumbers run(uint64_t step, double learningRate,
                  const std::vector<data::Batch> &batches);
  /// The loss of the entry eval_step.
  double evaluate(const data::Batch &batch);
  /// The log-probability of each label, of the same entry.
  std::vector<float> labels(const data::Batch &batch);

  /// Everything the executor keeps.
  ModelState state();

  bool valid = false;

private:
  void prepare(program::Program program);

  std::unique_ptr<comm::CommunicatorSet> group;
  std::unique_ptr<Executor> executor;
};

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_COMPILEDMODEL_H
