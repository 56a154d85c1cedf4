//===- MemoryCsvTest.cpp - Buffers as rows --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/MemoryCsv.h"

#include "passes/planning/memory/MemoryPlan.h"
#include "test/passes/planning/PlanningFiles.h"

#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::planning;

namespace {

TEST(MemoryCsv, ReadsEveryColumn) {
  auto table = readMemoryCsv(
      "t", "within,id,size,start,end,alignment,offset,gaps,host,arena,hint\n"
           ",a,64,0,4,32,96,1-2 3-5@8:16,,hbm,7\r\n"
           "\n"
           " 8 , b, 16,2,3,,,,a,hbm,\n");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->names, (std::vector<std::string>{"a", "b"}));
  const auto &buffers = table->problem.buffers;
  EXPECT_EQ(buffers[0].upper, 5);
  EXPECT_EQ(buffers[0].alignment, 32);
  EXPECT_EQ(buffers[0].offset, 96);
  EXPECT_EQ(buffers[0].gaps,
            (std::vector<MemoryGap>{{1, 2, 0, 0}, {3, 5, 8, 16}}));
  EXPECT_EQ(buffers[0].arena, "hbm");
  EXPECT_EQ(buffers[1].lower, 2);
  EXPECT_EQ(buffers[1].size, 16);
  EXPECT_EQ(buffers[1].host, 0);
  EXPECT_EQ(buffers[1].within, 8);
}

TEST(MemoryCsv, WritesTheSameRowsWithOffsets) {
  EXPECT_EQ(writeMemoryCsv("id,lower,upper,size\nx,0,3,4\r\n\ny,3,9,4", {8, 0}),
            "id,lower,upper,size,offset\nx,0,3,4,8\ny,3,9,4,0\n");
  EXPECT_EQ(writeMemoryCsv("id,offset,lower,upper,size\nx,,0,3,4\ny,2,3,9,4\n",
                           {0, 2}),
            "id,offset,lower,upper,size\nx,0,0,3,4\ny,2,3,9,4\n");
}

TEST(MemoryCsv, RefusalsNameThePlace) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "t:1:1: Q60: expected a first line like id,lower,upper,size"},
      {"id,lower,upper\n", "t:1:15: Q60: expected a column size"},
      {"id,lower,size\n", "t:1:14: Q60: expected a column upper"},
      {"id,lower,upper,bytes\n", "t:1:16: Q60: expected id, lower, upper"},
      {"id,lower,upper,end,size\n", "t:1:16: Q60: expected one of upper and"},
      {"id,lower,lower,upper,size\n", "t:1:10: Q60: expected each column once"},
      {"id,lower,upper,size\na,0,1\n", "t:2:5: Q60: expected 4 cells"},
      {"id,lower,upper,size\na,0,1,2,3\n", "t:2:9: Q60: expected 4 cells"},
      {"id,lower,upper,size\na,0,1,\n", "t:2:7: Q60: expected a value"},
      {"id,lower,upper,size\na,-1,1,4\n",
       "t:2:3: Q60: expected a whole number"},
      {"id,lower,upper,size\na,0,1,4x\n",
       "t:2:7: Q60: expected a whole number"},
      {"id,lower,upper,size\na,0,1,99999999999999999999\n",
       "t:2:7: Q60: expected a whole number from 0 to 1152921504606846976"},
      {"id,lower,upper,size\na,0,1,1152921504606846976\nb,1,2,1\n",
       "t:3:7: Q60: expected sizes whose sum is within 2^60"},
      {"id,lower,upper,size\na,4,2,4\n",
       "t:2:1: Q60: expected a lifetime that ends after it has begun"},
      {"id,lower,upper,size\na,2,2,4\n", "t:2:1: Q60: expected a lifetime"},
      {"id,lower,upper,size\na,0,1,4\na,1,2,4\n",
       "t:3:1: Q60: expected each id once, found 'a'"},
      {"id,lower,upper,size,gaps\na,0,9,4,3\n", "t:2:9: Q60: expected a gap"},
      {"id,lower,upper,size,gaps\na,0,9,4,1-2 3-4@5\n",
       "t:2:13: Q60: expected a gap"},
      {"id,lower,upper,size,gaps\na,0,9,4,1-x\n",
       "t:2:11: Q60: expected a whole number"},
      {"id,lower,upper,size,gaps\na,0,9,4,8-12\n",
       "t:2:1: Q60: expected gaps inside the lifetime"},
      {"id,lower,upper,size,gaps\na,0,9,4,1-2@0:5\n",
       "t:2:1: Q60: expected a gap's bytes inside the buffer"},
      {"id,lower,upper,size,host\na,0,9,4,b\n",
       "t:2:9: Q60: expected the id of a buffer, found 'b'"},
      {"id,lower,upper,size,host\na,0,9,4,a\n",
       "t:2:1: Q60: expected another buffer as host"},
      {"id,lower,upper,size,host,within\na,0,9,4,,\nb,0,9,2,a,3\n",
       "t:3:1: Q60: expected a host that holds the buffer"},
      {"id,lower,upper,size,within\na,0,9,4,1\n",
       "t:2:9: Q60: expected a host beside it"},
      {"id,lower,upper,size,alignment\na,0,9,4,0\n",
       "t:2:1: Q60: expected an alignment from 1 to 2^40"},
      {"id,lower,upper,size,alignment,offset\na,0,9,4,4,6\n",
       "t:2:1: Q60: expected a fixed offset that is aligned"},
  };
  for (auto [text, message] : cases) {
    auto table = readMemoryCsv("t", text);
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_EQ(exitStatusOf(table.status()), 2);
    EXPECT_EQ(table.status().message().find(message), 0u)
        << table.status().message();
  }
}

