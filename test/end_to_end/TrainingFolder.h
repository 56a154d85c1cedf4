//===- TrainingFolder.h - A folder to train in ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_TRAININGFOLDER_H
#define HOCKET_TEST_END_TO_END_TRAININGFOLDER_H

#include <gtest/gtest.h>
#include <string>

namespace hocket::test {

/// A test with an empty folder of its own that holds token files under
/// tokens(): documents of growing length, of ids below `vocabulary`.
class TrainingFolder : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  std::string tokens() const { return folder + "/tokens"; }

  std::string folder;
  int vocabulary = 29;
};

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_TRAININGFOLDER_H
