//===- RooflineTest.cpp - Where a step's time would go --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/Roofline.h"
#include "runtime/cluster/Systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using program::Program;
using testing::HasSubstr;

namespace {

constexpr uint64_t rows = 65536, columns = 768, vocabulary = 50304;

/// A step of two microbatches: a GEMM, a sum over its rows, and a loss.
class RooflineOfAStep : public testing::Test {
protected:
  RooflineOfAStep() : system(*cluster::systemNamed("h200")) {
    program.mutable_provenance()->set_target("cuda");
    program.mutable_training()->set_microbatches(2);
    program.mutable_training()->set_global_batch_size(128);
    program.mutable_model()->set_sequence_length(1024);
    program.mutable_model()->set_flops_per_token(8.55e8);
    role = program.add_roles();
    role->set_name("role0");
    role->add_ranks(0);
    role->set_streams(1);
    x = buffer({rows, columns}, program::BF16);
    weight = buffer({columns, columns}, program::BF16);
    y = buffer({rows, columns}, program::BF16);
    sums = buffer({columns}, program::F32);
    sequence = role->add_sequences();
    auto *entry = role->add_entries();
    entry->set_name("train_step");
    for (uint32_t microbatch : {0, 1})
      entry->add_runs()->set_microbatch(microbatch);
  }

  uint32_t buffer(const std::vector<uint64_t> &shape, program::DType type) {
    auto *added = role->add_buffers();
    uint64_t bytes = type == program::BF16 ? 2 : 4;
    for (uint64_t size : shape) {
      added->add_shape(size);
      bytes *= size;
    }
    added->set_bytes(bytes);
    added->set_dtype(type);
    return uint32_t(role->buffers_size() - 1);
  }

  void addGemm() {
    auto *gemm = sequence->add_instructions()->mutable_gemm();
    gemm->set_m(rows), gemm->set_n(columns), gemm->set_k(columns);
    gemm->set_a(x), gemm->set_b(weight), gemm->set_d(y);
    gemm->set_transpose_b(true);
  }

  /// As the compiler lays it out: a block has 16 columns and 512 threads.
  void addColumnSum() {
    if (program.kernels_size() == 0) {
      auto *kernel = program.add_kernels();
      kernel->set_name("sum_leading"), kernel->set_symbol("sum_leading");
      kernel->set_tasks(columns / 16), kernel->set_threads(512);
      kernel->set_flops(double(rows) * columns);
      kernel->set_accumulates(true);
      auto *from = kernel->add_operands(), *to = kernel->add_operands();
      from->set_access(program::READ), to->set_access(program::WRITE);
      from->set_dtype(program::BF16), to->set_dtype(program::F32);
      from->set_elements(rows * columns), to->set_elements(columns);
      to->set_pattern(program::Kernel::COLUMN);
    }
    auto *launch = sequence->add_instructions()->mutable_launch();
    launch->add_buffers(y), launch->add_buffers(sums);
    for (int i = 0; i < 3; ++i)
      launch->add_scalars();
    launch->add_scalars()->set_step(program::Scalar::NOT_FIRST_MICROBATCH);
  }

  void addLoss() {
    auto *call = sequence->add_instructions()->mutable_library();
    call->set_op("cross_entropy_forward");
    call->add_buffers(buffer({rows, vocabulary}, program::BF16));
    call->add_buffers(buffer({rows}, program::I32));
    call->add_buffers(buffer({1}, program::F32));
    call->add_buffers(buffer({rows}, program::F32));
    for (int64_t integer : {int64_t(program::BF16), int64_t(rows),
                            int64_t(vocabulary), int64_t(vocabulary)})
      call->add_integers(integer);
  }

  Roofline roofline() {
    costs = std::make_unique<KernelCosts>(system, program);
    return *makeRoofline(program, *costs);
  }

