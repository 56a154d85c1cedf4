//===- ClusterCostsTest.cpp - Instructions on a described cluster ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/ClusterCosts.h"
#include "runtime/cluster/Systems.h"
#include "runtime/predict/StepTerms.h"

#include <gtest/gtest.h>
#include <map>

using namespace hocket;
using program::Instruction;
using program::Program;

namespace {

/// Sixteen ranks of one role, two nodes of an H100 system.
class ClusterCost : public testing::Test {
protected:
  ClusterCost() : system(*cluster::systemNamed("h100")), costs(system) {
    role = program.add_roles();
    role->set_streams(2);
    role->set_events(2);
    auto *near = program.add_groups(), *far = program.add_groups();
    near->set_name("tp");
    far->set_name("dp");
    for (uint32_t rank = 0; rank < 16; ++rank) {
      role->add_ranks(rank);
      if (rank % 8 == 0)
        near->add_members();
      near->mutable_members()->rbegin()->add_ranks(rank);
    }
    for (uint32_t rank = 0; rank < 8; ++rank) {
      auto *members = far->add_members();
      members->add_ranks(rank);
      members->add_ranks(rank + 8);
    }
    for (program::DType type : {program::BF16, program::F32, program::F8_E4M3})
      buffer(1 << 20, type);
  }

  void buffer(uint64_t bytes, program::DType type) {
    role->add_buffers()->set_bytes(bytes);
    role->mutable_buffers()->rbegin()->set_dtype(type);
  }

  static Instruction gemm(uint64_t size, uint32_t operand) {
    Instruction instruction;
    auto *call = instruction.mutable_gemm();
    call->set_m(size);
    call->set_n(size);
    call->set_k(size);
    call->set_a(operand);
    return instruction;
  }

  static Instruction collective(const char *op, uint32_t group) {
    Instruction instruction;
    instruction.mutable_collective()->set_op(op);
    instruction.mutable_collective()->set_group(group);
    return instruction;
  }

  double seconds(const Instruction &instruction) const {
    return costs.seconds(instruction, *role, program);
  }

  cluster::System system;
  ClusterCosts costs;
  Program program;
  program::Role *role;
};

} // namespace

TEST_F(ClusterCost, GemmsHaveTheRateOfTheirOperands) {
  double gap = system.software().kernel_seconds(), sizes[] = {16, 32, 8};
  for (uint32_t operand : {0, 1, 2}) {
    cluster::OpTimes times(system, int64_t(sizes[operand]));
    EXPECT_DOUBLE_EQ(seconds(gemm(4096, operand)),
                     gap + times.gemm({4096, 4096, 4096, 1}));
  }
}

TEST_F(ClusterCost, CollectivesTakeTheLinksThatTheirGroupSpans) {
  cluster::OpTimes times(system, 16);
  EXPECT_DOUBLE_EQ(seconds(collective("all_reduce", 0)),
                   times.allReduce(1 << 20, {8, 1}));
  EXPECT_DOUBLE_EQ(seconds(collective("all_gather", 1)),
                   times.allGather(1 << 20, {2, 8}));
  EXPECT_GT(seconds(collective("all_gather", 1)),
            seconds(collective("all_gather", 0)) / 4);
}

TEST_F(ClusterCost, AttentionOfAShardCountsItsKeys) {
  Instruction whole, shard;
  auto *call = whole.mutable_library();
  call->set_op("attention_forward");
  for (int64_t integer : {2, 1, 4096, 16, 16, 128, 1, 0, 0})
    call->add_integers(integer);
  *shard.mutable_library() = whole.library();
  shard.mutable_library()->set_op("attention_forward_shard");
  shard.mutable_library()->set_integers(8, 8192);
  double gap = system.software().kernel_seconds();
  cluster::OpTimes times(system, 16);
  double flops = 4.0 * 16 * 4096 * 4096 * 128 / 2;
  EXPECT_DOUBLE_EQ(seconds(whole), gap + times.attention(flops, 4096, 128));
  EXPECT_DOUBLE_EQ(seconds(shard), gap + times.attention(2 * flops, 8192, 128));
  // Where documents begin nobody knows: one may fill the sequence.
  shard.mutable_library()->set_op("attention_forward_documents");
  EXPECT_DOUBLE_EQ(seconds(shard), gap + times.attention(2 * flops, 8192, 128));
}

/// The terms of a step: a GEMM, and a collective beside it on stream 1 that
/// takes longer, for which stream 0 waits.
TEST_F(ClusterCost, TermsSayWhatStreamZeroWaitsFor) {
  system.mutable_software()->set_host_op_seconds(0);
  system.mutable_software()->set_host_collective_seconds(0);
  ClusterCosts quick(system);
  role->add_entries()->set_name("train_step");
  role->mutable_entries(0)->add_runs();
  auto *sequence = role->add_sequences();
  sequence->set_name("forward");
  auto add = [&](const Instruction &instruction, uint32_t stream) {
    *sequence->add_instructions() = instruction;
    sequence->mutable_instructions()->rbegin()->set_stream(stream);
  };
  Instruction record, wait;
  record.mutable_record();
  wait.mutable_wait();
  add(collective("all_reduce", 1), 1);
  add(record, 1);
  add(gemm(64, 0), 0);
  add(wait, 0);
  add(gemm(64, 0), 0);
  auto step = predictStep(program, "train_step", quick, nullptr);
  ASSERT_TRUE(step.ok()) << step.status().message();
  std::map<std::string, double> terms;
  double sum = 0;
  for (const StepTerm &term : step->terms) {
    terms[term.name] = term.seconds;
    sum += term.seconds;
  }
  EXPECT_NEAR(sum, step->seconds, 1e-12);
  double message = quick.seconds(collective("all_reduce", 1), *role, program);
  double gemmTime = quick.seconds(gemm(64, 0), *role, program);
  EXPECT_NEAR(terms["data"], message - gemmTime, 1e-12);
  EXPECT_NEAR(terms["GEMMs"] + terms["gaps"], 2 * gemmTime, 1e-12);
  EXPECT_EQ(terms["outside"], system.software().step_seconds());
  // The host is what a small kernel waits for.
  auto slow = predictStep(program, "train_step", costs, nullptr);
  ASSERT_TRUE(slow.ok());
  for (const StepTerm &term : slow->terms)
    if (term.name == "host") {
      EXPECT_GT(term.seconds, 0);
    }
}
