//===- RendezvousTest.cpp - How processes find each other -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/SocketTransport.h"
#include "test/runtime/comm/FreePort.h"

#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

using namespace hocket;
using namespace hocket::comm;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Ranks of a run, each a thread, as processes would be.
class Rendezvous : public testing::Test {
protected:
  Launch launch(unsigned rank, unsigned size) const {
    return {"test", rank, size, size, false, "127.0.0.1", port};
  }
  ConnectOptions options(double seconds, double quiet = 2) {
    return {seconds, quiet, [this](const std::string &line) {
              std::lock_guard lock(mutex);
              said.push_back(line);
            }};
  }
  std::string at() const { return "127.0.0.1:" + std::to_string(port); }

  /// What came of each, by its index in `launches`.
  std::vector<Status> connect(const std::vector<Launch> &launches,
                              const ConnectOptions &how) {
    std::vector<Status> results(launches.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < launches.size(); ++i)
      threads.emplace_back(
          [&, i] { results[i] = connectAll(launches[i], how).status(); });
    for (std::thread &thread : threads)
      thread.join();
    return results;
  }

  /// A connection to who may not listen yet.
  Socket call() const {
    while (true) {
      auto socket = connectTo("127.0.0.1", port, 5);
      if (socket.ok())
        return *std::move(socket);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  static Hello helloOf(const Launch &launch) {
    Hello hello;
    std::memcpy(hello.magic, handshakeMagic, sizeof(hello.magic));
    hello.rank = launch.rank;
    hello.size = launch.size;
    hello.port = 1;
    return hello;
  }
  Answer answerTo(const Socket &socket, Hello hello) const {
    Answer answer;
    EXPECT_TRUE(writeAll(socket, bytesOf(hello)).ok());
    EXPECT_TRUE(readAll(socket, bytesOf(answer), 10).ok());
    return answer;
  }

  const uint16_t port = test::freePort();
  std::mutex mutex;
  std::vector<std::string> said;
};

} // namespace

TEST_F(Rendezvous, SilentStrangersDelayNobody) {
  Status first, second;
  std::thread rank0(
      [&] { first = connectAll(launch(0, 2), options(30)).status(); });
  std::vector<Socket> strangers;
  for (int i = 0; i < 13; ++i)
    strangers.push_back(call());
  ASSERT_TRUE(writeAll(strangers[3], std::string("hock")).ok());
  ASSERT_TRUE(writeAll(strangers[4], std::string("GET / HTTP/1.1\r\n")).ok());
  std::thread rank1(
      [&] { second = connectAll(launch(1, 2), options(30)).status(); });
  rank0.join();
  rank1.join();
  EXPECT_TRUE(first.ok()) << first.message();
  EXPECT_TRUE(second.ok()) << second.message();
}

// A host of its own, but not where it was not asked to listen.
TEST_F(Rendezvous, ListensWhereItWasNamed) {
  Status first;
  std::thread rank0(
      [&] { first = connectAll(launch(0, 2), options(20)).status(); });
  call();
  EXPECT_THAT(connectTo("127.0.0.2", port, 1).status().message(),
              HasSubstr("Connection refused"));
  EXPECT_TRUE(connect({launch(1, 2)}, options(20))[0].ok());
  rank0.join();
  EXPECT_TRUE(first.ok()) << first.message();
}

TEST_F(Rendezvous, ListensEverywhereIfItsNameIsItsOwnAlone) {
  Launch alone = launch(0, 4), spread = alone;
  alone.address = spread.address = "node0";
  spread.localSize = 2;
  EXPECT_EQ(hostToListenAt({"127.0.1.1", 5}, alone), "127.0.1.1");
  EXPECT_EQ(hostToListenAt({"127.0.1.1", 5}, spread), "");
  EXPECT_EQ(hostToListenAt({"10.0.0.7", 5}, spread), "10.0.0.7");
  spread.address = "localhost";
  EXPECT_EQ(hostToListenAt({"127.0.0.1", 5}, spread), "127.0.0.1");
}

TEST_F(Rendezvous, SaysWhichRanksAreMissing) {
  auto results = connect({launch(0, 4), launch(2, 4)}, options(3, 1));
  std::string missing =
      "ranks 1, 3 did not connect to rank 0 at " + at() + " within 3 s";
  EXPECT_EQ(results[0].message(), missing);
  EXPECT_EQ(results[1].message(), missing);
  EXPECT_THAT(said,
              ElementsAre("rank 0 waits at " + at() + " for ranks 1, 3 of 4"));
}

TEST_F(Rendezvous, SaysThatRank0IsMissing) {
  auto results = connect({launch(3, 4)}, options(1, 0.2));
  EXPECT_THAT(results[0].message(),
              StartsWith("rank 3 has not reached rank 0 at " + at() +
                         " within 1 s: cannot connect to " + at()));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], StartsWith("rank 3 waits for rank 0 at " + at() + ": "));
}