  cluster::System system;
  Program program;
  program::Role *role;
  program::Sequence *sequence;
  uint32_t x, weight, y, sums;
  std::unique_ptr<KernelCosts> costs;
};

} // namespace

TEST_F(RooflineOfAStep, FlopsAndBytesAreThoseOfTheProgram) {
  addGemm();
  Roofline found = roofline();
  ASSERT_EQ(found.roles.size(), 1);
  ASSERT_EQ(found.roles[0].rows.size(), 1);
  const RooflineRow &gemm = found.roles[0].rows[0];
  EXPECT_EQ(gemm.name, "gemm 65536x768x768 bf16");
  EXPECT_EQ(gemm.launches, 2);
  EXPECT_EQ(gemm.launch.flops, 77309411328.0); // 2 x 65,536 x 768 x 768
  // Twice 65,536 x 768 and once 768 x 768, of 2 bytes.
  EXPECT_EQ(gemm.launch.bytes, 202506240.0);
  EXPECT_EQ(gemm.time.bound, Bound::Compute);
  EXPECT_THAT(gemm.limit, HasSubstr("12 waves"));
}

TEST_F(RooflineOfAStep, EpiloguesTakeTimeBesideProducts) {
  addGemm();
  Roofline plain = roofline();
  double alone = plain.roles[0].rows[0].seconds;
  const double elements = rows * columns;
  double copied =
      system.device().memory_bandwidth() * system.kernels().memory();
  auto *gemm = sequence->mutable_instructions(0)->mutable_gemm();
  gemm->set_has_bias(true);
  gemm->set_bias(buffer({columns}, program::BF16));
  gemm->set_has_residual(true);
  gemm->set_residual(buffer({rows, columns}, program::BF16));
  Roofline found = roofline();
  const RooflineRow &added = found.roles[0].rows[0];
  EXPECT_EQ(added.launch.epilogueBytes, elements * 2 + columns * 2);
  EXPECT_EQ(added.launch.summedBytes, 0);
  EXPECT_NEAR(added.seconds - alone,
              system.kernels().epilogue() * added.launch.epilogueBytes / copied,
              1e-12);
  gemm->clear_has_residual(), gemm->clear_has_bias();
  gemm->set_has_bias_gradient(true);
  gemm->set_bias_gradient(buffer({rows}, program::F32));
  found = roofline();
  const RooflineRow &summed = found.roles[0].rows[0];
  EXPECT_EQ(summed.launch.epilogueBytes, rows * 4);
  EXPECT_EQ(summed.launch.summedBytes, elements * 2); // Of its operand a.
  EXPECT_GT(summed.seconds, alone);
}

TEST_F(RooflineOfAStep, ColumnSumsAreShownToHaveTooFewBlocks) {
  addColumnSum();
  addGemm();
  addColumnSum();
  Roofline found = roofline();
  // Twice the sum in each of two microbatches, and longer than the GEMM.
  const RooflineRow &sum = found.roles[0].rows[0];
  EXPECT_EQ(sum.name, "sum_leading");
  EXPECT_EQ(sum.launches, 4);
  EXPECT_EQ(sum.time.bound, Bound::Latency);
  EXPECT_EQ(sum.limit, "too few blocks: 48 on 132 multiprocessors");
  EXPECT_NEAR(sum.time.inFlightBytes / found.neededBytes, 0.218, 1e-3);
  // What is summed in, read in one of two microbatches.
  EXPECT_EQ(sum.launch.bytes, rows * columns * 2 + columns * 4 * 1.5);
}

TEST_F(RooflineOfAStep, SumsOfPartsAreWrittenAndReadAgain) {
  addColumnSum();
  double whole = roofline().roles[0].rows[0].launch.bytes;
  program::Kernel &kernel = *program.mutable_kernels(0);
  kernel.mutable_space()->set_rows(rows);
  kernel.mutable_space()->set_cols(columns);
  kernel.mutable_space()->set_task_rows(rows / 8 + 1); // Eight, one shorter.
  double parts = roofline().roles[0].rows[0].launch.bytes;
  EXPECT_EQ(parts - whole, 2 * 4 * 8 * columns);
  // What a kernel that accumulates overwrites is not read in any microbatch.
  kernel.mutable_operands(1)->set_overwritten(true);
  double overwritten = roofline().roles[0].rows[0].launch.bytes;
  EXPECT_EQ(parts - overwritten, columns * 4 * 0.5);
}

