//===- ProcessesTest.cpp - Threads and processes give the same bits -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/ProcessPlans.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

class Processes : public ProcessPlans,
                  public testing::WithParamInterface<PlanRow> {};

TEST_P(Processes, GiveTheBitsOfThreads) {
  if (!has(Launcher::Mpirun))
    GTEST_SKIP() << "there is no mpirun on this machine";
  expectBitsOfThreads(Launcher::Mpirun,
                      compile(experts, GetParam(), "precision: BF16"));
}

const PlanRow plans[] = {
    {"Dp2Tp2Zero3", "dp=2,tp=2", 3, "--zero 3 --sequence-parallel"},
    {"Pp2Ep2", "pp=2,dp=2,ep=2", 3, "--zero 1"},
    // Gradients in several buckets, on a stream of their own.
    {"Dp2Tp2Buckets", "dp=2,tp=2", 3, "--zero 2 plan.bucket_bytes=2048"},
    {"Dp2Cp2RingBuckets", "dp=2,cp=2", 3,
     "--zero 1 --cp-strategy ring plan.bucket_bytes=4096"},
    {"Pp2Cp2AllToAll", "pp=2,cp=2", 6,
     "--cp-strategy alltoall plan.bucket_bytes=2048"},
};

INSTANTIATE_TEST_SUITE_P(Plans, Processes, testing::ValuesIn(plans),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
