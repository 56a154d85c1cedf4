//===- RuleTextTest.cpp - What a numbered rule means ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/reports/RuleText.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using testing::HasSubstr;

namespace {

TEST(RuleText, EveryRuleSaysWhatItMeansWhatBreaksItAndWhatToDo) {
  std::vector<std::string> numbers = ruleNumbers();
  EXPECT_GT(numbers.size(), 200u);
  std::string letters;
  for (const std::string &number : numbers) {
    StatusOr<Rule> rule = findRule(number);
    ASSERT_TRUE(rule.ok()) << number;
    EXPECT_EQ(rule->number, number);
    EXPECT_FALSE(rule->text.empty()) << number;
    EXPECT_FALSE(rule->advice.empty()) << number;
    EXPECT_FALSE(rule->example.empty()) << number;
    if (letters.find(number[0]) == std::string::npos)
      letters += number[0];
  }
  EXPECT_EQ(letters, "SHKXDPQEV");
}

TEST(RuleText, OfASpecification) {
  EXPECT_EQ(ruleText(*findRule("s22")),
            "S22 (Specifications): plan.tensor_parallel divides model.heads.\n"
            "\nWhat breaks it:\n  hocket compile "
            "examples/nano/spec.textproto --mesh tp=4 -o nano.hkx\n"
            "\nWhat to do:\n  Write a divisor of model.heads, or change the "
            "heads.\n");
}

TEST(RuleText, OfADialectItsTestsCase) {
  Rule rule = *findRule("D9");
  EXPECT_EQ(rule.example, "dist.mesh @mesh [\"dp\"] sizes [0]");
  EXPECT_THAT(findRule("X1")->text, HasSubstr("table is [V, H]"));
}

TEST(RuleText, AnUnknownNumberIsAnswered) {
  EXPECT_TRUE(isRuleNumber("S22"));
  EXPECT_FALSE(isRuleNumber("S"));
  EXPECT_FALSE(isRuleNumber("S22.hkx"));
  Status status = findRule("S999").status();
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_THAT(status.message(), HasSubstr("there is no rule S999"));
}

} // namespace