TEST_F(RooflineOfAStep, TheStepIsTheSumOfItsLaunches) {
  addGemm();
  addColumnSum();
  Roofline found = roofline();
  double total = 2e-4; // Between two steps.
  for (const RooflineRow &row : found.roles[0].rows)
    total += row.ofStep();
  EXPECT_NEAR(found.step.seconds, total, 1e-12);
  EXPECT_NEAR(found.waitingSeconds(), 0, 1e-12);
  EXPECT_NEAR(found.tokensPerSecond(), 131072 / total, 1e-3);
  EXPECT_NEAR(found.mfu(), 131072 * 8.55e8 / total / 989.4e12, 1e-9);
}

TEST_F(RooflineOfAStep, LooksUpsReadWhatTheyLookUp) {
  addLoss();
  Roofline found = roofline();
  ASSERT_EQ(found.roles[0].rows.size(), 2);
  const RooflineRow &lse = found.roles[0].rows[0];
  const RooflineRow &mean = found.roles[0].rows[1];
  EXPECT_EQ(lse.name, "cross_entropy_forward: crossEntropyRows");
  EXPECT_EQ(lse.time.bound, Bound::Memory);
  EXPECT_EQ(lse.time.blocks, rows);
  // The logits once, a label and a sum a row.
  EXPECT_EQ(lse.launch.bytes, rows * (vocabulary * 2.0 + 8));
  EXPECT_EQ(mean.name, "cross_entropy_forward: meanLossOf");
  // A logit, a label and a sum a row, not the logits again.
  EXPECT_EQ(mean.launch.bytes, rows * 12.0 + 4);
  EXPECT_EQ(mean.time.blocks, 128);
}

TEST_F(RooflineOfAStep, AttentionHasALaunchForEachPass) {
  auto *call = sequence->add_instructions()->mutable_library();
  call->set_op("attention_backward");
  for (int i = 0; i < 10; ++i)
    call->add_buffers(i == 4 || i == 9
                          ? buffer({64, 12, 1024}, program::F32)
                          : buffer({64, 1024, 12, 64}, program::BF16));
  for (int64_t integer :
       {int64_t(program::BF16), int64_t(64), int64_t(1024), int64_t(12),
        int64_t(12), int64_t(64), int64_t(1), int64_t(0), int64_t(0)})
    call->add_integers(integer);
  call->add_floats(0.125), call->add_floats(0);
  for (int i = 0; i < 3; ++i)
    call->add_scalars();
  Roofline found = roofline();
  ASSERT_EQ(found.roles[0].rows.size(), 3);
  // One GEMM of queries and keys, of which a mask hides half.
  double gemmFlops = 2.0 * 64 * 12 * 1024 * 1024 * 64 / 2, flops = 0;
  for (const RooflineRow &row : found.roles[0].rows)
    flops += row.launch.flops;
  EXPECT_EQ(flops, 7 * gemmFlops);
  EXPECT_EQ(found.roles[0].rows[0].launch.flops, 4 * gemmFlops);
  // By 128 keys of a head: warpgroups of Hopper.
  EXPECT_EQ(found.roles[0].rows[0].time.blocks, 8 * 12 * 64);
  EXPECT_EQ(found.roles[0].rows[2].name, "attention_backward: attentionDelta");
}

