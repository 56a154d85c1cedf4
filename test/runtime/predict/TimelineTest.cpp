//===- TimelineTest.cpp - Programs on simulated time ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/Timeline.h"

#include <gtest/gtest.h>
#include <map>

using namespace hocket;
using program::Instruction;
using program::Program;
using program::Role;

namespace {

/// Seconds by the instruction's source: "F 3" takes 3.
class NamedCosts : public InstructionCosts {
public:
  double seconds(const Instruction &instruction, const Role &,
                 const Program &) const override {
    const std::string &source = instruction.source();
    return std::stod(source.substr(source.find(' ')));
  }
  std::string description() const override { return "named"; }
};

/// A program of `ranks` roles of one rank each, with one group of all.
class Ring {
public:
  explicit Ring(uint32_t ranks) {
    auto *group = program.add_groups();
    group->set_name("pp");
    auto *members = group->add_members();
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      members->add_ranks(rank);
      Role *role = program.add_roles();
      role->set_name("role" + std::to_string(rank));
      role->add_ranks(rank);
      role->set_streams(3);
      role->set_events(64);
      role->add_buffers();
      role->add_entries()->set_name("train_step");
    }
  }

  /// Starts a sequence of one run; instructions go to it.
  void sequence(uint32_t rank, const std::string &name, uint32_t microbatch) {
    Role &role = *program.mutable_roles(int(rank));
    auto *run = role.mutable_entries(0)->add_runs();
    run->set_sequence(uint32_t(role.sequences_size()));
    run->set_microbatch(microbatch);
    current = role.add_sequences();
    current->set_name(name);
  }
  Instruction &add(const std::string &source, uint32_t stream = 0) {
    Instruction *instruction = current->add_instructions();
    instruction->set_source(source);
    instruction->set_stream(stream);
    return *instruction;
  }
  void compute(const std::string &source, uint32_t stream = 0) {
    add(source, stream).mutable_fill();
  }
  void record(uint32_t event, uint32_t stream = 0) {
    add("record 0", stream).mutable_record()->set_event(event);
  }
  void wait(uint32_t event, uint32_t stream = 0) {
    add("wait 0", stream).mutable_wait()->set_event(event);
  }
  void message(bool send, uint32_t peer, uint32_t tag, uint32_t stream = 0,
               const std::string &source = "message 0") {
    auto *part = add(source, stream).mutable_transfer()->add_parts();
    part->set_send(send);
    part->set_peer(peer);
    part->set_tag(tag);
  }

  StatusOr<double> run() {
    return predictTimeline(
        program, "train_step", NamedCosts(), [&](const PredictedSpan &span) {
          const auto &instruction = program.roles(int(span.role))
                                        .sequences(int(span.sequence))
                                        .instructions(int(span.instruction));
          spans[{span.role, instruction.source()}] = span;
        });
  }

  Program program;
  std::map<std::pair<uint32_t, std::string>, PredictedSpan> spans;

private:
  program::Sequence *current = nullptr;
};

/// The steps of 1F1B on one of `stages` ranks: F and B of each microbatch, in
/// order, with messages that take no time.
void writeOneForwardOneBackward(Ring &ring, uint32_t stage, uint32_t stages,
                                uint32_t microbatches) {
  auto forward = [&](uint32_t m) {
    ring.sequence(stage, "F", m);
    if (stage > 0)
      ring.message(false, stage - 1, 0);
    ring.compute("F 1");
    ring.record(0);
    ring.wait(0, 1);
    if (stage + 1 < stages)
      ring.message(true, stage + 1, 0, 1);
  };
  auto backward = [&](uint32_t m) {
    ring.sequence(stage, "B", m);
    if (stage + 1 < stages)
      ring.message(false, stage + 1, 1);
    ring.compute("B 2");
    ring.record(1);
    ring.wait(1, 2);
    if (stage > 0)
      ring.message(true, stage - 1, 1, 2);
  };
  uint32_t warmup = std::min(stages - stage - 1, microbatches);
  for (uint32_t m = 0; m < warmup; ++m)
    forward(m);
  for (uint32_t m = warmup; m < microbatches; ++m) {
    forward(m);
    backward(m - warmup);
  }
  for (uint32_t m = microbatches - warmup; m < microbatches; ++m)
    backward(m);
}

} // namespace

