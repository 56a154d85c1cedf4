//===- NcclMemoryTest.cpp - What NCCL takes of a GPU's memory -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/NcclMemory.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <gtest/gtest.h>

using namespace hocket;
using test::ProgramBuilder;

namespace {

constexpr uint64_t mebibyte = uint64_t(1) << 20;

/// Adds what `add` does to a program of so many ranks; what NCCL takes then,
/// by channel.
uint64_t bytesOfChannel(
    unsigned ranks,
    const std::function<void(ProgramBuilder &, uint32_t, uint32_t)> &add) {
  ProgramBuilder builder;
  builder.ranks(ranks);
  uint32_t from = builder.buffer("from", program::F32, {4});
  uint32_t to = builder.buffer("to", program::F32, {4});
  builder.sequence("step");
  add(builder, from, to);
  builder.entry("train_step").add_runs();
  program::Program program = builder.finish();
  uint64_t bytes = estimateNcclBytes(program);
  EXPECT_EQ(bytes, 8 * estimateNcclBytes(program, program.roles(0), 4));
  return bytes / ncclChannels;
}

TEST(NcclMemory, OfACommunicatorIsARing) {
  auto sum = [](ProgramBuilder &builder, uint32_t from, uint32_t to) {
    builder.collective("all_reduce", from, to);
    builder.collective("all_reduce", from, to);
  };
  EXPECT_EQ(bytesOfChannel(4, sum), 12 * mebibyte);
  EXPECT_EQ(bytesOfChannel(1, sum), 0U);
}

TEST(NcclMemory, OfTwoStreamsIsTwice) {
  EXPECT_EQ(
      bytesOfChannel(4,
                     [](ProgramBuilder &builder, uint32_t from, uint32_t to) {
                       builder.collective("all_reduce", from, to);
                       builder.collective("all_reduce", from, to);
                       builder.onStream(1);
                     }),
      24 * mebibyte);
}

TEST(NcclMemory, OfAllToAllIsThatOfAllPeers) {
  EXPECT_EQ(
      bytesOfChannel(4,
                     [](ProgramBuilder &builder, uint32_t from, uint32_t to) {
                       builder.collective("all_to_all", from, to);
                     }),
      36 * mebibyte);
}

TEST(NcclMemory, OfMessagesIsThatOfTheirPeers) {
  auto ring = [](ProgramBuilder &builder, uint32_t from, uint32_t to) {
    builder.ring(from, to);
  };
  EXPECT_EQ(bytesOfChannel(4, ring), 12 * mebibyte);
  EXPECT_EQ(bytesOfChannel(1, ring), 0U);
}

} // namespace
