//===- GpuPlansTest.cpp - Models trained on emulated GPUs -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Executables of `--target cuda`, on GPUs that do everything as early or as
/// late as they may (test/emulator), against one rank of the cpu target: losses
/// of a few steps and all state at the end, in fp32. There is a plan of every
/// kind. Each is trained instruction by instruction, then with its steps as
/// CUDA graphs and in other orders: that gives the same bits.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/ProgramGroups.h"
#include "runtime/program/RankPlace.h"
#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

/// Some of the plans of a table, for a model.
struct Kind {
  const ModelRow *model;
  std::span<const PlanRow> plans;
  std::vector<std::string> names;
};

class GpuPlans : public TrainedPlans,
                 public testing::WithParamInterface<PlanCase> {
protected:
  /// The second is of weights and moments that the first has changed.
  static constexpr uint64_t fewSteps = 2;

  /// In orders of `seed`, which each run begins anew.
  Outcome onGpus(const SharedProgram &program, GraphUse graphs, uint64_t seed) {
    useEmulatedGpus({.count = 8, .seed = seed});
    TrainingOptions options;
    options.steps = fewSteps;
    options.graphs = graphs;
    options.logFile = folder + "/gpu.jsonl";
    options.saveDir = folder + "/gpu";
    std::atomic<unsigned> recorded = 0;
    options.finished = [&](Executor &executor) {
      recorded += executor.isCaptured("train_step");
    };
    train(program, options);
    EXPECT_EQ(recorded, graphs == GraphUse::On ? countRanks(*program) : 0U);
    if (graphs == GraphUse::Auto)
      EXPECT_TRUE(countsRows(*program));
    if (HasFatalFailure())
      return {};
    if (GetParam().model == &expertsRunAgain)
      EXPECT_NE(readFile(options.logFile, 1 << 20)->find("\"rerun\":true"),
                std::string::npos);
    return outcomeOf("gpu", fewSteps);
  }

  /// Whether the host has to know how many rows ranks exchange, so that a step
  /// is no graph.
  static bool countsRows(const program::Program &program) {
    for (const program::Role &role : program.roles())
      for (const program::Sequence &sequence : role.sequences())
        for (const program::Instruction &instruction : sequence.instructions())
          if (instruction.collective().has_rows())
            return true;
    return false;
  }

  static constexpr char precision[] = "precision: FP32";
};

TEST_P(GpuPlans, TrainTheModelOfTheCpuTarget) {
  auto [model, plan] = GetParam();
  const Outcome &one = oneRank(*model, plan->microbatches, fewSteps);
  SharedProgram program = compile(*model, *plan, precision, "cuda");
  Outcome plain = onGpus(program, GraphUse::Off, 1);
  if (HasFatalFailure())
    return;
  expectSame(plain, one);
  Outcome graphs =
      onGpus(program, countsRows(*program) ? GraphUse::Auto : GraphUse::On, 2);
  EXPECT_EQ(graphs.losses, plain.losses);
  EXPECT_EQ(graphs.norms, plain.norms);
  EXPECT_EQ(graphs.state, plain.state);
}

const PlanRow one = {"One", "", 2};

