//===- TrainingFolder.cpp - A folder to train in --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/TrainingFolder.h"

#include "runtime/data/ClassFile.h"
#include "runtime/data/TokenFileWriter.h"
#include "runtime/data/WordFile.h"

#include <filesystem>
#include <unistd.h>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

void TrainingFolder::SetUp() {
  folder = testing::TempDir() + "/hocket-train-" + std::to_string(getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  write(tokens(), [](int) { return 1 << 20; });
  write(sentences(), [](int number) { return 2 + number * number % 7; });
  writeLabelled(labelled(), 40, 2);
  writeLabelled(questions(), 14, 4);
}

void TrainingFolder::writeLabelled(const std::string &prefix, int documents,
                                   int texts) const {
  auto writer = data::TokenFileWriter::create(prefix, data::TokenType::U16);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  data::DocumentClasses classes{{"a", "b", "c"}, texts > 2, {}};
  for (int document = 0; document < documents; ++document) {
    for (int text = 0; text < texts; ++text) {
      std::string bytes;
      int length = 1 + (document * (text + 3)) % 11;
      for (int i = 0; i < length; ++i) {
        bytes += char((document * 11 + text + i * i) % vocabulary);
        bytes += char(0);
      }
      ASSERT_TRUE(writer->append(bytes).ok());
      ASSERT_TRUE(writer->endSequence(uint64_t(length)).ok());
    }
    writer->endDocument();
    classes.labels.push_back(uint16_t(document % 3));
  }
  Status status = writer->finish();
  ASSERT_TRUE(status.ok()) << status.message();
  status = data::writeClassFile(prefix, classes);
  ASSERT_TRUE(status.ok()) << status.message();
}

/// `lengthOf` says how many tokens the sentence of a number has at most.
void TrainingFolder::write(const std::string &prefix,
                           const std::function<int(int)> &lengthOf) const {
  auto writer = data::TokenFileWriter::create(prefix, data::TokenType::U16);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (int document = 0; document < 60; ++document) {
    std::string bytes;
    int length = 40 + document;
    for (int i = 0, sentence = 0; i < length; ++i) {
      bytes += char((document * 11 + i * i) % vocabulary);
      bytes += char(0);
      if (i + 1 < length && int(bytes.size() / 2) < lengthOf(sentence))
        continue;
      ASSERT_TRUE(writer->append(bytes).ok());
      ASSERT_TRUE(writer->endSequence(bytes.size() / 2).ok());
      bytes.clear();
      ++sentence;
    }
    writer->endDocument();
  }
  Status status = writer->finish();
  ASSERT_TRUE(status.ok()) << status.message();
  data::WordContinuations continues(vocabulary);
  for (size_t token = 2; token < continues.size(); token += 3)
    continues[token] = true;
  status = data::writeWordFile(prefix, writer->tokens(), continues);
  ASSERT_TRUE(status.ok()) << status.message();
}

void TrainingFolder::TearDown() { fs::remove_all(folder); }
