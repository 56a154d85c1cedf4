//===- ModelFieldsTest.cpp - Which model a checkpoint is of ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ModelFields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using checkpoint::differentModelFields;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

const std::string stored = R"(name: "a"
model {
  layers: 4
  activation: SWIGLU
  sliding_window: 5
  rope {
    theta: 10000
    scaling {
      linear {
        factor: 2
      }
    }
  }
  dropout {
    residual: 0.1
  }
  layer_kinds {
    name: "local"
    sliding_window: 5
  }
  layer_kinds {
    name: "far"
    sliding_window: 50
  }
}
training {
  steps: 5
}
)";

/// The fields that differ if `what` is put in the place of `from`.
std::vector<std::string> withChange(const std::string &from,
                                    const std::string &to) {
  std::string here = stored;
  here.replace(here.find(from), from.size(), to);
  std::vector<std::string> found;
  for (const checkpoint::ModelField &field : differentModelFields(stored, here))
    found.push_back(field.path + " " + field.stored + " " + field.here);
  return found;
}

TEST(ModelFields, AreToldByPath) {
  EXPECT_THAT(withChange("SWIGLU", "GEGLU"),
              ElementsAre("model.activation SWIGLU GEGLU"));
  EXPECT_THAT(withChange("theta: 10000", "theta: 500"),
              ElementsAre("model.rope.theta 10000 500"));
  EXPECT_THAT(withChange("factor: 2", "factor: 4"),
              ElementsAre("model.rope.scaling.linear.factor 2 4"));
  EXPECT_THAT(withChange("window: 50", "window: 51"),
              ElementsAre("model.layer_kinds.1.sliding_window 50 51"));
  EXPECT_THAT(withChange("  sliding_window: 5\n", ""),
              ElementsAre("model.sliding_window 5 "));
}

TEST(ModelFields, OfTrainingDoNotCount) {
  EXPECT_THAT(withChange("SWIGLU", "SWIGLU"), IsEmpty());
  EXPECT_THAT(withChange("residual: 0.1", "residual: 0.2"), IsEmpty());
  EXPECT_THAT(withChange("steps: 5", "steps: 6"), IsEmpty());
  EXPECT_THAT(withChange("name: \"a\"", "name: \"b\""), IsEmpty());
  // An older text lacks fields that are newer.
  EXPECT_THAT(withChange("  dropout", "  qk_norm: false\n  dropout"),
              IsEmpty());
  EXPECT_THAT(differentModelFields("", stored), IsEmpty());
  EXPECT_THAT(differentModelFields("}\n}\nmodel {\n", stored), IsEmpty());
}

} // namespace
