//===- ImagesCheckTest.cpp - Unsound images in sequences ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/check/ProgramCheck.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <gtest/gtest.h>
#include <string>

using namespace hocket;
using program::Program;
using Images = program::TrainingInfo::Images;

namespace {

/// What every fault of the batch says of images, or "".
std::string imagesFault(const Program &program) {
  std::string text;
  for (const ProgramFault &fault : findProgramFaults(program))
    if (fault.rule == ProgramRule::Batch && fault.place == "training.images")
      text += fault.what;
  return text;
}

/// Gives every sequence that takes in the learning rate another input.
void addInput(Program &program, const std::string &name) {
  for (program::Role &role : *program.mutable_roles())
    for (program::Sequence &sequence : *role.mutable_sequences())
      for (int i = 0, size = sequence.instructions_size(); i < size; ++i)
        if (sequence.instructions(i).host().name() == "learning_rate") {
          program::Instruction added = sequence.instructions(i);
          added.mutable_host()->set_name(name);
          *sequence.add_instructions() = added;
        }
}

Program seeing() {
  Program program = test::tinyModel();
  addInput(program, "pixels");
  addInput(program, "image_rows");
  program.mutable_model()->set_sequence_length(64);
  Images *images = program.mutable_training()->mutable_images();
  images->set_images(2);
  images->set_image_size(12);
  images->set_patch_size(4);
  return program;
}

TEST(ImagesCheck, WhoTakesThemInSaysWhatTheyAreLike) {
  Program program = test::tinyModel();
  addInput(program, "pixels");
  EXPECT_EQ(imagesFault(program),
            "is not there, and an entry takes in 'pixels'");
  program.mutable_training()->mutable_images();
  EXPECT_EQ(imagesFault(program),
            "is there, and no entry takes in 'image_rows'");
  EXPECT_EQ(imagesFault(seeing()), "");
}

TEST(ImagesCheck, SizesAreSound) {
  auto fault = [](auto change) {
    Program program = seeing();
    change(program, *program.mutable_training()->mutable_images());
    return imagesFault(program);
  };
  uint32_t vocabulary = uint32_t(seeing().model().vocab_size());
  EXPECT_EQ(fault([&](Program &, Images &i) { i.set_image_token(vocabulary); }),
            "images stand for token " + std::to_string(vocabulary) +
                ", of a vocabulary of " + std::to_string(vocabulary));
  for (uint64_t count : {uint64_t(0), uint64_t(1025), ~uint64_t(0)})
    EXPECT_EQ(fault([&](Program &, Images &i) { i.set_images(count); }),
              "a sequence has no images, or too many");
  for (uint64_t size : {uint64_t(0), uint64_t(5), uint64_t(16), ~uint64_t(0)})
    EXPECT_EQ(fault([&](Program &, Images &i) { i.set_patch_size(size); }),
              "an image has no patches, or not whole ones");
  EXPECT_EQ(fault([&](Program &, Images &i) { i.set_image_size(1 << 20); }),
            "an image has no patches, or not whole ones");
  EXPECT_EQ(fault([&](Program &p, Images &) {
              p.mutable_model()->set_sequence_length(18);
            }),
            "has more rows of images than a sequence");
  EXPECT_EQ(fault([&](Program &p, Images &i) {
              p.mutable_model()->set_sequence_length(19);
              i.set_class_row(true);
            }),
            "has more rows of images than a sequence");
  EXPECT_EQ(fault([&](Program &p, Images &) {
              p.mutable_training()->mutable_span_corruption();
            }),
            "is there, and so are samples of another kind");
}

} // namespace