TEST_F(Rendezvous, AProcessOfAnotherRunIsTurnedAway) {
  Launch rank0 = launch(0, 2), rank1 = launch(1, 2), old = rank1;
  rank0.runId = rank1.runId = "Slurm's job 8";
  old.runId = "Slurm's job 7";
  Status first;
  std::thread host([&] { first = connectAll(rank0, options(30)).status(); });
  EXPECT_THAT(connect({old}, options(3))[0].message(),
              HasSubstr("it turns this process away: it belongs to another run "
                        "than rank 0, which is of Slurm's job 8"));
  Status second = connect({rank1}, options(30))[0];
  host.join();
  EXPECT_TRUE(first.ok()) << first.message();
  EXPECT_TRUE(second.ok()) << second.message();
  EXPECT_THAT(said,
              Contains("rank 0 has turned away rank 1 at 127.0.0.1: it belongs "
                       "to another run than rank 0, which is of Slurm's job "
                       "8"));
}

TEST_F(Rendezvous, WhoDoesNotFitIsToldWhy) {
  Status first;
  std::thread rank0(
      [&] { first = connectAll(launch(0, 3), options(30)).status(); });
  Socket known = call();
  EXPECT_EQ(answerTo(known, helloOf(launch(1, 3))).verdict, Answer::Joined);
  EXPECT_STREQ(answerTo(call(), helloOf(launch(1, 3))).text,
               "there is such a rank already");
  EXPECT_STREQ(answerTo(call(), helloOf(launch(2, 8))).text,
               "it is one of 8 processes, rank 0 of 3");
  Hello stale = helloOf(launch(2, 3));
  stale.hasToken = 1;
  EXPECT_STREQ(answerTo(call(), stale).text,
               "it looks for a rank 0 that is gone");
  known = Socket(); // It has died, and comes again.
  auto results = connect({launch(1, 3), launch(2, 3)}, options(30));
  rank0.join();
  EXPECT_TRUE(first.ok()) << first.message();
  EXPECT_TRUE(results[0].ok() && results[1].ok());
}

/// What this process has in memory.
static uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

namespace {
/// Rank 0's transport, whose only other rank is this test.
class HostileRank : public Rendezvous {
protected:
  void SetUp() override {
    std::thread rank0([&] {
      auto made = createSocketTransport(launch(0, 2), options(30));
      ASSERT_TRUE(made.ok()) << made.status().message();
      transport = *std::move(made);
    });
    rank1 = call();
    EXPECT_EQ(answerTo(rank1, helloOf(launch(1, 2))).verdict, Answer::Joined);
    Answer answer;
    Place places[2];
    EXPECT_TRUE(readAll(rank1, bytesOf(answer), 10).ok());
    EXPECT_EQ(answer.verdict, Answer::Complete);
    EXPECT_TRUE(readAll(rank1, bytesOf(places), 10).ok());
    rank0.join();
    channel = *transport->open({{0, 1}});
  }
  void send(uint64_t bytes) {
    struct {
      uint32_t channel = 0, tag = 0;
      uint64_t bytes;
    } header{0, 0, bytes};
    EXPECT_TRUE(writeAll(rank1, bytesOf(header)).ok());
    EXPECT_TRUE(writeAll(rank1, std::string(10, 'x')).ok());
  }
  /// Of a message of ten bytes from rank 1.
  Status receive() {
    char data[10];
    auto request = transport->start({channel, false, 1, data, 10, 0});
    while (request.ok()) {
      auto over = transport->test(*request);
      if (!over.ok() || *over)
        return over.status();
      std::this_thread::yield();
    }
    return request.status();
  }

  std::unique_ptr<Transport> transport;
  Socket rank1;
  ChannelId channel = -1;
};
} // namespace

TEST_F(HostileRank, AHeaderThatIsTooLargeIsRefused) {
  uint64_t before = residentBytes();
  send(messageLimit + 1);
  EXPECT_EQ(receive().message(), "the connection to rank 1 is gone");
  EXPECT_LT(residentBytes(), before + (64u << 20));
}

TEST_F(HostileRank, AMessageTakesWhatHasComeOfIt) {
  uint64_t before = residentBytes();
  send(messageLimit);
  // Until it has been read: then the socket holds nothing.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(residentBytes(), before + (64u << 20));
  rank1 = Socket();
  EXPECT_EQ(receive().message(), "the connection to rank 1 is gone");
}
