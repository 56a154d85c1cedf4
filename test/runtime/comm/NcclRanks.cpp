//===- NcclRanks.cpp - Ranks with an emulated GPU each --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/comm/NcclRanks.h"

#include "runtime/comm/local/LocalWorld.h"
#include "runtime/comm/nccl/NcclWorld.h"
#include "runtime/comm/process/ProcessWorld.h"
#include "runtime/comm/process/SocketTransport.h"
#include "runtime/hal/drivers/cuda/CudaDevice.h"
#include "test/emulator/EmulatedGpus.h"
#include "test/runtime/comm/FreePort.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

using namespace hocket;
using namespace hocket::comm;
using namespace hocket::test;
using Set = std::unique_ptr<CommunicatorSet>;

static GroupTable tableOf(unsigned size) {
  RankGroup group;
  group.name = "reversed";
  group.lists.emplace_back();
  for (unsigned rank = 0; rank < size; ++rank)
    group.lists[0].push_back(size - 1 - rank);
  group.streams = group.collectiveStreams = {1};
  group.tags = {0, 1, 5};
  RankGroup straight{"straight", group.lists, {0, 1}, {0, 1}};
  std::ranges::reverse(straight.lists[0]);
  return {size, {group, straight}};
}

static void runRank(unsigned rank, CommunicatorSet &host,
                    const GroupTable &table,
                    const std::function<void(NcclRank &)> &body) {
  auto communicators = createNcclWorld(host, table, rank);
  ASSERT_TRUE(communicators.ok()) << communicators.status().message();
  auto device = hal::createCudaDevice(rank);
  ASSERT_TRUE(device.ok()) << device.status().message();
  ASSERT_TRUE((*device)->allocateArena(16 << 20).ok());
  ASSERT_TRUE((*device)->createQueues(2, 2).ok());
  (*communicators)
      ->useStreams({(*device)->nativeStream(0), (*device)->nativeStream(1)});
  NcclRank own{device->get(), communicators->get()};
  body(own);
}

void test::runNcclRanks(const NcclRanks &ranks,
                        const std::function<void(NcclRank &)> &body) {
  useEmulatedGpus({.count = ranks.size,
                   .multiprocessors = ranks.multiprocessors,
                   .ncclBlocks = ranks.ncclBlocks});
  GroupTable table = tableOf(ranks.size);
  table.atOnce = ranks.atOnce;
  Launch launch{"test", 0, ranks.size, ranks.size, false, "localhost", 0};
  if (ranks.sockets)
    launch.port = freePort();
  auto world = LocalWorld::create(table, ranks.limits);
  ASSERT_TRUE(world.ok()) << world.status().message();
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks.size; ++rank)
    threads.emplace_back([&, launch, rank]() mutable {
      launch.rank = rank;
      Set host;
      if (ranks.sockets) {
        auto transport = createSocketTransport(launch, {.seconds = 20});
        ASSERT_TRUE(transport.ok()) << transport.status().message();
        auto made =
            createProcessWorld(*std::move(transport), table, ranks.limits);
        ASSERT_TRUE(made.ok()) << made.status().message();
        host = *std::move(made);
      } else {
        host = world->join(rank);
      }
      host->activity().setLanes(2);
      runRank(rank, *host, table, body);
    });
  for (std::thread &thread : threads)
    thread.join();
}
