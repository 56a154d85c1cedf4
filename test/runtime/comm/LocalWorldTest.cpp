//===- LocalWorldTest.cpp - Threads that wait for each other, or in vain --===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalWorld.h"

#include "base/Format.h"
#include "runtime/comm/local/LocalCommunicator.h"

#include <future>
#include <gtest/gtest.h>
#include <thread>

using namespace hocket;
using namespace hocket::comm;
using namespace std::chrono_literals;

namespace {

/// Runs every rank as a thread; what they return, by rank. A rank that fails
/// says so to the others, as the executor does.
std::vector<Status>
runRanks(unsigned ranks,
         const std::function<Status(unsigned, CommunicatorSet &)> &body,
         double hangSeconds = 30, std::vector<RankGroup> groups = {}) {
  auto world = LocalWorld::create({ranks, std::move(groups)}, {hangSeconds});
  EXPECT_TRUE(world.ok()) << world.status().message();
  std::vector<Status> results(ranks);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto set = world->join(rank);
      set->activity().setDescriber([rank](uint64_t position) {
        return formatText("instruction %llu of rank %u",
                          (unsigned long long)position, rank);
      });
      results[rank] = body(rank, *set);
      if (!results[rank].ok())
        set->fail(results[rank]);
      set->activity().setDescriber(nullptr);
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

Status reduceOne(Communicator &group) {
  int32_t one = 1;
  return group.allReduce(&one, &one, 1, DType::I32, Reduction::Sum);
}

} // namespace

TEST(LocalWorld, AFailureEndsWhatOthersWaitFor) {
  auto results = runRanks(3, [](unsigned rank, CommunicatorSet &set) {
    return rank == 2 ? invalidArgument("token 99") : reduceOne(set.world());
  });
  EXPECT_EQ(results[0].code(), StatusCode::Unavailable);
  std::string expected = "rank 2 failed: token 99\n"
                         "  all_reduce of 1 i32 in group 'world' of ranks 0, "
                         "1, 2 waits for rank ";
  EXPECT_EQ(results[0].message().rfind(expected, 0), 0u)
      << results[0].message();
  EXPECT_EQ(results[2].message(), "token 99");
}

TEST(LocalWorld, AFailureEndsSendsAndReceives) {
  auto results = runRanks(2, [](unsigned rank, CommunicatorSet &set) -> Status {
    if (rank == 1)
      return invalidArgument("no");
    float data[2] = {}, more[2] = {};
    Transfer transfers[] = {{true, 1, data, 2, DType::F32, 3},
                            {false, 1, more, 2, DType::F32, 4}};
    return set.world().exchange(transfers);
  });
  EXPECT_EQ(results[0].message(),
            "rank 1 failed: no\n"
            "  group 'world' of ranks 0, 1: waits to send to rank 1 (tag 3, 2 "
            "f32), receive from rank 1 (tag 4, 2 f32)");
}

TEST(LocalWorld, ARankThatHasEndedIsNotWaitedFor) {
  auto results = runRanks(2, [](unsigned rank, CommunicatorSet &set) {
    return rank == 1 ? okStatus() : reduceOne(set.world());
  });
  EXPECT_EQ(results[0].message(),
            "rank 1 has ended\n"
            "  all_reduce of 1 i32 in group 'world' of ranks 0, 1 waits for "
            "rank 1");
}

// The rank sleeps within an instruction, while another one computes.
TEST(LocalWorld, ARankThatHangsIsFound) {
  std::promise<void> over;
  std::shared_future<void> released = over.get_future().share();
  auto results = runRanks(
      3,
      [&](unsigned rank, CommunicatorSet &set) -> Status {
        set.activity().run(0, 10 + rank);
        if (rank != 1) {
          while (rank == 2 &&
                 released.wait_for(0s) != std::future_status::ready)
            ;
          Status status = reduceOne(set.world());
          if (rank == 0)
            over.set_value();
          return status;
        }
        released.wait();
        return okStatus();
      },
      1);
  const std::string &message = results[0].message();
  EXPECT_EQ(message.rfind("rank 1 hangs: for 1 s it has been in instruction 11 "
                          "of rank 1\n  all_reduce ",
                          0),
            0u)
      << message;
  EXPECT_TRUE(message.ends_with(" waits for rank 1, 2")) << message;
}

TEST(LocalWorld, ARankThatComputesIsWaitedFor) {
  auto results = runRanks(
      2,
      [&](unsigned rank, CommunicatorSet &set) -> Status {
        set.activity().run(0, 0);
        auto end = std::chrono::steady_clock::now() + 1500ms;
        while (rank == 1 && std::chrono::steady_clock::now() < end)
          ;
        return reduceOne(set.world());
      },
      0.5);
  EXPECT_TRUE(results[0].ok()) << results[0].message();
  EXPECT_TRUE(results[1].ok()) << results[1].message();
}

TEST(LocalWorld, WhatMayTakeLongIsWaitedFor) {
  auto results = runRanks(
      2,
      [&](unsigned rank, CommunicatorSet &set) -> Status {
        if (rank == 1) {
          PatientScope patient(set.activity(), "saving");
          std::this_thread::sleep_for(1200ms);
        }
        return reduceOne(set.world());
      },
      0.4);
  EXPECT_TRUE(results[0].ok()) << results[0].message();
  EXPECT_TRUE(results[1].ok()) << results[1].message();
}

TEST(LocalWorld, ADeadlockIsFound) {
  auto results = runRanks(
      2,
      [&](unsigned rank, CommunicatorSet &set) -> Status {
        set.activity().run(0, rank);
        float data = 0;
        Transfer transfers[] = {{false, 1 - rank, &data, 1, DType::F32, 0}};
        return set.world().exchange(transfers);
      },
      0.5);
  EXPECT_NE(results[0].message().find(
                "no rank can go on: rank 0 is in instruction 0 of rank 0, "
                "group 'world' of ranks 0, 1: waits to receive from rank 1 "
                "(tag 0, 1 f32); rank 1 is in instruction 1 of rank 1, "),
            std::string::npos)
      << results[0].message();
}

TEST(LocalWorld, DifferentCallsAreSaid) {
  auto results = runRanks(2, [](unsigned rank, CommunicatorSet &set) {
    int32_t data[4] = {};
    return rank == 0 ? set.world().allReduce(data, data, 2, DType::I32,
                                             Reduction::Sum)
                     : set.world().allGather(data, data + 1, 1, DType::I32);
  });
  EXPECT_EQ(results[0].message(),
            "group 'world' of ranks 0, 1: rank 0 calls all_reduce of 2 i32, "
            "rank 1 all_gather of 1 i32");
  EXPECT_EQ(results[1].code(), StatusCode::Internal);
}

TEST(LocalWorld, DifferentSizesOfATransferAreSaid) {
  auto results = runRanks(2, [](unsigned rank, CommunicatorSet &set) {
    float data[4] = {};
    Transfer transfer[] = {
        {rank == 0, 1 - rank, data, 2 + rank, DType::F32, 9}};
    return set.world().exchange(transfer);
  });
  EXPECT_EQ(results[1].message(),
            "group 'world' of ranks 0, 1: rank 0 sends 2 f32 with tag 9, rank "
            "1 expects 3 f32");
}

// A send on one stream meets a receive on another; collectives of two streams
// of one group run in any order.
TEST(LocalWorld, StreamsDoNotDisturbEachOther) {
  RankGroup pair{"pair", {{1, 0}}, {1, 2}};
  auto results = runRanks(
      2,
      [](unsigned rank, CommunicatorSet &set) -> Status {
        set.activity().setLanes(3);
        Communicator *one = set.find(0, 1), *two = set.find(0, 2);
        unsigned place = one->rank();
        EXPECT_EQ(place, 1 - rank);
        float data = float(rank);
        Transfer transfer[] = {{rank == 0, 1 - place, &data, 1, DType::F32, 0}};
        HOCKET_RETURN_IF_ERROR((rank == 0 ? one : two)->exchange(transfer));
        EXPECT_EQ(data, 0);
        Status first;
        std::thread other([&] { first = reduceOne(rank == 0 ? *one : *two); });
        Status second = reduceOne(rank == 0 ? *two : *one);
        other.join();
        EXPECT_EQ(set.find(0, 0), nullptr);
        return first.ok() ? second : first;
      },
      30, {pair});
  EXPECT_TRUE(results[0].ok()) << results[0].message();
  EXPECT_TRUE(results[1].ok()) << results[1].message();
}

TEST(LocalWorld, RefusesABadTable) {
  auto message = [](std::vector<std::vector<unsigned>> lists) {
    return LocalWorld::create({2, {{"g", std::move(lists), {0}}}})
        .status()
        .message();
  };
  EXPECT_EQ(message({{0}, {}}), "group 'g' has an empty list");
  EXPECT_EQ(message({{0, 2}}), "group 'g' names rank 2 of a world that has it "
                               "not");
  EXPECT_EQ(message({{0}, {1, 0}}), "group 'g' names rank 0 twice");
  EXPECT_EQ(LocalWorld::create({0, {}}).status().message(),
            "a world without ranks");
}

TEST(LocalCommunicator, ASendWithoutAReceiveIsRefused) {
  auto group = createLocalCommunicator();
  float data[2] = {};
  Transfer lonely[] = {{true, 0, data, 2, DType::F32, 3}};
  EXPECT_EQ(group->exchange(lonely).message(), "1 sends have no receive");
  Transfer different[] = {{true, 0, data, 2, DType::F32, 3},
                          {false, 0, data, 1, DType::F32, 3}};
  EXPECT_EQ(group->exchange(different).message(),
            "receive with tag 3: no send of the same size and type");
}