TEST(MemoryCsv, RefusesTooManyRows) {
  std::string text = "id,lower,upper,size\n";
  for (int64_t i = 0; i <= kMostBuffers; ++i)
    text += std::to_string(i) + ",0,1,1\n";
  auto table = readMemoryCsv("t", text);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().message(), "t:32770:1: Q60: expected at most 32768 "
                                      "buffers, found '32768'");
}

/// Whatever the bytes, the answer is a table or a message.
TEST(MemoryCsv, DamagedTextsAreReadOrRefused) {
  const std::string good =
      "id,lower,upper,size,alignment,offset,gaps,host,within,arena\n"
      "x,0,4,1024,256,,1-2@0:512,,,a\ny,3,9,512,,,,x,0,a\n";
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int i = 0; i < 3; ++i)
      text[random() % text.size()] = ",-@:\n9x\xff"[random() % 8];
    auto table = readMemoryCsv("t", text);
    if (!table.ok()) {
      EXPECT_EQ(table.status().message().find("t:"), 0u);
      continue;
    }
    auto plan = planMemory(table->problem);
    if (!plan.ok())
      continue;
    EXPECT_TRUE(validateMemoryPlan(table->problem, plan->offsets).ok());
  }
}

/// Every instance, every algorithm, always validated.
TEST(MemoryCsv, InstancesAreSolved) {
  std::vector<PlanningFile> files = planningFiles("memory", ".csv");
  EXPECT_GE(files.size(), 3u);
  for (const PlanningFile &file : files) {
    auto table = readMemoryCsv(file.name, file.text);
    ASSERT_TRUE(table.ok()) << table.status().message();
    for (MemoryAlgorithm algorithm :
         {MemoryAlgorithm::FirstFit, MemoryAlgorithm::BestFit,
          MemoryAlgorithm::Search}) {
      MemoryOptions options;
      options.algorithm = algorithm;
      auto plan = planMemory(table->problem, options);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      Status valid = validateMemoryPlan(table->problem, plan->offsets);
      EXPECT_TRUE(valid.ok()) << file.name << ": " << valid.message();
      if (algorithm == MemoryAlgorithm::Search) {
        EXPECT_EQ(plan->gap(), 0) << file.name;
      }
    }
  }
}

} // namespace
