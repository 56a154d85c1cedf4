//===- MpiTest.cpp - The conformance suite under mpirun -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include <array>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace {
/// What a command printed on both its outputs, and its exit status.
struct Outcome {
  int status = -1;
  std::string text;
};

Outcome run(const std::string &command) {
  Outcome outcome;
  FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe)
    return outcome;
  std::array<char, 4096> buffer{};
  while (size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.text.append(buffer.data(), got);
  outcome.status = ::pclose(pipe);
  return outcome;
}

class Mpi : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    ::setenv("GTEST_COLOR", "no", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    if (run("mpirun --version").status != 0)
      GTEST_SKIP() << "there is no mpirun on this machine";
  }
};
} // namespace

TEST_P(Mpi, ConformanceSuite) {
  Outcome outcome =
      run("timeout 300 mpirun --oversubscribe --bind-to none -np " +
          std::to_string(GetParam()) + " " + HOCKET_MPI_RANK);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  int passed = 0;
  for (size_t at = 0;
       (at = outcome.text.find("[  PASSED  ] ", at)) != std::string::npos; ++at)
    ++passed;
  EXPECT_EQ(passed, GetParam()) << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(Ranks, Mpi, testing::Values(1, 2, 3, 4, 8));
