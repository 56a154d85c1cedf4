//===- LocalConformance.cpp - Groups of threads for the suite -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalCommunicator.h"
#include "runtime/comm/local/LocalWorld.h"
#include "runtime/comm/process/ProcessWorld.h"
#include "runtime/comm/process/SocketTransport.h"
#include "test/runtime/comm/CommunicatorConformance.h"
#include "test/runtime/comm/FreePort.h"

#include <gtest/gtest.h>
#include <thread>

using namespace hocket;
using namespace hocket::comm;
using Body = std::function<void(Communicator &)>;

/// A group of every second rank, in reverse, of a world twice as large.
static void runThreads(unsigned size, const Body &body) {
  GroupTable table{2 * size, {{"odd", {{}}, {3}}}};
  for (unsigned place = 0; place < size; ++place)
    table.groups[0].lists[0].push_back(2 * (size - place) - 1);
  auto world = LocalWorld::create(table);
  ASSERT_TRUE(world.ok()) << world.status().message();
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < 2 * size; ++rank)
    threads.emplace_back([&, rank] {
      auto set = world->join(rank);
      set->activity().setLanes(4);
      Communicator *group = set->find(0, 3);
      ASSERT_EQ(group != nullptr, rank % 2 == 1);
      if (group)
        body(*group);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Ranks that talk through sockets, though they could see each other's memory.
static void runSockets(unsigned size, const Body &body) {
  Launch launch{"test", 0, size, size, false, "localhost", test::freePort()};
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < size; ++rank)
    threads.emplace_back([launch, rank, &body]() mutable {
      launch.rank = rank;
      auto transport = createSocketTransport(launch, {.seconds = 20});
      ASSERT_TRUE(transport.ok()) << transport.status().message();
      RankGroup group{"reversed", {{}}, {3}};
      for (unsigned other = 0; other < launch.size; ++other)
        group.lists[0].push_back(launch.size - 1 - other);
      auto set = createProcessWorld(*std::move(transport),
                                    {launch.size, {group}}, WaitLimits());
      ASSERT_TRUE(set.ok()) << set.status().message();
      (*set)->activity().setLanes(4);
      body(*(*set)->find(0, 3));
    });
  for (std::thread &thread : threads)
    thread.join();
}

std::vector<test::CommunicatorImplementation>
test::communicatorImplementations() {
  std::vector<CommunicatorImplementation> rows;
  rows.push_back(
      {"one", [](const Body &body) { body(*createLocalCommunicator()); }});
  for (unsigned size : {1u, 2u, 3u, 4u, 8u})
    rows.push_back({"local" + std::to_string(size),
                    [size](const Body &body) { runThreads(size, body); }});
  for (unsigned size : {1u, 2u, 3u, 8u})
    rows.push_back({"sockets" + std::to_string(size),
                    [size](const Body &body) { runSockets(size, body); }});
  return rows;
}
