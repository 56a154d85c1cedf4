//===- StrategyTextTest.cpp - Strategy problems as text -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategyText.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// The problem with one part of its text replaced.
std::string exampleWith(const std::string &part, const std::string &other) {
  std::string text = R"({"problem": {"name": "example", "nodes": {
    "intervals": [[40, 70], [30, 70]], "costs": [[55, 65], [15]],
    "usages": [[25, 26], [10]], "names": ["product", "weight"],
    "labels": [["rows", "columns"], ["whole"]]},
    "edges": {"nodes": [[0, 1]], "costs": [[30, 40]]}, "usage_limit": 50}})";
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), other);
}

std::string messageOf(const std::string &text) {
  auto problem = readStrategyProblem("f.json", text);
  return problem.ok() ? "read" : std::string(problem.status().message());
}

TEST(StrategyText, ReadsWhatItSays) {
  auto problem = readStrategyProblem("f.json", exampleWith("product", "gemm"));
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  EXPECT_EQ(problem->name, "example");
  ASSERT_EQ(problem->nodes.size(), 2U);
  const StrategyNode &node = problem->nodes[0];
  EXPECT_EQ(node.begin, 40);
  EXPECT_EQ(node.end, 70);
  EXPECT_EQ(node.costs, (std::vector<int64_t>{55, 65}));
  EXPECT_EQ(node.usages, (std::vector<int64_t>{25, 26}));
  EXPECT_EQ(node.name, "gemm");
  EXPECT_EQ(node.labels, (std::vector<std::string>{"rows", "columns"}));
  ASSERT_EQ(problem->edges.size(), 1U);
  EXPECT_EQ(problem->edges[0].second, 1);
  EXPECT_EQ(problem->edges[0].costs, (std::vector<int64_t>{30, 40}));
  EXPECT_EQ(problem->usageLimit, 50);
}

TEST(StrategyText, WritesWhatReadsTheSame) {
  std::string text = exampleWith("\"example\"", "\"an \\\"example\\\"\", "
                                                "\"mesh\": \"tp=2\"");
  auto problem = readStrategyProblem("f.json", text);
  ASSERT_TRUE(problem.ok());
  std::string written = writtenStrategyProblem(*problem);
  auto again = readStrategyProblem("g.json", written);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(writtenStrategyProblem(*again), written);
  EXPECT_EQ(again->name, "an \"example\"");
  EXPECT_EQ(again->mesh, "tp=2");
  EXPECT_EQ(again->nodes[1].labels, std::vector<std::string>{"whole"});
}

TEST(StrategyText, ChoicesAreListsOfNumbers) {
  auto choice = readStrategyChoice("c.json", "[1, 0]");
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(*choice, (StrategyChoice{1, 0}));
  EXPECT_EQ(writtenStrategyChoice(*choice), "[1, 0]\n");
  EXPECT_EQ(readStrategyChoice("c.json", "{}").status().message(),
            "c.json: Q74: expected a choice as a list of whole numbers");
}

TEST(StrategyText, RefusesLives) {
  EXPECT_EQ(messageOf(exampleWith("[40, 70]", "[71, 70]")),
            "f.json: Q70: node 0 lives from 71 to 70; write 0 <= begin <= end");
  EXPECT_NE(messageOf(exampleWith("[40, 70]", "[-1, 70]")).find("Q70"),
            std::string::npos);
}

TEST(StrategyText, RefusesStrategiesThatLackACostUsageOrWord) {
  for (const char *costs : {"[55]", "[55, 65, 75]", "[]"})
    EXPECT_NE(messageOf(exampleWith("[55, 65]", costs)).find("Q71: node 0"),
              std::string::npos);
  EXPECT_NE(messageOf(exampleWith("\"rows\", ", "")).find("Q71: node 0"),
            std::string::npos);
}

TEST(StrategyText, RefusesNumbersOutOfRange) {
  EXPECT_EQ(messageOf(exampleWith("[15]", "[2305843009213693952]")), "read");
  EXPECT_EQ(messageOf(exampleWith("[15]", "[2305843009213693953]")),
            "f.json: Q72: a cost or usage of node 1 is not a number from 0 to "
            "2^61");
  EXPECT_NE(messageOf(exampleWith("[10]", "[-1]")).find("Q72"),
            std::string::npos);
  EXPECT_NE(messageOf(exampleWith("[30, 40]", "[30, -40]")).find("Q72: a cost"),
            std::string::npos);
  EXPECT_NE(messageOf(exampleWith("50}", "-50}")).find("Q72: the usage limit"),
            std::string::npos);
}

TEST(StrategyText, RefusesEdgesBetweenNoTwoNodes) {
  for (const char *nodes : {"[0, 0]", "[0, 2]", "[-1, 1]"})
    EXPECT_NE(messageOf(exampleWith("[0, 1]", nodes)).find("Q73: edge 0 joins"),
              std::string::npos);
  EXPECT_EQ(messageOf(exampleWith("[30, 40]", "[30]")),
            "f.json: Q73: edge 0 has 1 costs; write 2, one for each pair of "
            "its nodes' strategies");
}

TEST(StrategyText, RefusesWhatIsNotItsJson) {
  for (const auto &[part, other] :
       std::vector<std::pair<std::string, std::string>>{
           {"[40, 70]", "[40, 70, 80]"},
           {"[40, 70]", "40"},
           {"[55, 65]", "[55, 6.5]"},
           {"[55, 65]", "[55, 99999999999999999999]"},
           {"[55, 65], [15]", "[55, 65]"},
           {"[\"product\", \"weight\"]", "[\"product\"]"},
           {"[\"product\", \"weight\"]", "[1, 2]"},
           {"[\"whole\"]", "[\"whole\"], []"},
           {"[0, 1]", "[0, 1, 1]"},
           {"[0, 1]", ""},
           {"usage_limit", "limit"},
           {"\"intervals\"", "\"lives\""},
           {"\"problem\"", "\"question\""},
           {"}}", "}"}})
    EXPECT_NE(messageOf(exampleWith(part, other)).find("f.json: Q74: expected"),
              std::string::npos)
        << part << " -> " << other << ": "
        << messageOf(exampleWith(part, other));
}

} // namespace
