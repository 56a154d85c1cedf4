//===- RankComparisonTest.cpp - Do ranks run the same? --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/RankComparison.h"
#include "runtime/comm/local/LocalWorld.h"

#include <gtest/gtest.h>
#include <thread>

using namespace hocket;
using namespace hocket::comm;

/// What a world whose ranks have these seeds is told; the same on each rank.
static Status compareSeeds(const std::vector<std::string> &seeds,
                           const std::string &note = "") {
  unsigned size = unsigned(seeds.size());
  auto world = LocalWorld::create({size, {}});
  EXPECT_TRUE(world.ok());
  std::vector<Status> results(size);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      auto set = world->join(rank);
      RunFact facts[] = {{"runs another executable", "5e1c"},
                         {"has another seed", seeds[rank],
                          note.empty() ? "" : note + std::to_string(rank)}};
      results[rank] = compareRanks(set->world(), facts);
      if (!results[rank].ok())
        set->fail(results[rank]);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &result : results) {
    EXPECT_EQ(result.code(), results[0].code());
    EXPECT_EQ(result.message(), results[0].message());
  }
  return results[0];
}

TEST(RankComparison, RanksThatRunTheSameGoOn) {
  EXPECT_TRUE(compareSeeds({"1"}).ok());
  EXPECT_TRUE(compareSeeds({"1", "1", "1"}, "on node ").ok());
}

TEST(RankComparison, NamesWhoDiffersFromMost) {
  Status status = compareSeeds({"1", "1", "2", "1"});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(), "rank 2 has another seed: 2, rank 0 has 1");
  EXPECT_EQ(compareSeeds({"3", "1", "1"}).message(),
            "rank 0 has another seed: 3, rank 1 has 1");
  EXPECT_EQ(compareSeeds({"1", "2"}, "on node ").message(),
            "rank 1 has another seed: 2 (on node 1), rank 0 has 1 (on node 0)");
}

TEST(RankComparison, NamesSomeOfMany) {
  EXPECT_EQ(
      compareSeeds({"1", "2", "3", "4", "5", "6", "7", "1"}).message(),
      "rank 1 has another seed: 2, rank 0 has 1; rank 2 has another seed: 3, "
      "rank 0 has 1; rank 3 has another seed: 4, rank 0 has 1; rank 4 has "
      "another seed: 5, rank 0 has 1; and so 2 more");
}

TEST(RankComparison, ALongValueIsComparedWhole) {
  std::string path(400, 'a');
  EXPECT_TRUE(compareSeeds({path, path}).ok());
  EXPECT_FALSE(compareSeeds({path + "b", path + "c"}).ok());
}
