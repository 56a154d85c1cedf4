//===- InstructionTraceTest.cpp - Names and arrows of traces --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/InstructionTrace.h"
#include "runtime/telemetry/SpanNames.h"

#include <gtest/gtest.h>

using namespace hocket;
using program::Instruction;
using program::Program;

namespace {

/// Two ranks of one role in a ring, and buffers with names.
class InstructionTraces : public testing::Test {
protected:
  InstructionTraces() {
    program.mutable_model()->set_name("tiny");
    role = program.add_roles();
    role->set_name("role0");
    role->set_streams(2);
    auto *group = program.add_groups();
    group->set_name("dp");
    auto *members = group->add_members();
    for (uint32_t rank : {0, 1}) {
      role->add_ranks(rank);
      members->add_ranks(rank);
    }
    sequence = role->add_sequences();
    sequence->set_name("forward");
  }

  uint32_t buffer(const std::string &name) {
    role->add_buffers()->set_name(name);
    role->mutable_buffers()->rbegin()->set_bytes(100);
    return uint32_t(role->buffers_size() - 1);
  }

  Instruction gemm(const std::string &made) {
    Instruction instruction;
    instruction.mutable_gemm()->set_d(buffer(made));
    return instruction;
  }

  Instruction collective(const std::string &op) {
    Instruction instruction;
    instruction.mutable_collective()->set_op(op);
    instruction.mutable_collective()->set_to(buffer("tiny.3"));
    return instruction;
  }

  std::string name(const Instruction &instruction) {
    return spanName(instruction, *role, program);
  }

  Program program;
  program::Role *role;
  program::Sequence *sequence;
};

} // namespace

TEST_F(InstructionTraces, SpansAreNamedForWhatTheyMake) {
  EXPECT_EQ(name(gemm("layers.3.layer.mlp.up")), "layers.3.mlp.up gemm");
  EXPECT_EQ(name(gemm("layers.3.layer.mlp.up.2")), "layers.3.mlp.up gemm");
  EXPECT_EQ(name(gemm("layers.3.mlp.up.weight.grad")),
            "layers.3.mlp.up.weight.grad gemm");
  EXPECT_EQ(name(gemm("layers.3.layer")), "layers.3 gemm");
  // What has the model's name belongs to no layer, unless its location does.
  EXPECT_EQ(name(gemm("tiny.1")), "gemm");
  Instruction placed = gemm("tiny");
  placed.set_source("tiny.textproto:3:13 layers.0.layer");
  EXPECT_EQ(name(placed), "layers.0 gemm");
}

TEST_F(InstructionTraces, StreamsAreNamedForWhatTheyCarry) {
  *sequence->add_instructions() = gemm("x");
  for (const char *op : {"reduce_scatter", "all_reduce", "all_gather"}) {
    *sequence->add_instructions() = collective(op);
    sequence->mutable_instructions()->rbegin()->set_stream(1);
  }
  EXPECT_EQ(
      streamNames(program, *role),
      (std::vector<std::string>{"compute", "gradients (dp), parameters (dp)"}));
}

TEST_F(InstructionTraces, BothEndsOfAMessageComeToOneName) {
  program::Transfer transfer;
  for (bool send : {true, false}) {
    auto *part = transfer.add_parts();
    part->set_send(send);
    part->set_relative(true);
    part->set_peer(1);
    part->set_tag(7);
  }
  MessageFlows zero(program, 0), one(program, 1);
  std::vector<uint64_t> ids;
  for (uint64_t step : {0, 0, 1}) {
    std::vector<TraceFlow> a = zero.of(transfer, step),
                           b = one.of(transfer, step);
    ASSERT_EQ(a.size(), 2u);
    ASSERT_EQ(b.size(), 2u);
    EXPECT_TRUE(a[0].begins);
    EXPECT_FALSE(a[1].begins);
    EXPECT_EQ(a[0].id, b[1].id);
    EXPECT_EQ(a[1].id, b[0].id);
    EXPECT_NE(a[0].id, a[1].id);
    ids.push_back(a[0].id);
  }
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[1], ids[2]);
  MessageFlows alone(program, 0, [](unsigned) { return false; });
  EXPECT_TRUE(alone.of(transfer, 0).empty());
}
