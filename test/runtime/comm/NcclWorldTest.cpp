//===- NcclWorldTest.cpp - Streams that meet, and that do not -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"
#include "test/runtime/comm/NcclRanks.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

using namespace hocket;
using namespace hocket::comm;
using namespace hocket::comm::nccl;
using namespace hocket::test;
using namespace std::chrono_literals;

namespace {

/// Element i of the arena.
float *element(NcclRank &rank, size_t i) {
  return static_cast<float *>(rank.device->arenaAddress()) + i;
}

// Stream 0 brings a number, stream 1 adds it up over ranks, stream 0 takes the
// sum, ordered by events alone: the host waits once, at the end.
TEST(NcclWorld, EventsOrderWhatIsIssued) {
  for (int round = 0; round < 5; ++round)
    runNcclRanks({.size = 3}, [](NcclRank &rank) {
      Communicator &group = *rank.communicators->find(0, 1);
      ASSERT_TRUE(group.isOnDevice());
      std::array<float, 20> sums{};
      for (size_t i = 0; i < sums.size(); ++i) {
        auto number = float(100 * group.rank() + i);
        hal::Device &device = *rank.device;
        ASSERT_TRUE(device.copyFromHost(0, &number, {0, 4}).ok());
        ASSERT_TRUE(device.record(0, 0).ok());
        ASSERT_TRUE(device.wait(1, 0).ok());
        ASSERT_TRUE(group
                        .allReduce(element(rank, 0), element(rank, 64), 1,
                                   DType::F32, Reduction::Sum)
                        .ok());
        ASSERT_TRUE(device.record(1, 1).ok());
        ASSERT_TRUE(device.wait(0, 1).ok());
        ASSERT_TRUE(device.copyToHost(0, {256, 4}, &sums[i]).ok());
      }
      ASSERT_TRUE(rank.device->synchronize().ok());
      EXPECT_TRUE(rank.communicators->check().ok());
      for (size_t i = 0; i < sums.size(); ++i)
        EXPECT_EQ(sums[i], 300 + 3 * float(i));
    });
}

// Several calls issued as one.
TEST(NcclWorld, CallsAreIssuedTogether) {
  runNcclRanks({.size = 2}, [](NcclRank &rank) {
    Communicator &group = *rank.communicators->find(0, 1);
    std::array<float, 2> numbers = {float(group.rank()), 10};
    ASSERT_TRUE(rank.device->copyFromHost(1, numbers.data(), {0, 8}).ok());
    Status status = group.together([&] {
      for (size_t i : {0, 1})
        HOCKET_RETURN_IF_ERROR(group.allReduce(
            element(rank, i), element(rank, i), 1, DType::F32, Reduction::Sum));
      return okStatus();
    });
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(rank.device->copyToHost(1, {0, 8}, numbers.data()).ok());
    ASSERT_TRUE(rank.device->synchronize(1).ok());
    EXPECT_EQ(numbers, (std::array<float, 2>{1, 20}));
  });
}

// One rank does not come: the others are told who, and their GPUs go on.
TEST(NcclWorld, AnswersToARankThatHangs) {
  NcclRanks ranks{.size = 3, .limits = {.hangSeconds = 1}};
  runNcclRanks(ranks, [](NcclRank &rank) {
    RankActivity &activity = rank.communicators->activity();
    activity.setDescriber([](uint64_t position) {
      return "instruction " + std::to_string(position);
    });
    Communicator &group = *rank.communicators->find(0, 1);
    unsigned own = rank.communicators->world().rank();
    activity.run(0, 40 + own);
    if (own == 1) { // Busy with something else until the world has failed.
      while (rank.communicators->check().ok())
        std::this_thread::sleep_for(20ms);
    } else {
      ASSERT_TRUE(group
                      .allReduce(element(rank, 0), element(rank, 0), 7,
                                 DType::F32, Reduction::Sum)
                      .ok());
      EXPECT_TRUE(rank.device->synchronize().ok());
    }
    std::string message = rank.communicators->check().message();
    EXPECT_NE(message.find("rank 1 hangs: for"), std::string::npos) << message;
    EXPECT_NE(message.find("instruction 41"), std::string::npos) << message;
    activity.setDescriber(nullptr);
    if (own == 1)
      return;
    EXPECT_NE(message.find("instruction " + std::to_string(40 + own) +
                           ": all_reduce of 7 f32 in group 'reversed' of "
                           "ranks 2, 1, 0 does not end"),
              std::string::npos)
        << message;
    EXPECT_EQ(group
                  .allReduce(element(rank, 0), element(rank, 0), 7, DType::F32,
                             Reduction::Sum)
                  .code(),
              StatusCode::Unavailable);
  });
}

// A rank that says it has failed ends what others wait for.
TEST(NcclWorld, AnswersToARankThatFails) {
  runNcclRanks({.size = 2}, [](NcclRank &rank) {
    Communicator &group = *rank.communicators->find(0, 1);
    if (group.rank() == 0)
      return rank.communicators->fail(internalError("out of luck"));
    (void)group.allReduce(element(rank, 0), element(rank, 0), 7, DType::F32,
                          Reduction::Sum);
    EXPECT_TRUE(rank.device->synchronize().ok());
    for (int i = 0; i < 100 && rank.communicators->check().ok(); ++i)
      std::this_thread::sleep_for(20ms);
    std::string message = rank.communicators->check().message();
    EXPECT_NE(message.find("rank 1 failed: out of luck"), std::string::npos)
        << message;
  });
}

/// Has the device record a sum of one element, as instruction 40 + the rank.
StatusOr<hal::GraphId> recordSum(NcclRank &rank, unsigned &messages) {
  Communicator &group = *rank.communicators->find(0, 1);
  HOCKET_ASSIGN_OR_RETURN(messages, rank.communicators->beginCapture(1));
  HOCKET_RETURN_IF_ERROR(rank.device->beginCapture());
  unsigned own = rank.communicators->world().rank();
  rank.communicators->activity().run(0, 40 + own);
  Status status = group.allReduce(element(rank, 0), element(rank, 0), 1,
                                  DType::F32, Reduction::Sum);
  rank.communicators->endCapture();
  StatusOr<hal::GraphId> id = rank.device->endCapture();
  HOCKET_RETURN_IF_ERROR(status);
  return id;
}

Status replay(NcclRank &rank, hal::GraphId id, unsigned messages) {
  rank.communicators->replaying(messages);
  HOCKET_RETURN_IF_ERROR(rank.device->replay(id));
  return rank.device->synchronize(0);
}

TEST(NcclWorld, WhatIsRecordedHappensAgain) {
  runNcclRanks({.size = 2}, [](NcclRank &rank) {
    unsigned messages = 0;
    auto id = recordSum(rank, messages);
    ASSERT_TRUE(id.ok()) << id.status().message();
    float number = 3;
    ASSERT_TRUE(rank.device->copyFromHost(0, &number, {0, 4}).ok());
    for (int i = 0; i < 4; ++i)
      ASSERT_TRUE(replay(rank, *id, messages).ok());
    ASSERT_TRUE(rank.device->copyToHost(0, {0, 4}, &number).ok());
    ASSERT_TRUE(rank.device->synchronize(0).ok());
    EXPECT_EQ(number, 48);
  });
}

// The second replay waits in vain, and says for whom, as what is not recorded.
TEST(NcclWorld, AnswersToARankThatHangsInAGraph) {
  NcclRanks ranks{.size = 3, .limits = {.hangSeconds = 1}};
  runNcclRanks(ranks, [](NcclRank &rank) {
    RankActivity &activity = rank.communicators->activity();
    activity.setDescriber([](uint64_t position) {
      return "instruction " + std::to_string(position);
    });
    unsigned own = rank.communicators->world().rank(), messages = 0;
    auto id = recordSum(rank, messages);
    ASSERT_TRUE(id.ok()) << id.status().message();
    ASSERT_TRUE(replay(rank, *id, messages).ok());
    activity.run(0, 60);
    if (own == 1) { // Busy with something else until the world has failed.
      while (rank.communicators->check().ok())
        std::this_thread::sleep_for(20ms);
    } else {
      EXPECT_TRUE(replay(rank, *id, messages).ok());
    }
    std::string message = rank.communicators->check().message();
    EXPECT_NE(message.find("rank 1 hangs: for"), std::string::npos) << message;
    activity.setDescriber(nullptr);
    if (own != 1) {
      EXPECT_NE(message.find("instruction " + std::to_string(40 + own) +
                             ": all_reduce of 1 f32 in group 'reversed' of "
                             "ranks 2, 1, 0 does not end"),
                std::string::npos)
          << message;
    }
  });
}

// NCCL does not let go of a communicator before its graphs are gone, which they
// are after this.
TEST(NcclWorld, AnswersToARankThatFailsBesideAGraph) {
  runNcclRanks({.size = 2}, [](NcclRank &rank) {
    unsigned own = rank.communicators->world().rank(), messages = 0;
    auto id = recordSum(rank, messages);
    ASSERT_TRUE(id.ok()) << id.status().message();
    ASSERT_TRUE(replay(rank, *id, messages).ok());
    if (own == 1)
      return rank.communicators->fail(internalError("out of luck"));
    EXPECT_TRUE(replay(rank, *id, messages).ok());
    for (int i = 0; i < 100 && rank.communicators->check().ok(); ++i)
      std::this_thread::sleep_for(20ms);
    std::string message = rank.communicators->check().message();
    EXPECT_NE(message.find("rank 1 failed: out of luck"), std::string::npos)
        << message;
  });
}

// As NCCL, which wants both ends of it in one group of calls.
TEST(NcclWorld, RefusesOneEndOfWhatARankSendsItself) {
  runNcclRanks({.size = 2}, [](NcclRank &rank) {
    Communicator &group = *rank.communicators->find(0, 1);
    Transfer both[] = {
        {true, group.rank(), element(rank, 0), 1, DType::F32, 0},
        {false, group.rank(), element(rank, 1), 1, DType::F32, 0}};
    EXPECT_TRUE(group.exchange(both).ok());
    EXPECT_TRUE(rank.device->synchronize().ok());
    Status half = group.exchange({both, 1});
    EXPECT_NE(half.message().find("sends itself"), std::string::npos)
        << half.message();
  });
}

// Of two groups that issue to one stream, one is split off the other: there are
// as many with resources as streams with collectives, and tags.
TEST(NcclWorld, CommunicatorsOfAStreamShareResources) {
  std::atomic<unsigned> counted = 0;
  runNcclRanks({.size = 2}, [&](NcclRank &rank) {
    Communicator &reversed = *rank.communicators->find(0, 1);
    Communicator &straight = *rank.communicators->find(1, 1);
    ASSERT_TRUE(reversed.barrier().ok());
    void *library = ::dlopen(std::getenv("HOCKET_NCCL"), RTLD_NOW);
    auto *count = reinterpret_cast<unsigned (*)()>(
        ::dlsym(library, "emulatedNcclResources"));
    ASSERT_NE(count, nullptr);
    counted = count();
    ASSERT_TRUE(reversed.barrier().ok());
    std::array<float, 2> numbers = {float(straight.rank()),
                                    float(10 * reversed.rank())};
    ASSERT_TRUE(rank.device->copyFromHost(1, numbers.data(), {0, 8}).ok());
    ASSERT_TRUE(
        straight.allGather(element(rank, 0), element(rank, 64), 1, DType::F32)
            .ok());
    ASSERT_TRUE(
        reversed.allGather(element(rank, 1), element(rank, 128), 1, DType::F32)
            .ok());
    ASSERT_TRUE(rank.device->copyToHost(1, {256, 8}, numbers.data()).ok());
    ASSERT_TRUE(rank.device->synchronize(1).ok());
    EXPECT_EQ(numbers, (std::array<float, 2>{0, 1}));
    ASSERT_TRUE(rank.device->copyToHost(1, {512, 8}, numbers.data()).ok());
    ASSERT_TRUE(rank.device->synchronize(1).ok());
    EXPECT_EQ(numbers, (std::array<float, 2>{0, 10}));
  });
  EXPECT_EQ(counted, 2U * (2 + 3));
}

//===----------------------------------------------------------------------===//
// Operations that are under way at once
//===----------------------------------------------------------------------===//

/// Has two ranks sum by a group on stream 0 and by another one on stream 1, the
/// second rank in the other order. What the first failure of each says, empty:
/// both sums came.
std::vector<std::string> sumInTwoOrders(NcclRanks ranks) {
  ranks.limits.hangSeconds = 1;
  std::vector<std::string> messages(ranks.size);
  runNcclRanks(ranks, [&](NcclRank &rank) {
    unsigned own = rank.communicators->world().rank();
    std::array<float, 2> numbers = {1, 2};
    ASSERT_TRUE(rank.device->copyFromHost(0, numbers.data(), {0, 8}).ok());
    ASSERT_TRUE(rank.device->synchronize().ok());
    std::vector<std::thread> waits;
    for (unsigned stream : {own, 1 - own}) {
      Communicator &group = *rank.communicators->find(1 - stream, stream);
      float *number = element(rank, stream);
      ASSERT_TRUE(
          group.allReduce(number, number, 1, DType::F32, Reduction::Sum).ok());
      // The GPU comes to the first before it is told the second.
      waits.emplace_back([&rank, stream] {
        EXPECT_TRUE(rank.device->synchronize(stream).ok());
      });
      std::this_thread::sleep_for(100ms);
    }
    for (std::thread &wait : waits)
      wait.join();
    messages[own] = rank.communicators->check().message();
    if (!messages[own].empty())
      return;
    ASSERT_TRUE(rank.device->copyToHost(0, {0, 8}, numbers.data()).ok());
    ASSERT_TRUE(rank.device->synchronize().ok());
    EXPECT_EQ(numbers, (std::array<float, 2>{2, 4}));
  });
  return messages;
}

void expectNobodyGoesOn(const std::vector<std::string> &messages) {
  for (const std::string &message : messages)
    EXPECT_NE(message.find("no rank can go on"), std::string::npos) << message;
}

void expectAllEnd(const std::vector<std::string> &messages) {
  for (const std::string &message : messages)
    EXPECT_EQ(message, "");
}

// What was there first takes the multiprocessors that the other needs, on both
// GPUs: neither ends.
TEST(NcclOrder, GpusWithRoomForOneWaitForEachOther) {
  expectNobodyGoesOn(sumInTwoOrders({.ncclBlocks = 3}));
}

TEST(NcclOrder, GpusWithRoomForBothDoNot) {
  expectAllEnd(sumInTwoOrders({.ncclBlocks = 2}));
}

// Who knows that there will be two at once makes room.
TEST(NcclOrder, BlocksAreLimitedToThoseThatHaveRoom) {
  expectAllEnd(sumInTwoOrders({.ncclBlocks = 4, .atOnce = 2}));
}

// Neither does an order that is not the same on both.
TEST(NcclOrder, GpusThatAreHeldToTwoOrdersWaitForEachOther) {
  ::unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  holdToIssueOrder(true);
  expectNobodyGoesOn(sumInTwoOrders({}));
  holdToIssueOrder(false);
}

// What the user has set stays; what is not ordered says how it has room, or
// what to do.
TEST(NcclOrder, TheUsersSettingWins) {
  constexpr const char *variable = "NCCL_LAUNCH_ORDER_IMPLICIT";
  NcclApi api;
  api.number = 22600;
  NcclRoom room{132, 5};
  ::unsetenv(variable);
  EXPECT_EQ(issueOrderText(api, room),
            "up to 5 at once on a GPU, which has room for 16 blocks of each");
  EXPECT_EQ(issueOrderText(api, {132, 4}),
            "up to 4 at once on a GPU, which has room for 32 blocks of each");
  EXPECT_EQ(issueOrderText(api, {132, 1}), "one at a time");
  EXPECT_EQ(issueOrderText(api, {4, 5}),
            "up to 5 at once on a GPU, whose 4 multiprocessors have no room "
            "for them");
  ::setenv("NCCL_MAX_CTAS", "32", 1);
  EXPECT_EQ(issueOrderText(api, room),
            "up to 5 at once on a GPU, which may wait for each other for ever: "
            "NCCL_MAX_CTAS=32 leaves no room, at most 16 would");
  ::unsetenv("NCCL_MAX_CTAS");
  ::setenv(variable, "0", 1);
  holdToIssueOrder(true);
  EXPECT_FALSE(isHeldToIssueOrder(api));
  holdToIssueOrder(false);
  EXPECT_STREQ(::getenv(variable), "0");
  ::unsetenv(variable);
  holdToIssueOrder(true);
  EXPECT_STREQ(::getenv(variable), "1");
  EXPECT_EQ(issueOrderText(api, room), "held to the order of issue");
  api.number = 21600;
  EXPECT_EQ(issueOrderText(api, room),
            "up to 5 at once on a GPU, which may wait for each other for ever: "
            "install NCCL 2.17 or later");
  holdToIssueOrder(false);
  EXPECT_EQ(::getenv(variable), nullptr);
}

// A library is told as much as it knows of.
TEST(NcclOrder, OlderLibrariesGetShorterConfigurations) {
  NcclApi api;
  for (auto [number, size] :
       {std::pair(21400, 24), {21713, 40}, {21801, 48}, {22809, 48}}) {
    api.number = number;
    EXPECT_EQ(api.config().size, size_t(size));
    EXPECT_LE(int(api.config().version), number);
  }
}

} // namespace
