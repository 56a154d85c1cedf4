//===- ExchangeTest.cpp - Rows of experts between three ranks -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// exchange_rows and return_rows of hand-built programs against a plain list of
/// who has which row, and counts that are none.
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalWorld.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/ProgramGroups.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/program/check/ProgramCheck.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>

using namespace hocket;
using testing::HasSubstr;

namespace {

constexpr unsigned ranks = 3;
constexpr size_t experts = 2 * ranks, rowsOfRank = 10, room = 17, width = 3;

/// By name, what buffers hold first, and what the host is given.
class BufferHost : public HostChannel {
public:
  std::map<std::string, std::vector<std::byte>> data;

  Status provide(const HostInput &, std::span<std::byte>) override {
    return okStatus();
  }
  bool goesOn = false; ///< Where there is no room.
  std::string beyond;  ///< What it was told then.

  Status receive(const std::string &name, uint32_t,
                 std::span<const std::byte> from) override {
    data[name].assign(from.begin(), from.end());
    return okStatus();
  }
  Status beyondBound(const Status &why) override {
    beyond = why.message();
    return goesOn ? okStatus() : why;
  }

  template <typename T>
  void set(const std::string &name, const std::vector<T> &values) {
    const auto *bytes = reinterpret_cast<const std::byte *>(values.data());
    data[name].assign(bytes, bytes + values.size() * sizeof(T));
  }
  std::vector<float> floats(const std::string &name) const {
    const std::vector<std::byte> &bytes = data.at(name);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

/// Exchanges rows by counts that are there, and returns them.
std::shared_ptr<const program::Program> exchangeProgram() {
  test::ProgramBuilder b;
  uint32_t rows = b.buffer("rows", program::F32, {1, rowsOfRank, width}, true);
  uint32_t ranges = b.buffer("ranges", program::I32, {1, experts, 2}, true);
  uint32_t segments =
      b.buffer("segments", program::I32, {1, ranks, 2, 2}, true);
  uint32_t here = b.buffer("here", program::F32, {1, room, width});
  uint32_t back = b.buffer("back", program::F32, {1, rowsOfRank, width});
  b.ranks(ranks);
  b.sequence("exchange");
  for (bool returns : {false, true}) {
    program::Collective &call =
        b.collective(returns ? "return_rows" : "exchange_rows",
                     returns ? here : rows, returns ? back : here);
    call.mutable_rows()->set_ranges(ranges);
    call.mutable_rows()->set_segments(segments);
    call.mutable_rows()->set_width(width);
  }
  b.hostOutput("here", here);
  b.hostOutput("back", back);
  b.entry("exchange").add_runs()->set_sequence(0);
  return std::make_shared<const program::Program>(b.finish());
}

/// Which expert each row of each rank is for, ascending.
using Choices = std::vector<std::vector<size_t>>;

Choices drawChoices(unsigned seed) {
  std::mt19937 random(seed);
  Choices choices(ranks, std::vector<size_t>(rowsOfRank));
  for (std::vector<size_t> &list : choices) {
    for (size_t &expert : list)
      expert = random() % experts;
    std::sort(list.begin(), list.end());
  }
  return choices;
}

/// (first, count) of `counts`, one after the other.
std::vector<int32_t> packed(const std::vector<size_t> &counts) {
  std::vector<int32_t> pairs;
  int32_t first = 0;
  for (size_t count : counts) {
    pairs.insert(pairs.end(), {first, int32_t(count)});
    first += int32_t(count);
  }
  return pairs;
}

/// What rank `rank` is given, and what it must be told of.
struct RankCase {
  BufferHost host;
  std::vector<float> here = std::vector<float>(room * width);
};

RankCase caseOf(const Choices &choices, unsigned rank) {
  auto rowOf = [](unsigned source, size_t row, size_t c) {
    return float(1000 * source + 10 * row + c + 1);
  };
  auto count = [&](unsigned source, size_t expert) {
    return size_t(std::ranges::count(choices[source], expert));
  };
  RankCase result;
  std::vector<size_t> own, others;
  for (size_t expert = 0; expert < experts; ++expert)
    own.push_back(count(rank, expert));
  size_t at = 0;
  for (unsigned source = 0; source < ranks; ++source)
    for (size_t expert : {2 * rank, 2 * rank + 1}) {
      others.push_back(count(source, expert));
      for (size_t row = 0; row < rowsOfRank; ++row)
        for (size_t c = 0; choices[source][row] == expert && c < width; ++c)
          if (at < room * width)
            result.here[at++] = rowOf(source, row, c);
    }
  std::vector<float> rows;
  for (size_t row = 0; row < rowsOfRank; ++row)
    for (size_t c = 0; c < width; ++c)
      rows.push_back(rowOf(rank, row, c));
  result.host.set("rows", rows);
  result.host.set("ranges", packed(own));
  result.host.set("segments", packed(others));
  return result;
}

/// Puts what the host has into the buffers of these names.
Status fillAndRun(Executor &executor, BufferHost &host) {
  hal::Device &device = executor.device();
  for (const program::Buffer &buffer : executor.role().buffers())
    if (device.arenaAddress() && host.data.contains(buffer.name()))
      HOCKET_RETURN_IF_ERROR(
          device.copyFromHost(0, host.data[buffer.name()].data(),
                              {buffer.offset(), buffer.bytes()}));
  return executor.run("exchange", 0, host);
}

/// Runs the program on `driver`; what each rank came to.
std::vector<Status> run(std::vector<RankCase> &cases, const char *driver) {
  auto program = exchangeProgram();
  EXPECT_TRUE(checkProgram(*program).ok()) << checkProgram(*program).message();
  auto world = comm::LocalWorld::create(groupTableOf(*program));
  EXPECT_TRUE(world.ok()) << world.status().message();
  std::vector<Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto set = world->join(rank);
      auto executor =
          Executor::create(program, *hal::createDevice(driver), *set);
      statuses[rank] = executor.status();
      if (executor.ok())
        statuses[rank] = fillAndRun(**executor, cases[rank].host);
      if (!statuses[rank].ok())
        set->fail(statuses[rank]);
    });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

std::vector<RankCase> casesOf(const Choices &choices) {
  std::vector<RankCase> cases;
  for (unsigned rank = 0; rank < ranks; ++rank)
    cases.push_back(caseOf(choices, rank));
  return cases;
}

TEST(Exchange, RowsGoWhereTheirExpertsAreAndComeBack) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<RankCase> cases = casesOf(drawChoices(seed));
    for (const Status &status : run(cases, "cpu"))
      ASSERT_TRUE(status.ok()) << status.message();
    for (const RankCase &rank : cases) {
      EXPECT_EQ(rank.host.floats("here"), rank.here);
      EXPECT_EQ(rank.host.floats("back"), rank.host.floats("rows"));
    }
  }
}

