//===- GpuProcessesTest.cpp - A process and a GPU for each rank -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks whose GPUs talk through NCCL, which they have learned of each other by
/// MPI or at MASTER_ADDR.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/support/ProcessPlans.h"

#include <gmock/gmock.h>

using namespace hocket;
using namespace hocket::test;
using testing::HasSubstr;

namespace {

class GpuProcesses : public ProcessPlans {
protected:
  void SetUp() override {
    ProcessPlans::SetUp();
    useEmulatedGpus({.count = 4});
  }
  static SharedProgram compileForGpus(const PlanRow &plan) {
    return compile(gpt, plan, "precision: FP32", "cuda");
  }
  static constexpr char throughNccl[] = "messages between GPUs go through NCCL";
};

TEST_F(GpuProcesses, StartedByMpirunGiveTheBitsOfThreads) {
  if (!has(Launcher::Mpirun))
    GTEST_SKIP() << "there is no mpirun on this machine";
  PlanRow plan = {"Dp2Tp2Zero3", "dp=2,tp=2", 2, "--zero 3"};
  EXPECT_THAT(expectBitsOfThreads(Launcher::Mpirun, compileForGpus(plan)),
              HasSubstr(throughNccl));
}

// With an NCCL in which nothing is shared, limited or ordered.
TEST_F(GpuProcesses, StartedByVariablesGiveTheBitsOfThreads) {
  useEmulatedGpus({.count = 4, .nccl = 21600});
  PlanRow plan = {"Pp2Dp2", "pp=2,dp=2", 2, "--zero 1"};
  EXPECT_THAT(expectBitsOfThreads(Launcher::Variables, compileForGpus(plan)),
              HasSubstr(throughNccl));
}

/// A rank's process dies while its GPU does steps as graphs. The others end,
/// and say whom they have lost.
TEST_F(GpuProcesses, EndWhenOneDiesWithinAGraph) {
  SharedProgram program = compileForGpus({"Dp2Tp2", "dp=2,tp=2", 2});
  std::string log = folder + "/log";
  Ended ended = trainProcesses(
      Launcher::Variables, program,
      "--steps 20000 --cuda-graphs on --log " + log,
      "self=$$; (for i in $(seq 600); do [ \"$(cat " + log +
          " 2> /dev/null | wc -l)\" -ge 4 ] && break; sleep 0.1; done; sleep "
          "2; kill -KILL $self) > /dev/null 2>&1 &");
  EXPECT_EQ(ended.status, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr(throughNccl));
  EXPECT_THAT(ended.text, HasSubstr("rank 1 has died"));
}

} // namespace
