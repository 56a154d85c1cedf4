//===- PlanTextTest.cpp - The short text form of plans --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/ParallelPlan.h"

#include <gmock/gmock.h>

using namespace hocket;
using namespace hocket::plan;
using testing::HasSubstr;

namespace {

TEST(PlanText, ReadsBack) {
  for (const char *text :
       {"pp=1,dp=1,tp=1,mbs=1",
        "pp=16,dp=8,cp=2,tp=8,ep=4,v=2,mbs=3,zero=1,sp=1,recompute=full,"
        "offload=optimizer,schedule=interleaved,layers=3/4/5",
        "tp=4,etp=2,group=6,recompute_layers=2,loss_chunks=8,"
        "bucket_bytes=0,"
        "recompute_block=1,balance_cost=1,count_embedding=1,count_head=1,"
        "context=ring,recompute=selective,modules=mlp/moe_act",
        "shardings='a,b''s.txt',schedule='x,y.txt'"}) {
    StatusOr<ParallelPlan> plan = parsePlan(text);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    StatusOr<ParallelPlan> again = parsePlan(printPlan(*plan));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *plan) << printPlan(*plan);
  }
}

TEST(PlanText, SaysWhatDiffersFromTheDefault) {
  EXPECT_EQ(printPlan({}), "pp=1,dp=1,tp=1,mbs=1");
  StatusOr<ParallelPlan> plan = parsePlan(
      "sp=1,tp=8,etp=8,schedule=interleaved,context=alltoall,shardings='a,b'");
  ASSERT_TRUE(plan.ok());
  // An expert that all of tp share is shared as other layers are.
  EXPECT_EQ(plan->expertTp, 0);
  EXPECT_EQ(plan->expertTensor(), 8);
  EXPECT_EQ(plan->shardings, "a,b");
  EXPECT_EQ(printPlan(*plan), "pp=1,dp=1,tp=8,mbs=1,sp=1,context=alltoall,"
                              "schedule=interleaved-1f1b,shardings='a,b'");
  EXPECT_EQ(printValue(*plan, "etp"), "8");
  EXPECT_EQ(printValue(*plan, "zero"), "0");
}

TEST(PlanText, IsRefusedWhereItIsWrong) {
  auto message = [](const char *text) {
    return parsePlan(text).status().message();
  };
  EXPECT_THAT(message("tp=x"), HasSubstr("tp=x is not a number"));
  EXPECT_THAT(message("tp"), HasSubstr("write tp=..."));
  EXPECT_THAT(message("tp,dp=2"), HasSubstr("write tp=..."));
  EXPECT_THAT(message("zp=2"), HasSubstr("zp is no key"));
  EXPECT_THAT(message("tp=2,tp=4"), HasSubstr("tp is there twice"));
  EXPECT_THAT(message("tp=2,"), HasSubstr("nothing behind it"));
  EXPECT_THAT(message("etp=0"), HasSubstr("at least 1"));
  EXPECT_THAT(message("tp=99999999999999999999"), HasSubstr("not a number"));
  EXPECT_THAT(message("recompute=half"),
              HasSubstr("none, selective, full or auto"));
  EXPECT_THAT(message("sp=yes"), HasSubstr("write 0 or 1"));
  EXPECT_THAT(message("layers=3//4"), HasSubstr("layers"));
  EXPECT_THAT(message("modules=mlp/attn"),
              HasSubstr("modules=attn is no module; write some of core_attn"));
  EXPECT_THAT(message("schedule='a"), HasSubstr("without its end"));
  EXPECT_THAT(message("schedule='a'b,tp=2"), HasSubstr("behind its quoted"));
}

TEST(PlanText, IsToldFromTheNameOfAFile) {
  EXPECT_TRUE(isShortPlan("tp=2"));
  EXPECT_TRUE(isShortPlan("modules=core_attn/mlp"));
  EXPECT_FALSE(isShortPlan("plan.textproto"));
  EXPECT_FALSE(isShortPlan("plans/dp=2.txt"));
}

} // namespace
