//===- TrainingFolder.h - A folder to train in ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_TRAININGFOLDER_H
#define HOCKET_TEST_END_TO_END_SUPPORT_TRAININGFOLDER_H

#include <functional>
#include <gtest/gtest.h>
#include <string>

namespace hocket::test {

/// A test with an empty folder of its own that holds token files under
/// tokens(): documents of growing length, of ids below `vocabulary`. Under
/// sentences() they are cut into sentences of 2 to 8 tokens. Under labelled()
/// there are 40 pairs of texts of three classes, and under questions() 14 with
/// three choices.
class TrainingFolder : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;
  void write(const std::string &prefix,
             const std::function<int(int)> &lengthOf) const;
  void writeSights(const std::string &prefix) const;
  void writeLabelled(const std::string &prefix, int documents, int texts) const;

  std::string tokens() const { return folder + "/tokens"; }
  std::string sentences() const { return folder + "/sentences"; }
  std::string labelled() const { return folder + "/labelled"; }
  std::string questions() const { return folder + "/questions"; }
  std::string sights() const { return folder + "/sights"; }

  std::string folder;
  int vocabulary = 29;
};

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_TRAININGFOLDER_H
