//===- StepsCheckTest.cpp - Steps that do not go together -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/check/ProgramCheck.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <gtest/gtest.h>

using namespace hocket;
using program::Program;

namespace {

/// Batches of 4, two microbatches of 2; at first of `sizes`, from samples on.
Program growing(const std::vector<std::pair<uint64_t, uint64_t>> &sizes) {
  Program program = test::tinyModel();
  for (auto [size, from] : sizes) {
    auto *row = program.mutable_training()->add_batch_sizes();
    row->set_size(size);
    row->set_from(from);
  }
  return program;
}

/// A step of the first microbatch, called `name`.
void addStep(Program &program, const std::string &name) {
  program::Role &role = *program.mutable_roles(0);
  program::Entry entry = role.entries(0);
  EXPECT_EQ(entry.name(), "train_step");
  entry.set_name(name);
  auto *runs = entry.mutable_runs();
  for (int i = runs->size(); i-- > 0;)
    if (runs->at(i).microbatch() > 0)
      runs->DeleteSubrange(i, 1);
  *role.add_entries() = entry;
}

std::string reasonOf(const Program &program) {
  std::vector<ProgramFault> faults = findProgramFaults(program);
  if (faults.empty())
    return "sound";
  const ProgramFault &fault = faults.front();
  return "V" + std::to_string(unsigned(fault.rule)) + ": " + fault.place +
         ": " + fault.what;
}

TEST(GrowingBatchCheck, ASoundOneHasAStepForEachSize) {
  Program program = growing({{2, 0}, {4, 6}});
  addStep(program, "train_step.1");
  EXPECT_EQ(reasonOf(program), "sound");
}

TEST(GrowingBatchCheck, StepsAreThoseOfTheSizes) {
  EXPECT_EQ(reasonOf(growing({{2, 0}, {4, 6}})),
            "V25: rank 0, role 0 'all': has no entry 'train_step.1', a step "
            "that the batch grows through");
  Program fixed = growing({});
  addStep(fixed, "train_step.1");
  EXPECT_EQ(reasonOf(fixed),
            "V25: rank 0, role 0 'all': has an entry 'train_step.1', which is "
            "a step of none of the batch's sizes");
  // A step that says less than it does.
  Program program = growing({{2, 0}, {4, 6}});
  addStep(program, "train_step.1");
  program.mutable_roles(0)
      ->mutable_entries()
      ->rbegin()
      ->mutable_runs()
      ->at(0)
      .set_microbatch(1);
  EXPECT_EQ(reasonOf(program),
            "V25: rank 0, role 0 'all', sequence 0 'microbatch': takes in 1 "
            "microbatches in 1 runs of a step of 1 (entry 'train_step.1')");
}

TEST(GrowingBatchCheck, SizesAreWholeSteps) {
  EXPECT_EQ(reasonOf(growing({{2, 0}, {4, 5}})),
            "V2: training: batch size 4 from sample 5 begins within a step of "
            "2");
  EXPECT_EQ(reasonOf(growing({{2, 0}})),
            "V2: training: the batch grows to 2, the global batch is 4");
  EXPECT_EQ(reasonOf(growing({{1, 0}, {4, 6}})),
            "V2: training: batch size 1 is no multiple of a global microbatch "
            "of 2");
  EXPECT_EQ(reasonOf(growing({{4, 0}, {2, 4}, {4, 8}})),
            "V2: training: batch size 2 from sample 4 does not grow: the one "
            "before it is 4 from sample 0");
}

//===----------------------------------------------------------------------===//
// Steps that are run again
//===----------------------------------------------------------------------===//

/// What the entry at `index` runs (a step, an evaluation), called `name`.
program::Entry &addEntry(Program &program, int index, const std::string &name) {
  program::Role &role = *program.mutable_roles(0);
  program::Entry entry = role.entries(index);
  entry.set_name(name);
  return *role.add_entries() = entry;
}

TEST(RerunCheck, ASoundOneRunsAllAgain) {
  Program program = growing({});
  addEntry(program, 0, "rerun.train_step");
  addEntry(program, 1, "rerun.eval_step");
  EXPECT_EQ(reasonOf(program), "sound");
}

TEST(RerunCheck, OnlyWhatTrainsOrEvaluatesIsRunAgain) {
  Program program = growing({});
  addEntry(program, 0, "rerun.decode");
  EXPECT_EQ(reasonOf(program),
            "V25: rank 0, role 0 'all': has an entry 'rerun.decode', which "
            "runs none again that trains or evaluates");
}

TEST(RerunCheck, NotSomeOfThem) {
  Program program = growing({});
  addEntry(program, 0, "rerun.train_step");
  EXPECT_EQ(reasonOf(program),
            "V25: rank 0, role 0 'all': has no entry 'rerun.eval_step', and "
            "runs others again");
}

TEST(RerunCheck, AllMicrobatchesAreRunAgain) {
  Program program = growing({});
  addEntry(program, 0, "rerun.train_step").mutable_runs(1)->set_microbatch(0);
  EXPECT_EQ(reasonOf(program),
            "V25: rank 0, role 0 'all', sequence 0 'microbatch': takes in 1 "
            "microbatches in 2 runs of a step of 2 (entry "
            "'rerun.train_step')");
}

} // namespace
