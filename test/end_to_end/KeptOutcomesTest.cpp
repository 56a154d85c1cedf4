//===- KeptOutcomesTest.cpp - What runs came to, for later tests ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/KeptOutcomes.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::test;

namespace {

class Outcomes : public testing::Test {
protected:
  void SetUp() override {
    if (const char *given = std::getenv("HOCKET_CACHE"))
      before = given;
    ::setenv("HOCKET_CACHE", folder.c_str(), 1);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    if (before.empty())
      ::unsetenv("HOCKET_CACHE");
    else
      ::setenv("HOCKET_CACHE", before.c_str(), 1);
  }

  const std::string folder =
      testing::TempDir() + "/kept-outcomes-" + std::to_string(::getpid());
  const Outcome outcome = {
      {0.1, 3}, {1e-300}, {{"a", {1.0 / 3, -0.0}}, {"b", {}}}};
  std::string before;
};

TEST_F(Outcomes, AreTheSameToTheBit) {
  EXPECT_EQ(fromBytes(toBytes(outcome)), outcome);
  EXPECT_EQ(fromBytes(toBytes({})), Outcome());
  std::optional<Outcome> lost = fromBytes(toBytes({{std::nan("")}, {}, {}}));
  ASSERT_TRUE(lost);
  EXPECT_TRUE(std::isnan(lost->losses.at(0)));
  std::string bytes = toBytes(outcome);
  EXPECT_FALSE(fromBytes(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(fromBytes(""));
}

TEST_F(Outcomes, AreFoundByAnotherProcessUnderAllTheirParts) {
  KeptOutcomes().keep({"spec", "6"}, outcome);
  EXPECT_EQ(KeptOutcomes().find({"spec", "6"}), outcome);
  EXPECT_FALSE(KeptOutcomes().find({"spec", "2"}));
  EXPECT_FALSE(KeptOutcomes().find({"spec6"}));
}

TEST_F(Outcomes, AreNotUsedWhereTheyAreDamaged) {
  KeptOutcomes().keep({"spec"}, outcome);
  for (const auto &file : std::filesystem::directory_iterator(folder))
    std::filesystem::resize_file(file, file.file_size() - 1);
  EXPECT_FALSE(KeptOutcomes().find({"spec"}));
}

TEST_F(Outcomes, AreNotKeptWithoutAFolder) {
  ::unsetenv("HOCKET_CACHE");
  KeptOutcomes().keep({"spec"}, outcome);
  EXPECT_FALSE(KeptOutcomes().find({"spec"}));
}

} // namespace
