//===- AxisKindTest.cpp - Tests of base/AxisKind --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/AxisKind.h"

#include "gtest/gtest.h"

#include <cstdint>

using namespace hocket;

namespace {

TEST(AxisKind, IsThatOfTheAxisOfWhichThereArePartsOrPlaces) {
  EXPECT_EQ(axisKind("tp"), AxisKind::Tensor);
  EXPECT_EQ(axisKind("tp.1"), AxisKind::Tensor);
  EXPECT_EQ(axisKind("pp{0,3}"), AxisKind::Pipeline);
  EXPECT_FALSE(axisKind("t"));
  EXPECT_FALSE(axisKind("tpu"));
  EXPECT_FALSE(axisKind(""));
}

TEST(AxisKind, NamesPlaces) {
  int64_t places[] = {0, 3};
  EXPECT_EQ(placesName(AxisKind::Pipeline, places), "pp{0,3}");
}

TEST(AxisKind, OfAGroupIsThatOfAnyOfItsAxes) {
  EXPECT_TRUE(liesAlong("cp.0/tp", AxisKind::Tensor));
  EXPECT_TRUE(liesAlong("cp.0/tp", AxisKind::Context));
  EXPECT_FALSE(liesAlong("cp.0/tp", AxisKind::Data));
  EXPECT_FALSE(liesAlong("", AxisKind::Data));
}

} // namespace