TEST(Timeline, StreamsRunBesideEachOtherAndWaitForEvents) {
  Ring ring(1);
  ring.sequence(0, "s", 0);
  ring.compute("a 2");
  ring.compute("b 5", 1); // Issued when a is over.
  ring.record(7, 1);
  ring.compute("c 1");
  ring.wait(7);
  ring.compute("d 1");
  auto end = ring.run();
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(ring.spans[std::pair(0u, "b 5")].begin, 2);
  EXPECT_EQ(ring.spans[std::pair(0u, "c 1")].begin, 2);
  EXPECT_EQ(ring.spans[std::pair(0u, "d 1")].begin, 7);
  EXPECT_EQ(*end, 8);
}

TEST(Timeline, AWaitIsForTheLastRecordBeforeIt) {
  Ring ring(1);
  ring.sequence(0, "s", 0);
  ring.wait(3); // Nothing was recorded: no wait.
  ring.compute("a 4", 1);
  ring.record(3, 1);
  ring.wait(3, 2);
  ring.compute("b 1", 2); // After a.
  ring.compute("c 9", 1);
  ring.record(3, 1);
  ring.compute("d 1", 2); // Not after c.
  auto end = ring.run();
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(ring.spans[std::pair(0u, "b 1")].begin, 4);
  EXPECT_EQ(ring.spans[std::pair(0u, "d 1")].begin, 5);
  EXPECT_EQ(*end, 13);
}

TEST(Timeline, ACollectiveEndsForAllWhenTheLastHasCome) {
  Ring ring(3);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    ring.sequence(rank, "s", 0);
    ring.compute("a " + std::to_string(1 + rank));
    ring.add("reduce 10").mutable_collective()->set_op("all_reduce");
  }
  auto end = ring.run();
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(*end, 13);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const PredictedSpan &span = ring.spans[std::pair(rank, "reduce 10")];
    EXPECT_EQ(span.begin, 1 + rank);
    EXPECT_EQ(span.wait, 2 - rank);
    EXPECT_EQ(span.end, 13);
  }
}

/// (P - 1)(F + B) of bubble, whatever the number of microbatches.
TEST(Timeline, OneForwardOneBackwardTakesWhatItsFormulaSays) {
  for (uint32_t stages : {1u, 2u, 4u, 7u})
    for (uint32_t microbatches : {stages, stages + 1, 3 * stages}) {
      Ring ring(stages);
      for (uint32_t stage = 0; stage < stages; ++stage)
        writeOneForwardOneBackward(ring, stage, stages, microbatches);
      auto end = ring.run();
      ASSERT_TRUE(end.ok()) << end.status().message();
      EXPECT_EQ(*end, 3.0 * (microbatches + stages - 1))
          << stages << " stages, " << microbatches << " microbatches";
    }
}

TEST(Timeline, RingsWithinARoleMeetThemselves) {
  Ring ring(1);
  // Two ranks of one role that pass a block around.
  ring.program.mutable_groups(0)->mutable_members(0)->add_ranks(1);
  ring.program.mutable_roles(0)->add_ranks(1);
  ring.sequence(0, "s", 0);
  auto *transfer = ring.add("rotate 3", 1).mutable_transfer();
  for (bool send : {true, false}) {
    auto *part = transfer->add_parts();
    part->set_send(send);
    part->set_peer(1);
    part->set_relative(true);
  }
  auto end = ring.run();
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(*end, 3);
}

TEST(Timeline, SaysWhoWaitsForWhatNeverComes) {
  Ring ring(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    ring.sequence(rank, "s", 0);
    ring.message(false, 1 - rank, 5);
    ring.message(true, 1 - rank, 5);
  }
  auto end = ring.run();
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.status().code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(end.status().message(),
            "the ranks wait for each other: role 'role0', sequence 's', "
            "instruction 0 (transfer in group 0 receive %0 from 1 tag 5) waits "
            "for what never comes");
}

TEST(Timeline, AnEntryMustExist) {
  Ring ring(1);
  auto end = predictTimeline(ring.program, "dance", NamedCosts(), {});
  EXPECT_EQ(end.status().code(), StatusCode::NotFound);
  EXPECT_EQ(end.status().message(),
            "the program has no entry 'dance': it has train_step");
}
