//===- InstructionCostTest.cpp - Work and time of instructions ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/InstructionCost.h"

#include <gtest/gtest.h>

using namespace hocket;
using program::Instruction;
using program::Program;

namespace {

/// Four ranks of one role, and buffers of 1,000 and 4,000 bytes.
class InstructionCost : public testing::Test {
protected:
  InstructionCost() {
    auto *role = program.add_roles();
    auto *members = program.add_groups()->add_members();
    for (uint32_t rank = 0; rank < 4; ++rank) {
      role->add_ranks(rank);
      members->add_ranks(rank);
    }
    role->add_buffers()->set_bytes(1000);
    role->add_buffers()->set_bytes(4000);
  }

  InstructionWork collective(const std::string &op, uint32_t from, uint32_t to,
                             uint32_t ranksPerNode = 0) {
    Instruction instruction;
    instruction.mutable_collective()->set_op(op);
    instruction.mutable_collective()->set_from(from);
    instruction.mutable_collective()->set_to(to);
    return workOf(instruction, program.roles(0), program, ranksPerNode);
  }

  Program program;
};

} // namespace

TEST_F(InstructionCost, CollectivesSendWhatTheirRingsSend) {
  // Three of four shards pass by each rank.
  EXPECT_EQ(collective("all_gather", 0, 1).sentBytes, 3000);
  EXPECT_EQ(collective("all_gather", 0, 1).messages, 3);
  EXPECT_EQ(collective("reduce_scatter", 1, 0).sentBytes, 3000);
  EXPECT_EQ(collective("all_to_all", 1, 1).sentBytes, 3000);
  // An all-reduce is both, one after the other.
  EXPECT_EQ(collective("all_reduce", 1, 1).sentBytes, 6000);
  EXPECT_EQ(collective("all_reduce", 1, 1).messages, 6);
  EXPECT_EQ(collective("broadcast", 1, 1).sentBytes, 4000);
}

TEST_F(InstructionCost, GroupsThatSpanMachinesUseTheNetwork) {
  EXPECT_FALSE(collective("all_reduce", 1, 1).farAway);
  EXPECT_FALSE(collective("all_reduce", 1, 1, 4).farAway);
  EXPECT_TRUE(collective("all_reduce", 1, 1, 2).farAway);
}

TEST_F(InstructionCost, GemmsAndAttentionAreCountedByTheirSizes) {
  Instruction gemm;
  gemm.mutable_gemm()->set_m(2);
  gemm.mutable_gemm()->set_n(3);
  gemm.mutable_gemm()->set_k(5);
  gemm.mutable_gemm()->set_b(1);
  InstructionWork work = workOf(gemm, program.roles(0), program);
  EXPECT_EQ(work.flops, 60);
  EXPECT_EQ(work.memoryBytes, 1000 + 4000 + 1000);
  Instruction attention;
  auto *call = attention.mutable_library();
  call->set_op("attention_forward");
  // f32, 2 sequences of 8, 4 heads on 2, of 16, not causal.
  for (int64_t integer : {1, 2, 8, 4, 2, 16, 0})
    call->add_integers(integer);
  double gemms = 2 * (2.0 * 2 * 4 * 8 * 8 * 16);
  EXPECT_EQ(workOf(attention, program.roles(0), program).flops, gemms);
  call->set_integers(6, 1);
  EXPECT_EQ(workOf(attention, program.roles(0), program).flops, gemms / 2);
  call->set_op("attention_backward");
  EXPECT_EQ(workOf(attention, program.roles(0), program).flops,
            2.5 * gemms / 2);
}

TEST_F(InstructionCost, ScansAreCountedByTheirStates) {
  Instruction scan;
  auto *call = scan.mutable_library();
  call->set_op("state_scan");
  // bf16, 2 sequences of 8, 4 heads of 16, 2 groups, states of 32.
  for (int64_t integer : {2, 2, 8, 4, 16, 2, 32})
    call->add_integers(integer);
  double states = 2.0 * 8 * 4 * 16 * 32;
  auto flops = [&] { return workOf(scan, program.roles(0), program).flops; };
  EXPECT_EQ(flops(), 5 * states);
  call->set_op("state_scan_gradient");
  EXPECT_EQ(flops(), 12 * states);
  call->mutable_integers()->RemoveLast();
  EXPECT_EQ(flops(), 0);
  // bf16, 8 tokens, 4 heads of 16, 2 groups, states of 32, in 3 rows.
  call->set_op("cached_scan");
  call->clear_integers();
  for (int64_t integer : {2, 8, 4, 16, 2, 32, 3})
    call->add_integers(integer);
  EXPECT_EQ(flops(), 5 * 8 * 4 * 16 * 32);
}

TEST_F(InstructionCost, WhatIsAddedToIsReadToo) {
  program.mutable_training()->set_microbatches(4);
  auto bytes = [&](program::Accumulate accumulate) {
    Instruction gemm;
    gemm.mutable_gemm()->set_d(1);
    gemm.mutable_gemm()->set_accumulate(accumulate);
    return workOf(gemm, program.roles(0), program).memoryBytes;
  };
  double factors = 1000 + 1000;
  EXPECT_EQ(bytes(program::OVERWRITE), factors + 4000);
  EXPECT_EQ(bytes(program::ADD), factors + 2 * 4000);
  // Three of four microbatches read what was there.
  EXPECT_EQ(bytes(program::ADD_UNLESS_FIRST_MICROBATCH), factors + 4000 + 3000);
}

TEST_F(InstructionCost, ADeviceTakesTheLongestOfArithmeticAndMemory) {
  DeviceModel device;
  device.flopsPerSecond = 10;
  device.memoryBytesPerSecond = 1000;
  device.linkBytesPerSecond = 100;
  device.networkBytesPerSecond = 10;
  device.messageSeconds = 1;
  device.launchSeconds = 0.5;
  Instruction gemm;
  gemm.mutable_gemm()->set_m(2);
  gemm.mutable_gemm()->set_n(3);
  gemm.mutable_gemm()->set_k(5);
  EXPECT_EQ(device.seconds(gemm, program.roles(0), program), 0.5 + 6);
  device.flopsPerSecond = 60;
  EXPECT_EQ(device.seconds(gemm, program.roles(0), program), 0.5 + 3);
  Instruction gather;
  gather.mutable_collective()->set_op("all_gather");
  gather.mutable_collective()->set_to(1);
  EXPECT_EQ(device.seconds(gather, program.roles(0), program), 0.5 + 3 + 30);
  device.ranksPerNode = 2;
  EXPECT_EQ(device.seconds(gather, program.roles(0), program), 0.5 + 3 + 300);
}
