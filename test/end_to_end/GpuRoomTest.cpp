//===- GpuRoomTest.cpp - GPUs that one operation of NCCL fills ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Several communicators are under way on a GPU whose multiprocessors one of
/// them could take. What ends in the order of issue is held to it; a pipeline,
/// which does not, leaves room for all.
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"
#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <mutex>

using namespace hocket;
using namespace hocket::test;
using testing::HasSubstr;

namespace {

class GpuRoom : public TrainedPlans {
protected:
  void SetUp() override {
    TrainedPlans::SetUp();
    comm::nccl::holdToIssueOrder(false); // As an earlier run may have had it.
    ::unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  }
  void TearDown() override {
    ::unsetenv("NCCL_MAX_CTAS");
    ::unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
    TrainedPlans::TearDown();
  }

  /// A step on GPUs of `multiprocessors`, all of which an operation takes.
  Status trainAStep(const PlanRow &plan, unsigned multiprocessors) {
    useEmulatedGpus({.count = 4,
                     .multiprocessors = multiprocessors,
                     .ncclBlocks = multiprocessors});
    SharedProgram program = compile(gpt, plan, "precision: FP32", "cuda");
    TrainingOptions options;
    options.data = {tokens()};
    options.steps = 1;
    options.hangSeconds = 1;
    options.print = [this](const std::string &line) { said += line + "\n"; };
    return runTraining(program, options);
  }

  std::string said;
};

const PlanRow pipeline = {"Pp2", "pp=2", 4}, mesh = {"Dp2Tp2", "dp=2,tp=2", 2};

TEST_F(GpuRoom, IsLeftByAPipelineForAllThatAreUnderWay) {
  Status status = trainAStep(pipeline, 8);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(said, HasSubstr("up to 3 at once on a GPU, which has room for 2 "
                              "blocks of each"));
  EXPECT_THAT(said, HasSubstr("NCCL takes about"));
}

// The variable wins over what communicators are made with.
TEST_F(GpuRoom, ThatIsNotLeftIsADeadlock) {
  ::setenv("NCCL_MAX_CTAS", "8", 1);
  Status status = trainAStep(pipeline, 8);
  EXPECT_THAT(status.message(), HasSubstr("no rank can go on"));
  EXPECT_THAT(said, HasSubstr("NCCL_MAX_CTAS=8 leaves no room, at most 2 "
                              "would"));
}

TEST_F(GpuRoom, IsNotNeededInTheOrderOfIssue) {
  ::setenv("NCCL_MAX_CTAS", "8", 1);
  Status status = trainAStep(mesh, 8);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(said, HasSubstr("held to the order of issue"));
}

// An order that is none for all ranks would be the deadlock.
TEST_F(GpuRoom, DoesNotHelpWhereThePipelineIsHeldToAnOrder) {
  ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
  Status status = trainAStep(pipeline, 8);
  EXPECT_THAT(status.message(), HasSubstr("no rank can go on"));
  EXPECT_THAT(said, HasSubstr("NCCL_LAUNCH_ORDER_IMPLICIT=1 holds NCCL to an "
                              "order in which the ranks of this program may "
                              "wait for each other for ever: unset it"));
}

} // namespace
