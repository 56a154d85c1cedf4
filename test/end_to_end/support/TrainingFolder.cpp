//===- TrainingFolder.cpp - A folder to train in --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/TrainingFolder.h"

#include "runtime/data/ClassFile.h"
#include "runtime/data/ImageFile.h"
#include "runtime/data/LossMask.h"
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
  writeSights(sights());
}

/// Sequences of 16 tokens, each with up to two images of 4 x 4 pixels, of four
/// tokens 7 each; the last token is 20.
void TrainingFolder::writeSights(const std::string &prefix) const {
  constexpr int length = 16, placeholder = 7, end = 20;
  auto tokens = data::TokenFileWriter::create(prefix, data::TokenType::U16);
  auto mask = data::LossMaskWriter::create(prefix);
  data::ImageFileHead head;
  head.imageSize = 4;
  head.tokensPerImage = 4;
  head.imageToken = placeholder;
  head.mostPerDocument = 2;
  auto images = data::ImageFileWriter::create(prefix, head);
  ASSERT_TRUE(tokens.ok() && mask.ok() && images.ok());
  for (int document = 0; document < 80; ++document) {
    std::string bytes;
    std::vector<uint8_t> learned;
    std::vector<uint32_t> shown;
    for (int i = 0; i < document % 3; ++i) {
      std::vector<uint8_t> pixels(head.imageBytes());
      for (size_t p = 0; p < pixels.size(); ++p)
        pixels[p] = uint8_t((size_t(document % 7) * 31 + p * p * 5 + i) % 256);
      shown.push_back(*images->add(pixels));
    }
    for (int i = 0; i < length; ++i) {
      int token = (document * 11 + i * i) % vocabulary;
      bool isImage = i >= 1 && i < 1 + 4 * (document % 3);
      token = isImage                ? placeholder
              : i + 1 == length      ? end
              : token == placeholder ? 8
                                     : token;
      bytes += char(token);
      bytes += char(0);
      learned.push_back(!isImage && i % 5 != 0);
    }
    ASSERT_TRUE(tokens->append(bytes).ok());
    ASSERT_TRUE(tokens->endSequence(uint64_t(length)).ok());
    tokens->endDocument();
    ASSERT_TRUE(mask->append(learned).ok());
    images->endDocument(shown);
  }
  for (const Status &status :
       {tokens->finish(), mask->finish(uint64_t(length), uint64_t(end)),
        images->finish(tokens->tokens())})
    ASSERT_TRUE(status.ok()) << status.message();
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
