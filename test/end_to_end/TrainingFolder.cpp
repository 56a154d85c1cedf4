//===- TrainingFolder.cpp - A folder to train in --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/TrainingFolder.h"

#include "runtime/data/TokenFileWriter.h"

#include <filesystem>
#include <unistd.h>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

void TrainingFolder::SetUp() {
  folder = testing::TempDir() + "/hocket-train-" + std::to_string(getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  auto writer = data::TokenFileWriter::create(tokens(), data::TokenType::U16);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (int document = 0; document < 60; ++document) {
    std::string bytes;
    for (int i = 0; i < 40 + document; ++i) {
      bytes += char((document * 11 + i * i) % vocabulary);
      bytes += char(0);
    }
    ASSERT_TRUE(writer->append(bytes).ok());
    ASSERT_TRUE(writer->endSequence(bytes.size() / 2).ok());
    writer->endDocument();
  }
  Status status = writer->finish();
  ASSERT_TRUE(status.ok()) << status.message();
}

void TrainingFolder::TearDown() { fs::remove_all(folder); }
