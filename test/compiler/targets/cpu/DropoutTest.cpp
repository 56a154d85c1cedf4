//===- DropoutTest.cpp - Kernels with random numbers ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/targets/cpu/KernelHarness.h"

#include <gtest/gtest.h>

namespace hocket::test {
namespace {

/// `jitter`: "" or the attribute's name and a comma.
KernelText dropout(int64_t rows, int64_t cols, const std::string &jitter = "") {
  KernelText text{rows, cols, {{"full"}}, {{"full"}}};
  text.instances = 1;
  text.body =
      "%k = kern.keep_scale %i0 {" + jitter + R"(rate = 0.3, stream = 5 : i32}
    %0 = arith.mulf %a0, %k : f32
    kern.yield %0 : f32
  )";
  return text;
}

Check scalars(int64_t microbatch, int64_t instance) {
  Check check;
  check.scalars = {.seed = 0x123456789abcdef,
                   .step = 17,
                   .microbatch = microbatch,
                   .instances = {instance}};
  return check;
}

/// Bit for bit the words of kernels/reference/Philox.h, whichever way they
/// are computed (alone, four vectors together, cut off).
TEST(Dropout, MasksAreTheReferences) {
  for (int64_t cols : {1, 7, 16, 63, 64, 130, 257, 1000, 1024})
    for (int64_t microbatch : {0, 3}) {
      Check check = scalars(microbatch, 11);
      check.tolerance = {2e-7, 0};
      expectKernel(dropout(5, cols), check);
    }
}

TEST(Dropout, JitterIsTheReferences) {
  for (int64_t cols : {1, 63, 64, 257, 1024}) {
    Check check = scalars(2, 11);
    check.tolerance = {2e-7, 0};
    expectKernel(dropout(5, cols, "jitter, "), check);
  }
}

/// Rows keep their own numbers where the kernel is not flat.
TEST(Dropout, BesideARowOperand) {
  for (int64_t cols : {64, 100, 257}) {
    KernelText text{6, cols, {{"full"}, {"row"}}, {{"full"}}};
    text.body = R"(
      %k = kern.keep_scale {rate = 0.1, stream = 9 : i32}
      %0 = arith.mulf %a0, %k : f32
      %1 = arith.addf %0, %a1 : f32
      kern.yield %1 : f32
    )";
    Check check;
    check.scalars = {.seed = -5, .step = 3, .microbatch = 1};
    expectKernel(text, check);
  }
}

/// A shard [3, 4, cols] of [6, 8, cols], split in its first two dims, of which
/// the second is stored in parts of `part` rows (0: in order) in `rounds`.
KernelText shardOf(int64_t cols, int64_t part, int64_t rounds) {
  std::string width = std::to_string(cols);
  KernelText text{12, cols, {{"full"}}, {{"full"}}};
  text.instances = 3;
  text.body = "%k = kern.keep_scale %i0 at(%i1, %i2) {rate = 0.3, shard = "
              "#kern.shard<[3, 4, " +
              width + "] of [6, 8, " + width + "] dims [0, 1] parts [0, " +
              std::to_string(part) + "] rounds " + std::to_string(rounds) +
              R"(>, stream = 5 : i32}
    %0 = arith.mulf %a0, %k : f32
    kern.yield %0 : f32
  )";
  return text;
}

/// The numbers of a shard are those of its elements in the whole, whether rows
/// follow each other there or not, and whatever their length.
TEST(Dropout, OfAShard) {
  for (int64_t cols : {1, 7, 16, 64, 130, 256})
    for (auto [part, rounds] : {std::pair<int64_t, int64_t>{0, 1},
                                {1, 1},
                                {2, 1},
                                {4, 1},
                                {1, 2},
                                {2, 2},
                                {1, 4}}) {
      Check check = scalars(3, 11);
      check.tolerance = {2e-7, 0};
      check.scalars.instances = {11, 3, 4};
      expectKernel(shardOf(cols, part, rounds), check);
    }
}

/// Columns of rows, in an iteration space of other rows than the tensor's.
TEST(Dropout, OfAShardOfColumns) {
  for (auto [rows, cols] : {std::pair{8, 24}, {4, 48}, {64, 3}, {192, 1}}) {
    KernelText text{rows, cols, {{"full"}}, {{"full"}}};
    text.instances = 1;
    text.body = R"(
      %k = kern.keep_scale at(%i0) {rate = 0.5, shard = #kern.shard<[8, 24] of [8, 72] dims [1] parts [0]>, stream = 1 : i32}
      %0 = arith.mulf %a0, %k : f32
      kern.yield %0 : f32
    )";
    Check check = scalars(1, 48); // the last third
    check.tolerance = {2e-7, 0};
    expectKernel(text, check);
  }
}

/// Elements beyond 2^34 carry into the counter's second word.
TEST(Dropout, CountsBeyondFourBillionBlocks) {
  expectKernel(dropout(4, 96), scalars((int64_t(1) << 34) / (4 * 96), 0));
}

/// Residual, dropout and RMSNorm at once: the random values are kept from the
/// first pass to the second.
TEST(Dropout, ResidualAndNorm) {
  for (int64_t cols : {63, 256}) {
    KernelText text{4,
                    cols,
                    {{"full"}, {"full", "bf16"}, {"col"}},
                    {{"full"}, {"full", "bf16"}}};
    text.instances = 1;
    text.body = R"(
      %n = arith.constant 0.0078125 : f32
      %k = kern.keep_scale %i0 {rate = 0.25, stream = 2 : i32}
      %0 = arith.mulf %a1, %k : f32
      %r = arith.addf %a0, %0 : f32
      %1 = arith.mulf %r, %r : f32
      %2 = kern.reduce add %1 : f32
      %3 = arith.mulf %2, %n : f32
      %4 = math.rsqrt %3 : f32
      %5 = arith.mulf %r, %4 : f32
      %6 = arith.mulf %5, %a2 : f32
      kern.yield %r, %6 : f32, f32
    )";
    Check check = scalars(2, 6);
    check.tolerance = {1e-5, 1e-5};
    check.aliases = {{0, 0}, {1, 1}};
    expectKernel(text, check);
  }
}

TEST(Dropout, NothingIsDroppedAtZero) {
  KernelText text{3, 50, {{"full"}}, {{"full"}}};
  text.body = R"(
    %k = kern.keep_scale {rate = 0.0, stream = 1 : i32}
    %0 = arith.mulf %a0, %k : f32
    kern.yield %0 : f32
  )";
  Check check;
  check.expected = randomInputs(text, 7);
  check.tolerance = {0, 0};
  expectKernel(text, check);
}

} // namespace
} // namespace hocket::test
