//===- DocumentsCheckTest.cpp - Unsound documents in sequences ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/check/ProgramCheck.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace hocket;
using program::Program;

namespace {

/// What every fault of the batch says of documents, or "".
std::string faultOf(const Program &program) {
  std::string text;
  for (const ProgramFault &fault : findProgramFaults(program))
    if (fault.rule == ProgramRule::Batch && fault.place == "training.documents")
      text += fault.what;
  return text;
}

/// Renames the host's input "learning_rate", a number, in every sequence.
void rename(Program &program, const std::string &name) {
  for (program::Role &role : *program.mutable_roles())
    for (program::Sequence &sequence : *role.mutable_sequences())
      for (program::Instruction &instruction : *sequence.mutable_instructions())
        if (instruction.has_host() &&
            instruction.host().name() == "learning_rate")
          instruction.mutable_host()->set_name(name);
}

TEST(DocumentsCheck, TheyEndInATokenOfTheVocabulary) {
  Program program = test::tinyModel();
  uint32_t vocabulary = uint32_t(program.model().vocab_size());
  auto *documents = program.mutable_training()->mutable_documents();
  documents->set_eod_token(vocabulary - 1);
  EXPECT_EQ(faultOf(program), "");
  documents->set_eod_token(vocabulary);
  EXPECT_EQ(faultOf(program), "token " + std::to_string(vocabulary) +
                                  " ends a document, of a vocabulary of " +
                                  std::to_string(vocabulary));
}

TEST(DocumentsCheck, LabelsAreCountedWhereSomeAreMasked) {
  Program program = test::tinyModel();
  auto *documents = program.mutable_training()->mutable_documents();
  documents->set_mask_loss(true);
  EXPECT_EQ(faultOf(program), "masks labels, of which no entry takes in how "
                              "many are left");
  rename(program, "label_count");
  EXPECT_EQ(faultOf(program), "");
  documents->set_mask_loss(false);
  EXPECT_EQ(faultOf(program), "masks no labels, and an entry takes in how many "
                              "are left");
}

TEST(DocumentsCheck, PositionsAreOfDocumentsThatEnd) {
  Program program = test::tinyModel();
  rename(program, "positions");
  EXPECT_EQ(faultOf(program), "is not there, and says no end of the documents "
                              "that 'positions' are of");
  program.mutable_training()->mutable_documents();
  EXPECT_EQ(faultOf(program), "");
}

} // namespace