TEST_F(RooflineOfAStep, AJointGradientComputesScoresOnce) {
  auto *call = sequence->add_instructions()->mutable_library();
  call->set_op("attention_backward_joint");
  for (int i = 0; i < 10; ++i)
    call->add_buffers(i == 4 || i == 9
                          ? buffer({64, 12, 1024}, program::F32)
                          : buffer({64, 1024, 12, 64}, program::BF16));
  for (int64_t integer :
       {int64_t(program::BF16), int64_t(64), int64_t(1024), int64_t(12),
        int64_t(12), int64_t(64), int64_t(1), int64_t(0), int64_t(0)})
    call->add_integers(integer);
  call->add_floats(0.125), call->add_floats(0);
  for (int i = 0; i < 3; ++i)
    call->add_scalars();
  Roofline found = roofline();
  ASSERT_EQ(found.roles[0].rows.size(), 2);
  const RooflineRow &joint = found.roles[0].rows[0];
  double heads = 64 * 12, gemmFlops = 2 * heads * 1024 * 1024 * 64 / 2;
  EXPECT_EQ(joint.launch.flops, 5 * gemmFlops);
  EXPECT_EQ(joint.launch.attention->wholeHeads, heads);
  // q, k, v, do and their gradients, two statistics of each row, and sums of
  // 128 queries in f32 where there is no room for them: of the first five of
  // eight tiles, to which 0 to 4 tiles of keys add more than once.
  double rows = heads * 1024, sums = heads * 10 * 2 * 128 * 64 * 4;
  EXPECT_EQ(joint.launch.bytes, rows * (7 * 64 * 2 + 2 * 4) + sums);
}

TEST_F(RooflineOfAStep, ScansHaveTheirFlops) {
  auto *call = sequence->add_instructions()->mutable_library();
  call->set_op("state_scan");
  for (int i = 0; i < 8; ++i)
    call->add_buffers(i < 2    ? buffer({4, 1024, 32, 64}, program::BF16)
                      : i == 2 ? buffer({4, 1024, 32}, program::BF16)
                      : i < 5  ? buffer({4, 1024, 1, 128}, program::BF16)
                               : buffer({32}, program::F32));
  for (int64_t integer : {int64_t(program::BF16), int64_t(4), int64_t(1024),
                          int64_t(32), int64_t(64), int64_t(1), int64_t(128)})
    call->add_integers(integer);
  call->add_floats(0), call->add_floats(1);
  Roofline found = roofline();
  ASSERT_EQ(found.roles[0].rows.size(), 1);
  const RooflineRow &row = found.roles[0].rows[0];
  EXPECT_EQ(row.launch.flops, 5.0 * 4 * 1024 * 32 * 64 * 128);
  EXPECT_FALSE(row.launch.tensorCores);
  EXPECT_EQ(row.time.blocks, 4 * 32 * 16);
}

TEST_F(RooflineOfAStep, MessagesAreBoundByTheirLink) {
  role->add_ranks(1);
  auto *group = program.add_groups();
  group->set_name("dp");
  group->add_members()->add_ranks(0);
  group->mutable_members(0)->add_ranks(1);
  auto *call = sequence->add_instructions()->mutable_collective();
  call->set_op("all_reduce");
  call->set_from(sums), call->set_to(sums);
  Roofline found = roofline();
  const RooflineRow &row = found.roles[0].rows[0];
  EXPECT_EQ(row.name, "all_reduce dp");
  EXPECT_EQ(row.time.bound, Bound::Link);
  EXPECT_EQ(found.ranks, 2);
  EXPECT_EQ(row.launch.bytes, columns * 4); // Half of it twice.
}

TEST_F(RooflineOfAStep, OnlyGpusThatAreDescribedArePricedSo) {
  EXPECT_TRUE(KernelCosts::canPrice(system, program));
  cluster::System without = system;
  without.mutable_device()->clear_multiprocessors();
  EXPECT_FALSE(KernelCosts::canPrice(without, program));
  program.mutable_provenance()->set_target("cpu");
  EXPECT_FALSE(KernelCosts::canPrice(system, program));
}
