//===- NcclMemoryTest.cpp - What NCCL takes of a GPU's memory -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/NcclMemory.h"

#include "runtime/program/MessageTags.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <gtest/gtest.h>

#include <functional>

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

/// A message around two ranks in each of two sequences, by these tags.
ProgramBuilder twoMessages(uint32_t first, uint32_t second) {
  ProgramBuilder builder;
  builder.ranks(2);
  uint32_t from = builder.buffer("from", program::F32, {4});
  uint32_t to = builder.buffer("to", program::F32, {4});
  for (uint32_t tag : {first, second}) {
    builder.sequence("tag" + std::to_string(tag));
    for (auto &part : *builder.ring(from, to).mutable_parts())
      part.set_tag(tag);
  }
  return builder;
}

// Two tags that no entry has both share a communicator, and its memory.
TEST(NcclMemory, OfTagsOfTwoEntriesIsThatOfOne) {
  ProgramBuilder builder = twoMessages(3, 5);
  builder.entry("train_step").add_runs();
  builder.entry("eval_step").add_runs()->set_sequence(1);
  program::Program program = builder.finish();
  EXPECT_EQ(sharedTags(program)[0],
            (std::map<uint32_t, uint32_t>{{3, 3}, {5, 3}}));
  EXPECT_EQ(estimateNcclBytes(program), 12 * mebibyte * ncclChannels);
}

TEST(NcclMemory, OfTagsOfOneEntryIsThatOfBoth) {
  ProgramBuilder builder = twoMessages(3, 5);
  program::Entry &entry = builder.entry("train_step");
  entry.add_runs();
  entry.add_runs()->set_sequence(1);
  program::Program program = builder.finish();
  EXPECT_EQ(sharedTags(program)[0],
            (std::map<uint32_t, uint32_t>{{3, 3}, {5, 5}}));
  EXPECT_EQ(estimateNcclBytes(program), 24 * mebibyte * ncclChannels);
}

// Nor do those whose messages go other ways.
TEST(NcclMemory, OfTagsOfOtherPeersIsThatOfBoth) {
  ProgramBuilder builder = twoMessages(3, 5);
  builder.entry("train_step").add_runs();
  builder.entry("eval_step").add_runs()->set_sequence(1);
  program::Program program = builder.finish();
  auto *transfer = program.mutable_roles(0)
                       ->mutable_sequences(1)
                       ->mutable_instructions(0)
                       ->mutable_transfer();
  transfer->mutable_parts()->RemoveLast();
  EXPECT_EQ(sharedTags(program)[0],
            (std::map<uint32_t, uint32_t>{{3, 3}, {5, 5}}));
}

} // namespace
