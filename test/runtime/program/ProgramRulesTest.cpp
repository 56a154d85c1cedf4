//===- ProgramRulesTest.cpp - Rules, their texts, and hostile numbers -----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/program/NativeObject.h"
#include "runtime/program/check/ProgramCheck.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

using namespace hocket;
using program::Program;

TEST(ProgramCheck, AnEmptyProgramHasReasons) {
  EXPECT_GE(findProgramFaults(Program()).size(), 3u);
  EXPECT_EQ(findProgramFaults(Program(), 1).size(), 1u);
  EXPECT_EQ(checkProgram(Program()).code(), StatusCode::DataLoss);
}

// A checker that reads hostile numbers must not crash on any of them: random
// changes to the serialized form that still parse are checked to the end.
TEST(ProgramCheck, RandomDamageNeverCrashes) {
  std::string bytes = [] {
    Program program = test::tinyModel();
    program.clear_modules(); // The image is most of the bytes.
    return program.SerializeAsString();
  }();
  google::protobuf::LogSilencer silence;
  uint64_t state = 12345;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (uint64_t n = next() % 4 + 1; n > 0; --n)
      damaged[next() % damaged.size()] = char(next());
    Program program;
    if (!program.ParseFromString(damaged))
      continue;
    ++parsed;
    EXPECT_LE(findProgramFaults(program, 5).size(), 5u);
  }
  EXPECT_GT(parsed, 1000);
}

// The table in the documentation is that of the program.
TEST(ProgramRules, AreThoseOfTheDocumentation) {
  auto text = readFile(HOCKET_SOURCE_DIR "/docs/spec.md", 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status().message();
  size_t rows = 0;
  for (size_t at = text->find("\n| V"); at != std::string::npos;
       at = text->find("\n| V", at + 1))
    ++rows;
  EXPECT_EQ(rows, programRules().size());
  for (const ProgramRuleText &rule : programRules())
    EXPECT_NE(text->find("\n| V" + std::to_string(unsigned(rule.rule)) + " | " +
                         rule.text + " |\n"),
              std::string::npos)
        << rule.text;
}

// What is printed names the constraint and says what to do.
TEST(ProgramRules, AreNamedByFaults) {
  Program program = test::tinyModel();
  program.mutable_roles(0)->mutable_memory()->set_alignment(48);
  EXPECT_EQ(findProgramFaults(program).front().text(),
            "V10: rank 0, role 0 'all': alignment 48 is not a power of two "
            "from 4 to 4096; give the buffer an aligned range of its size "
            "inside the arena");
}

// An object whose constructor runs when it is loaded is found without loading
// it.
TEST(NativeObject, RunsNothingWhenItIsLoaded) {
  auto kernels = readFile(HOCKET_TEST_KERNELS, 1 << 20);
  auto constructor = readFile(HOCKET_TEST_CONSTRUCTOR, 1 << 20);
  ASSERT_TRUE(kernels.ok() && constructor.ok());
  EXPECT_EQ(nativeObjectFault(*kernels), "");
  EXPECT_EQ(nativeObjectFault(*constructor),
            "has a constructor, which would run when it is loaded");
  Program program = test::tinyModel();
  program.mutable_modules(0)->mutable_variants(0)->set_image(*constructor);
  ASSERT_FALSE(findProgramFaults(program).empty());
  EXPECT_EQ(findProgramFaults(program).front().rule,
            ProgramRule::NativeObjects);
}

// Whatever the bytes are, only they are read.
TEST(NativeObject, IsReadInsideItsBytes) {
  auto image = readFile(HOCKET_TEST_KERNELS, 1 << 20);
  ASSERT_TRUE(image.ok());
  for (size_t size = 0; size < image->size(); size += 13)
    nativeObjectFault(std::string(image->substr(0, size)));
  uint64_t state = 7;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = *image;
    for (int i = 0; i < 3; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      damaged[(state >> 33) % 1024] = char(state >> 24);
    }
    nativeObjectFault(damaged);
  }
}