TEST(Exchange, ARankMayGetAllThatThereIsRoomForOrNothing) {
  Choices choices(ranks, std::vector<size_t>(rowsOfRank, 4));
  choices[0] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  choices[1] = {1, 1, 1, 1, 1, 1, 1, 5, 5, 5};
  std::vector<RankCase> cases = casesOf(choices);
  for (const Status &status : run(cases, "cpu"))
    ASSERT_TRUE(status.ok()) << status.message();
  for (const RankCase &rank : cases) {
    EXPECT_EQ(rank.host.floats("here"), rank.here);
    EXPECT_EQ(rank.host.floats("back"), rank.host.floats("rows"));
  }
}

TEST(Exchange, BeyondTheRoomAllRanksEnd) {
  Choices choices(ranks, std::vector<size_t>(rowsOfRank, 4));
  choices[0] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3};
  std::vector<RankCase> cases = casesOf(choices);
  std::vector<Status> statuses = run(cases, "cpu");
  EXPECT_EQ(statuses[2].code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(statuses[2].message(),
              HasSubstr("for 20 rows, and there is room for 17 (1.70 times the "
                        "even share of 10)"));
  EXPECT_THAT(statuses[2].message(),
              HasSubstr("write moe.expert_capacity_bound: 2.00"));
  for (unsigned other : {0U, 1U})
    EXPECT_THAT(statuses[other].message(), HasSubstr("room for 17"));
}

/// Others are told what they would have been; rank 2's experts, and whoever
/// chose them, are told nothing.
TEST(Exchange, BeyondTheRoomNumbersAreNoneWhereTheHostGoesOn) {
  Choices choices(ranks, std::vector<size_t>(rowsOfRank, 4));
  choices[0] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3};
  choices[1] = {0, 0, 4, 4, 4, 4, 4, 5, 5, 5};
  std::vector<RankCase> cases = casesOf(choices);
  for (RankCase &rank : cases)
    rank.host.goesOn = true;
  for (const Status &status : run(cases, "cpu"))
    ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(cases[2].host.beyond, HasSubstr("for 18 rows"));
  for (float number : cases[2].host.floats("here"))
    EXPECT_TRUE(std::isnan(number));
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const BufferHost &host = cases[rank].host;
    std::vector<float> back = host.floats("back"), rows = host.floats("rows");
    for (size_t i = 0; i < rows.size(); ++i) {
      if (choices[rank][i / width] >= 4)
        EXPECT_TRUE(std::isnan(back[i])) << rank << " " << i;
      else
        EXPECT_EQ(back[i], rows[i]);
    }
    if (rank == 2)
      continue;
    EXPECT_EQ(host.beyond, "");
    EXPECT_EQ(host.floats("here"), cases[rank].here);
  }
}

TEST(Exchange, CountsThatAreNoneAreRefused) {
  const std::vector<std::vector<int32_t>> wrong = {
      {0, 3, 4, 7, 11, 0, 11, 0, 11, 0, 11, 0}, // a gap
      {0, 3, 3, -1, 2, 8, 10, 0, 10, 0, 10, 0}, // fewer than none
      {0, 3, 3, 9, 12, 0, 12, 0, 12, 0, 12, 0}, // more than there are
  };
  for (const std::vector<int32_t> &ranges : wrong) {
    std::vector<RankCase> cases = casesOf(drawChoices(1));
    cases[1].host.set("ranges", ranges);
    std::vector<Status> statuses = run(cases, "cpu");
    EXPECT_EQ(statuses[1].code(), StatusCode::InvalidArgument)
        << statuses[1].message();
    EXPECT_FALSE(statuses[0].ok());
  }
}

/// Without memory ranks meet, whatever they would have sent.
TEST(Exchange, TheNullDeviceMeets) {
  std::vector<RankCase> cases = casesOf(drawChoices(1));
  for (const Status &status : run(cases, "null"))
    EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace
