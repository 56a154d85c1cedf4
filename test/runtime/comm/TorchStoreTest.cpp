//===- TorchStoreTest.cpp - The store of torchrun's agent -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Against what a store must never make of this process. What a store answers
/// that is one, test/tools/test_torchrun.py sees.
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/TorchStore.h"
#include "runtime/comm/process/SocketConnections.h"
#include "test/runtime/comm/FreePort.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

using namespace hocket;
using namespace hocket::comm;
using testing::HasSubstr;

namespace {

/// Listens, and gives each that calls the same bytes, whatever it asks.
class Parrot {
public:
  explicit Parrot(const std::string &answer)
      : listeners(*listenAt("127.0.0.1", 0)),
        thread([this, answer] { serve(answer); }) {}
  ~Parrot() {
    ends = true;
    thread.join();
  }
  uint16_t port() const { return localEnd(listeners[0]).port; }

private:
  void serve(const std::string &answer) {
    std::vector<Socket> callers;
    while (!ends) {
      pollfd ready{listeners[0].get(), POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0)
        continue;
      callers.emplace_back(::accept(listeners[0].get(), nullptr, nullptr));
      (void)writeAll(callers.back(), answer);
      if (answer.empty())
        callers.pop_back(); // Closes at once.
    }
  }

  std::vector<Socket> listeners;
  std::atomic<bool> ends{false};
  std::thread thread;
};

/// What get() makes of a store that answers so.
Status answerOf(const std::string &bytes) {
  Parrot parrot(bytes);
  auto store = TorchStore::connect("127.0.0.1", parrot.port(), 5);
  if (!store.ok())
    return store.status();
  auto value = store->get("key");
  return value.status();
}

std::string length(uint64_t bytes) {
  return {reinterpret_cast<const char *>(&bytes), sizeof(bytes)};
}

} // namespace

TEST(TorchStore, RefusesNonsense) {
  std::string ready(1, '\0');
  EXPECT_THAT(answerOf("HTTP/1.1 400 Bad Request\r\n").message(),
              HasSubstr("is not the store of torchrun's agent, of PyTorch 2.1 "
                        "or later: it answers 72 where 0 or 1 is meant"));
  EXPECT_THAT(answerOf(ready + length(uint64_t(1) << 40)).message(),
              HasSubstr("a value of 1099511627776 bytes, at most 4096"));
  EXPECT_THAT(answerOf("").message(), HasSubstr("is not the store"));
  EXPECT_TRUE(answerOf(ready + length(3) + "abc").ok());
}

TEST(TorchStore, SaysWhereNothingListens) {
  uint16_t port = test::freePort();
  auto store = TorchStore::connect("127.0.0.1", port, 0.1);
  EXPECT_THAT(store.status().message(),
              HasSubstr("the store of torchrun's agent: cannot connect to "
                        "127.0.0.1:" +
                        std::to_string(port)));
}

TEST(MeetingPoint, IsReadAsItWasWritten) {
  RunToken token = {1, 2, 0xff};
  for (const char *address : {"10.0.0.7", "fe80::1%eth0", "node0.cluster"}) {
    auto point = parseMeetingPoint(meetingText({address, 40000, token}));
    ASSERT_TRUE(point) << address;
    EXPECT_EQ(point->address, address);
    EXPECT_EQ(point->port, 40000);
    EXPECT_EQ(point->token, token);
  }
}

TEST(MeetingPoint, RefusesNonsense) {
  std::string good = meetingText({"node0", 40000, RunToken()});
  EXPECT_TRUE(parseMeetingPoint(good));
  for (size_t length = 0; length < good.size() - 4; ++length)
    EXPECT_FALSE(parseMeetingPoint(good.substr(0, length))) << length;
  std::string token(32, '0');
  for (const std::string &text :
       {"hocket-rank0-1 0 " + token + " node0",
        "hocket-rank0-1 65536 " + token + " node0",
        "hocket-rank0-1 -1 " + token + " node0",
        "hocket-rank0-1 40000 " + token + "0 node0",
        "hocket-rank0-1 40000 " + std::string(32, 'g') + " node0",
        "hocket-rank0-1 40000 " + token + " node0 node1",
        "hocket-rank0-1 40000 " + token + " " + std::string(300, 'a'),
        "hocket-rank0-2 40000 " + token + " node0"})
    EXPECT_FALSE(parseMeetingPoint(text)) << text;
}

// A store in which others have written, or which is not what it was.
TEST(MeetingPoint, ARankRefusesWhatRank0DoesNotWrite) {
  Parrot parrot(std::string(1, '\0') + length(5) + "where");
  Launch launch{"torchrun",    1, 2,   2, false, "127.0.0.1",
                parrot.port(), 1, true};
  auto connected = connectAll(launch, {.seconds = 20});
  EXPECT_THAT(connected.status().message(),
              HasSubstr("says of rank 0 what rank 0 does not write"));
}
