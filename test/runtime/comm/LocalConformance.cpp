//===- LocalConformance.cpp - Groups of threads for the suite -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalCommunicator.h"
#include "runtime/comm/local/LocalWorld.h"
#include "test/runtime/comm/CommunicatorConformance.h"

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

std::vector<test::CommunicatorImplementation>
test::communicatorImplementations() {
  std::vector<CommunicatorImplementation> rows;
  rows.push_back(
      {"one", [](const Body &body) { body(*createLocalCommunicator()); }});
  for (unsigned size : {1u, 2u, 3u, 4u, 8u})
    rows.push_back({"local" + std::to_string(size),
                    [size](const Body &body) { runThreads(size, body); }});
  return rows;
}
