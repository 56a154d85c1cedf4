//===- MpiConformance.cpp - Processes as ranks for the suite --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Linked with the suite into a program that is one rank; MpiTest.cpp starts it
/// with mpirun. The group is all ranks, in reverse, on stream 3.
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiTransport.h"
#include "runtime/comm/process/Launch.h"
#include "runtime/comm/process/ProcessWorld.h"
#include "test/runtime/comm/CommunicatorConformance.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::comm;
using Body = std::function<void(Communicator &)>;

/// One world for all tests of this process.
static std::unique_ptr<CommunicatorSet> &processWorld() {
  static std::unique_ptr<CommunicatorSet> world;
  return world;
}

namespace {
class MpiEnvironment : public testing::Environment {
public:
  void SetUp() override {
    auto transport = createMpiTransport();
    ASSERT_TRUE(transport.ok()) << transport.status().message();
    unsigned size = (*transport)->size();
    auto launch = detectLaunch();
    ASSERT_TRUE(launch.ok()) << launch.status().message();
    if (*launch) {
      EXPECT_EQ((*launch)->launcher, "mpirun");
      EXPECT_EQ((*launch)->size, size);
      EXPECT_EQ((*launch)->rank, (*transport)->rank());
    }
    RankGroup group{"reversed", {{}}, {3}};
    for (unsigned rank = 0; rank < size; ++rank)
      group.lists[0].push_back(size - 1 - rank);
    auto world = createProcessWorld(*std::move(transport), {size, {group}},
                                    WaitLimits());
    ASSERT_TRUE(world.ok()) << world.status().message();
    processWorld() = *std::move(world);
    processWorld()->activity().setLanes(4);
  }
  void TearDown() override { processWorld().reset(); }
};
const auto *const environment =
    testing::AddGlobalTestEnvironment(new MpiEnvironment);
} // namespace

std::vector<test::CommunicatorImplementation>
test::communicatorImplementations() {
  return {{"mpi", [](const Body &body) { body(*processWorld()->find(0, 3)); }}};
}