std::vector<Kind> kinds() {
  std::vector<Kind> all = {
      // Its embedding, which is tied, is on the first and on the last stage, or
      // on a rank where the pipeline turns.
      {&gpt, schedulePlans(), {}},
      // Unlike stages; gradients in buckets; what is computed again; all of it.
      {&gpt,
       densePlans(),
       {"Pp2Tp2Sp", "EmbeddingAlone", "SplitBuckets", "Selective", "Full",
        "Uniform2", "Block1Zero3", "Pp2Auto", "Pp2Dp2Tp2Chunks"}},
      {&llama, densePlans(), {"Dp2Zero3", "ZeroBubbleV"}},
      {&llama,
       contextPlans(),
       {"Cp2", "Dp2Cp2Zero3", "Cp2AllToAll", "Pp2Cp2AllToAll", "Cp2Ring",
        "Pp2Cp2Ring"}},
      {&sliding, contextPlans(), {"Cp2"}},
      {&experts,
       expertPlans(),
       {"Pp2Ep2", "Cp2Ep2", "Tp2Ep2Etp1", "Tp4Etp2Zero1"}},
      {&droppingExperts, expertPlans(), {"Ep2"}},
      {&expertsWithDropout, expertPlans(), {"Cp2Ep2", "Tp2Ep2Etp1"}},
      {&expertsRunAgain, expertPlans(), {"Pp2Ep2", "Tp2Ep2Etp1"}},
      {&gptWithDropout, dropoutPlans(), {"Pp2", "Dp2Tp2Full", "Cp2AllToAll"}},
      {&llamaOnDocuments,
       contextPlans(),
       {"Dp2Cp2Zero3", "Cp2AllToAll", "Pp2Cp2Ring"}},
      {&dropoutOnDocuments, dropoutPlans(), {"Dp2Tp2Full", "Dp2Cp2Tp2"}},
      {&slidingOnDocuments, contextPlans(), {"Cp4Ring"}},
      {&capped, dropoutPlans(), {"Dp2Tp2Full", "Cp2AllToAll"}},
      {&cappedOnDocuments, contextPlans(), {"Cp4Ring"}},
      {&latentWithDropout, dropoutPlans(), {"Dp2Tp2Full", "Cp2AllToAll"}},
      {&latentExperts, expertPlans(), {"Pp2Ep2"}},
      {&sloped, dropoutPlans(), {"Dp2Tp2Full", "Cp2AllToAll"}},
      {&relative, dropoutPlans(), {"Dp2Tp2Full", "Cp2AllToAll"}},
      {&relativeOnDocuments, contextPlans(), {"Cp4Ring"}},
      {&relativeBert, densePlans(), {"Pp2Dp2Tp2"}},
      {&prefixed, contextPlans(), {"Cp2AllToAll", "Pp2Cp2Ring"}},
      {&relativePrefixed, dropoutPlans(), {"Dp2Tp2Full"}},
      {&stateSpace, contextPlans(), {"Pp2Cp2Ring"}},
      {&twoStacks, densePlans(), {"Dp2Zero3", "Tp2Sp", "Pp2Dp2Tp2"}},
      {&twoStacks, contextPlans(), {"Pp2Cp2Ring"}},
      {&twoStacksWithDropout, dropoutPlans(), {"Dp2Tp2Full"}},
      {&sighted, densePlans(), {"Pp2Dp2Tp2", "Tp2Sp"}},
      {&sightedByProjector, densePlans(), {"Dp2Zero3"}},
      {&retrieving, densePlans(), {"Pp2Dp2Tp2", "Tp2Sp", "Dp2Zero3"}},
      {&retrieving, contextPlans(), {"Pp2Cp2Ring"}},
      {&retrievingWithDropout, dropoutPlans(), {"Dp2Tp2Full"}},
      {&bert, densePlans(), {"Pp2Dp2Tp2", "Dp2Zero3"}},
      {&bert, contextPlans(), {"Cp2AllToAll", "Pp2Cp2Ring"}},
      {&bertWithDropout, dropoutPlans(), {"Dp2Tp2Full"}},
      {&bertClasses, densePlans(), {"Pp2Dp2Tp2"}},
      {&bertChoices, densePlans(), {"Dp2Tp4Zero3"}},
  };
  all.push_back({&gpt, {&one, 1}, {}});
  // Among these four, every way to keep the load of experts even.
  for (const ModelRow &model : balancedExperts().subspan(2, 4))
    all.push_back({&model, {&one, 1}, {}});
  return all;
}

/// The rows of `kind.names`, all if it is empty; one that is not there is of a
/// mesh that nobody compiles.
std::vector<PlanCase> cases() {
  static const PlanRow missing = {"Missing", "missing", 1};
  std::vector<PlanCase> list;
  for (const Kind &kind : kinds()) {
    if (kind.names.empty())
      for (const PlanRow &plan : kind.plans)
        list.push_back({kind.model, &plan});
    for (const std::string &name : kind.names) {
      auto row = std::ranges::find(kind.plans, name, &PlanRow::name);
      list.push_back({kind.model, row == kind.plans.end() ? &missing : &*row});
    }
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Emulated, GpuPlans, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name(); });

} // namespace
