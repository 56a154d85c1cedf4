//===- EventFileTest.cpp - Records that TensorBoard reads -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/EventFile.h"

#include "base/File.h"
#include "runtime/telemetry/MetricsLog.h"
#include "runtime/telemetry/tensorboard.pb.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <map>

using namespace hocket;
using tensorboard::Event;

namespace {

/// CRC-32C bit by bit (RFC 3720, B.4), masked as in a TFRecord.
uint32_t maskedSum(std::string_view bytes) {
  uint32_t sum = ~0U;
  for (char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      sum = sum & 1 ? sum >> 1 ^ 0x82f63b78 : sum >> 1;
  }
  sum = ~sum;
  return (sum >> 15 | sum << 17) + 0xa282ead8;
}

template <class T> T take(std::string_view &bytes) {
  T number;
  EXPECT_GE(bytes.size(), sizeof(T));
  bytes.copy(reinterpret_cast<char *>(&number), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return number;
}

std::vector<Event> eventsOf(const std::string &path) {
  std::string text = *readFile(path, 1 << 20);
  std::string_view bytes = text;
  std::vector<Event> events;
  while (!bytes.empty()) {
    std::string_view length = bytes.substr(0, 8);
    auto size = take<uint64_t>(bytes);
    EXPECT_EQ(take<uint32_t>(bytes), maskedSum(length));
    std::string_view message = bytes.substr(0, size);
    bytes.remove_prefix(std::min<size_t>(size, bytes.size()));
    EXPECT_EQ(take<uint32_t>(bytes), maskedSum(message));
    EXPECT_TRUE(events.emplace_back().ParseFromString(std::string(message)));
  }
  return events;
}

class EventFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "events-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    scratch = pattern, folder = scratch + "/a/b";
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(scratch, ignored);
  }

  std::string scratch, folder;
};

TEST_F(EventFileTest, HoldsItsVersionAndNumbersByTags) {
  StatusOr<EventFile> file = EventFile::create(folder, std::nullopt);
  ASSERT_TRUE(file.ok()) << file.status().message();
  double infinity = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(file->write(7, {{"lm loss", 2.5}, {"grad-norm", 0}}).ok());
  ASSERT_TRUE(file->write(8, {{"lm loss", infinity}}).ok());
  std::vector<Event> events = eventsOf(file->path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_GT(events[0].wall_time(), 1.7e9);
  EXPECT_EQ(events[1].step(), 7);
  ASSERT_EQ(events[1].summary().value_size(), 2);
  EXPECT_EQ(events[1].summary().value(0).tag(), "lm loss");
  EXPECT_EQ(events[1].summary().value(0).simple_value(), 2.5f);
  EXPECT_TRUE(events[1].summary().value(1).has_simple_value());
  EXPECT_TRUE(std::isinf(events[2].summary().value(0).simple_value()));
}

TEST_F(EventFileTest, OfARunThatGoesOnSaysWhichStepsAreVoid) {
  StatusOr<EventFile> first = EventFile::create(folder, std::nullopt);
  StatusOr<EventFile> second = EventFile::create(folder, 5);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(eventFilesIn(folder).size(), 2u); // Of one second.
  std::vector<Event> events = eventsOf(second->path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].step(), 5);
  EXPECT_EQ(events[1].session_log().status(), tensorboard::SessionLog::START);
  EXPECT_TRUE(removeEventFiles(folder).ok());
  EXPECT_TRUE(eventFilesIn(folder).empty());
}

TEST_F(EventFileTest, NeedsAFolder) {
  ASSERT_TRUE(makeDirectories(folder).ok());
  std::string path = folder + "/file";
  ASSERT_TRUE(writeFileAtomically(path, "x").ok());
  StatusOr<EventFile> file = EventFile::create(path, std::nullopt);
  ASSERT_FALSE(file.ok());
  EXPECT_TRUE(file.status().message().starts_with(path));
  EXPECT_TRUE(eventFilesIn(path).empty());
}

TEST_F(EventFileTest, HasTheNamesOfMegatron) {
  MetricsLog log;
  StepRecord step;
  step.step = 1, step.loss = 3, step.gradNorm = 2;
  ASSERT_TRUE(log.write(step).ok()); // Nowhere.
  StatusOr<EventFile> file = EventFile::create(folder, std::nullopt);
  ASSERT_TRUE(file.ok());
  std::string path = file->path();
  log.add(*std::move(file));
  ASSERT_TRUE(log.write(step).ok());
  ASSERT_TRUE(log.write(ValidationRecord{.step = 1, .loss = 2}).ok());
  std::map<std::string, float> found;
  for (const Event &event : eventsOf(path))
    for (const auto &value : event.summary().value())
      found[value.tag()] = value.simple_value();
  EXPECT_EQ(found["lm loss"], 3);
  EXPECT_EQ(found["grad-norm"], 2);
  EXPECT_EQ(found["lm loss validation"], 2);
  EXPECT_FLOAT_EQ(found["lm loss validation ppl"], std::exp(2.0f));
  EXPECT_TRUE(found.contains("learning-rate") && found.contains("batch-size"));
  EXPECT_FALSE(found.contains("loss-scale"));
}

} // namespace
