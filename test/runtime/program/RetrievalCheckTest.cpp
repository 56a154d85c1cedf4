//===- RetrievalCheckTest.cpp - Unsound chunks and neighbours -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/Entries.h"
#include "runtime/program/check/ProgramCheck.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <gtest/gtest.h>
#include <string>

using namespace hocket;
using program::Program;
using Retrieval = program::TrainingInfo::Retrieval;

namespace {

/// What every fault of the batch says of what was retrieved, or "".
std::string retrievalFault(const Program &program) {
  std::string text;
  for (const ProgramFault &fault : findProgramFaults(program))
    if (fault.rule == ProgramRule::Batch && fault.place == "training.retrieval")
      text += fault.what;
  return text;
}

/// Every sequence that takes in the learning rate takes in neighbours, too.
Program taking() {
  Program program = test::tinyModel();
  for (program::Role &role : *program.mutable_roles())
    for (program::Sequence &sequence : *role.mutable_sequences())
      for (int i = 0, size = sequence.instructions_size(); i < size; ++i)
        if (sequence.instructions(i).host().name() == "learning_rate") {
          program::Instruction added = sequence.instructions(i);
          added.mutable_host()->set_name("neighbors");
          *sequence.add_instructions() = added;
        }
  program.mutable_model()->set_sequence_length(64);
  return program;
}

Program retrieving() {
  Program program = taking();
  Retrieval *retrieval = program.mutable_training()->mutable_retrieval();
  retrieval->set_chunk_length(16);
  retrieval->set_neighbors(3);
  retrieval->set_retrieved_length(20);
  return program;
}

TEST(RetrievalCheck, WhoTakesNeighborsInSaysHowMany) {
  EXPECT_EQ(retrievalFault(taking()),
            "is not there, and an entry takes in 'neighbors'");
  Program program = test::tinyModel();
  program.mutable_training()->mutable_retrieval();
  EXPECT_EQ(retrievalFault(program),
            "is there, and no entry takes in 'neighbors'");
  EXPECT_EQ(retrievalFault(retrieving()), "");
  EXPECT_EQ(neighborTokensOf(retrieving()), 4u * 3 * 20);
  EXPECT_EQ(neighborTokensOf(test::tinyModel()), 0u);
}

TEST(RetrievalCheck, SizesAreSound) {
  auto fault = [](auto change) {
    Program program = retrieving();
    change(program, *program.mutable_training()->mutable_retrieval());
    return retrievalFault(program);
  };
  const std::string none =
      "has chunks or neighbours of no size, or of too large a one";
  for (uint64_t size : {uint64_t(0), uint64_t(1) << 21, ~uint64_t(0)}) {
    EXPECT_EQ(fault([&](Program &, Retrieval &r) { r.set_chunk_length(size); }),
              none);
    EXPECT_EQ(fault([&](Program &, Retrieval &r) { r.set_neighbors(size); }),
              none);
    EXPECT_EQ(
        fault([&](Program &, Retrieval &r) { r.set_retrieved_length(size); }),
        none);
  }
  EXPECT_EQ(fault([](Program &, Retrieval &r) { r.set_chunk_length(24); }),
            "a sequence is not of whole chunks");
  EXPECT_EQ(fault([](Program &p, Retrieval &) {
              p.mutable_training()->mutable_images();
            }),
            "is there, and so are samples of another kind");
}

} // namespace
