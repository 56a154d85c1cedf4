//===- IssueOrderTest.cpp - One instruction after the other ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/IssueOrder.h"

#include "runtime/program/check/ProgramCheck.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hocket;
using program::Program;

namespace {

/// Two roles of a rank each: they sum in group 0 on stream 1 and in group 1 on
/// stream 2. Rank 1 issues them in the other order if `crossed`.
Program twoGroups(bool crossed) {
  Program program;
  for (const char *name : {"dp", "tp"}) {
    program::Group *group = program.add_groups();
    group->set_name(name);
    auto *members = group->add_members();
    members->add_ranks(0);
    members->add_ranks(1);
  }
  for (uint32_t rank : {0U, 1U}) {
    program::Role *role = program.add_roles();
    role->add_ranks(rank);
    role->set_streams(3);
    program::Buffer *buffer = role->add_buffers();
    buffer->set_dtype(program::F32);
    buffer->add_shape(4);
    program::Sequence *sequence = role->add_sequences();
    for (uint32_t i : {0U, 1U}) {
      uint32_t group = crossed && rank == 1 ? 1 - i : i;
      program::Instruction *instruction = sequence->add_instructions();
      instruction->set_stream(1 + group);
      instruction->mutable_collective()->set_op("all_reduce");
      instruction->mutable_collective()->set_reduction("sum");
      instruction->mutable_collective()->set_group(group);
    }
    program::Entry *entry = role->add_entries();
    entry->set_name("train_step");
    entry->add_runs();
  }
  return program;
}

TEST(IssueOrder, StreamsThatAllIssueInOneOrder) {
  EXPECT_TRUE(endsInIssueOrder(twoGroups(false)));
}

// The streams meet whatever the order of issue; a device that holds them to it
// would not end.
TEST(IssueOrder, StreamsThatTwoRanksIssueInTwoOrders) {
  EXPECT_FALSE(endsInIssueOrder(twoGroups(true)));
}

// One group by two streams is two communicators, in one order or in two.
TEST(IssueOrder, StreamsOfOneGroup) {
  for (bool crossed : {false, true}) {
    Program program = twoGroups(crossed);
    for (program::Role &role : *program.mutable_roles())
      for (auto &instruction :
           *role.mutable_sequences(0)->mutable_instructions())
        if (instruction.collective().group() == 1) {
          instruction.mutable_collective()->set_group(0);
          instruction.mutable_collective()->set_reduction("max");
        }
    EXPECT_EQ(endsInIssueOrder(program), !crossed);
  }
}

TEST(IssueOrder, RanksThatSendAroundARing) {
  test::ProgramBuilder builder;
  builder.ranks(3);
  uint32_t out = builder.buffer("out", program::F32, {4});
  uint32_t in = builder.buffer("in", program::F32, {4});
  builder.sequence("step");
  builder.ring(out, in);
  builder.onStream(1);
  builder.entry("train_step").add_runs();
  EXPECT_TRUE(endsInIssueOrder(builder.finish()));
}

/// Each of two ranks sends to the other by stream 2 and receives by stream 1,
/// the receive first.
Program twoDirections(uint32_t sent, uint32_t received) {
  test::ProgramBuilder builder;
  builder.ranks(2);
  uint32_t buffers[] = {builder.buffer("in", program::F32, {4}),
                        builder.buffer("out", program::F32, {4})};
  builder.sequence("step");
  for (bool send : {false, true}) {
    auto *part = builder.instruction().mutable_transfer()->add_parts();
    part->set_send(send);
    part->set_relative(true);
    part->set_peer(1);
    part->set_buffer(buffers[send]);
    part->set_tag(send ? sent : received);
    builder.onStream(send ? 2 : 1);
  }
  builder.entry("train_step").add_runs();
  return builder.finish();
}

bool waitsForEver(const Program &program) {
  std::vector<ProgramFault> faults = findProgramFaults(program);
  return std::ranges::any_of(faults, [](const ProgramFault &fault) {
    return fault.rule == ProgramRule::Progress;
  });
}

// One tag is one communicator, which NCCL gives one order on all streams. Both
// ranks wait for what comes before anything leaves.
TEST(IssueOrder, MessagesOfOneTagOnTwoStreams) {
  EXPECT_TRUE(waitsForEver(twoDirections(0, 0)));
}

// Of two tags, by turns, the receive of one is held up by nothing.
TEST(IssueOrder, MessagesOfTwoTagsOnTwoStreams) {
  Program program = twoDirections(0, 0);
  // Rank 1 in a role of its own, whose tags are the other way round.
  *program.add_roles() = program.roles(0);
  program.mutable_roles(0)->mutable_ranks()->Truncate(1);
  program.mutable_roles(1)->clear_ranks();
  program.mutable_roles(1)->add_ranks(1);
  for (uint32_t rank : {0U, 1U})
    for (int i : {0, 1})
      program.mutable_roles(int(rank))
          ->mutable_sequences(0)
          ->mutable_instructions(i)
          ->mutable_transfer()
          ->mutable_parts(0)
          ->set_tag(uint32_t(i) == rank ? 1 : 0);
  EXPECT_FALSE(waitsForEver(program));
  EXPECT_FALSE(endsInIssueOrder(program));
  EXPECT_EQ(streamsThatCommunicate(program), 2U);
}

} // namespace
