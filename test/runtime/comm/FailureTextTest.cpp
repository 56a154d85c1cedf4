//===- FailureTextTest.cpp - What a rank says that could not go on --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/FailureText.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::comm;

TEST(FailureText, TheCauseComesFirst) {
  Status lost = waitError("rank 2 has died", "all_reduce waits for rank 2");
  EXPECT_EQ(atPlace(lost, "rank 3, instruction 17").message(),
            "rank 2 has died\n"
            "  rank 3, instruction 17: all_reduce waits for rank 2");
  EXPECT_EQ(atPlace(unavailable("rank 2 has died"), "rank 3").message(),
            "rank 2 has died\n  rank 3");
  EXPECT_EQ(atPlace(invalidArgument("token 99"), "rank 3").message(),
            "rank 3: token 99");
}

TEST(FailureText, ARankIsNamedOnce) {
  EXPECT_EQ(failureText(1, invalidArgument("token 99")),
            "rank 1 failed: token 99");
  EXPECT_EQ(failureText(1, invalidArgument("rank 1, instruction 2: token 99")),
            "rank 1, instruction 2: token 99");
  EXPECT_EQ(failureText(1, invalidArgument("rank 11, instruction 2: no")),
            "rank 1 failed: rank 11, instruction 2: no");
}
