//===- LostEventsTest.cpp - Programs that lack an event -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every wait for an event is taken out of a program in turn. The certificate
/// says of each whether the program needs it. Without one that is needed,
/// emulated GPUs, whose streams do everything as early or as late as events let
/// them, must come to other numbers or to an error under one of a few seeds;
/// without any other, to the same numbers.
///
/// The certificate relies on nothing that the host does. So there are waits
/// that it wants, and that the host's own waiting for an output makes up for,
/// whatever GPUs do: these are the few that need not be seen.
///
//===----------------------------------------------------------------------===//

#include "runtime/program/check/ProgramCheck.h"
#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

const ModelRow small = {"Small",
                        "layers: 2 hidden: 8 heads: 2 ffn: 12 vocab_size: 61 "
                        "max_positions: 16 attention_qkv_bias: false "};

class LostEvents : public TrainedPlans {
protected:
  static constexpr uint64_t fewSteps = 2;

  /// Losses and state after a few steps, or an error's message.
  struct Result {
    std::string error;
    Outcome outcome;
    bool operator==(const Result &other) const {
      return error == other.error && outcome.losses == other.outcome.losses &&
             outcome.state == other.outcome.state;
    }
  };

  Result run(const program::Program &program, uint64_t seed) {
    useEmulatedGpus({.count = 4, .seed = seed});
    // NCCL's own order would do what events are there for.
    ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "0", 1);
    TrainingOptions options;
    options.steps = fewSteps;
    options.data = {tokens()};
    options.logFile = folder + "/run.jsonl";
    options.saveDir = folder + "/run";
    Status status =
        runTraining(std::make_shared<program::Program>(program), options);
    Result result;
    if (status.ok())
      result.outcome = outcomeOf("run", fewSteps);
    else
      result.error = status.message();
    std::filesystem::remove_all(options.saveDir);
    std::filesystem::remove(options.logFile);
    return result;
  }

  void countSeen(const PlanRow &plan);

  size_t needed = 0, seen = 0, redundant = 0;
};

/// A program without one of its waits, and which.
struct Variant {
  program::Program program;
  std::string wait;
};

/// Whether training runs a sequence of the role.
bool isTrained(const program::Role &role, int sequence) {
  for (const program::Entry &entry : role.entries())
    for (const program::Entry::Run &run : entry.runs())
      if (entry.name() == "train_step" && int(run.sequence()) == sequence)
        return true;
  return false;
}

/// `program` without each wait of its training in turn. A record of an event
/// that nobody waits for stands in its place, so that all else stays where it
/// is.
std::vector<Variant> withoutOneWait(const program::Program &program) {
  std::vector<Variant> variants;
  for (int r = 0; r < program.roles_size(); ++r)
    for (int s = 0; s < program.roles(r).sequences_size(); ++s) {
      const auto &sequence = program.roles(r).sequences(s);
      for (int i = 0; i < sequence.instructions_size(); ++i) {
        if (!sequence.instructions(i).has_wait() ||
            !isTrained(program.roles(r), s))
          continue;
        variants.push_back({program, program.roles(r).name() + ", sequence " +
                                         sequence.name() + ", instruction " +
                                         std::to_string(i)});
        program::Role &role = *variants.back().program.mutable_roles(r);
        uint32_t nobodys = role.events();
        role.set_events(nobodys + 1);
        role.mutable_sequences(s)
            ->mutable_instructions(i)
            ->mutable_record()
            ->set_event(nobodys);
      }
    }
  return variants;
}

void LostEvents::countSeen(const PlanRow &plan) {
  constexpr uint64_t seeds = 12;
  SCOPED_TRACE(plan.name);
  SharedProgram program = compile(small, plan, "precision: FP32", "cuda");
  Result sound = run(*program, 1);
  ASSERT_EQ(sound.error, "");
  EXPECT_TRUE(run(*program, 2) == sound);
  for (const Variant &variant : withoutOneWait(*program)) {
    Status certified = checkProgram(variant.program);
    if (certified.ok()) {
      EXPECT_TRUE(run(variant.program, ++redundant) == sound) << variant.wait;
      continue;
    }
    bool differs = false;
    for (uint64_t seed = 1; seed <= seeds && !differs; ++seed)
      differs = !(run(variant.program, seed) == sound);
    if (!differs)
      std::cout << plan.name << ", not seen: " << variant.wait << ": "
                << certified.message() << "\n";
    ++needed;
    seen += differs;
  }
}

#define FEW_TOKENS "training.sequence_length=4 training.global_batch_size=4 "
#define ROWS(number) "training.micro_batch_size=" number " "
#define BUCKETS "plan.bucket_bytes=3000 "

// clang-format off
const PlanRow plans[] = {
    {"Dp2",      "dp=2",      2, FEW_TOKENS ROWS("1") BUCKETS},
    {"Dp2Zero3", "dp=2",      2, FEW_TOKENS ROWS("1") BUCKETS "--zero 3"},
    {"Dp2Tp2",   "dp=2,tp=2", 2, FEW_TOKENS ROWS("1") BUCKETS "--sequence-parallel"},
    {"Pp2",      "pp=2",      2, FEW_TOKENS ROWS("2")},
};
// clang-format on

TEST_F(LostEvents, AreSeen) {
  for (const PlanRow &plan : plans)
    countSeen(plan);
  std::cout << needed << " waits are needed, " << seen << " of them seen; "
            << redundant << " are redundant\n";
  EXPECT_GE(needed, 40u);
  EXPECT_GE(double(seen), 0.95 * double(needed));
}

} // namespace
