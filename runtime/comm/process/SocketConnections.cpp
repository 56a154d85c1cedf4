//===- SocketConnections.cpp - Who is connected to whom -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/SocketConnections.h"

#include "base/Format.h"
#include "base/Sha256.h"
#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/comm/process/TorchStore.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <thread>

using namespace hocket;
using namespace hocket::comm;

/// One try to reach rank 0: a host that is gone does not answer at all.
static constexpr double secondsForConnection = 3;

std::vector<unsigned> comm::missingRanks(const std::vector<Socket> &connections,
                                         unsigned own, unsigned first) {
  std::vector<unsigned> missing;
  for (unsigned rank = first; rank < connections.size(); ++rank)
    if (rank != own && !connections[rank].isOpen())
      missing.push_back(rank);
  return missing;
}

std::array<uint8_t, 32> comm::runDigest(const Launch &launch) {
  if (launch.runId.empty())
    return {};
  return Sha256::of(launch.runId);
}

//===----------------------------------------------------------------------===//
// Where rank 0 is
//===----------------------------------------------------------------------===//

std::string comm::hostToListenAt(const Endpoint &own, const Launch &launch) {
  bool mayBeElsewhere =
      launch.localSize < launch.size && !namesLoopback(launch.address);
  return own.isLoopback() && mayBeElsewhere ? "" : own.address;
}

// Restarted workers find what those before them have written. An agent counts
// the restarts of its own workers alone, so that the count differs from machine
// to machine and cannot be part of the key: the token tells them apart.
std::string comm::meetingKey(const Launch &launch) {
  return "hocket/" + launch.runId + "/rank0";
}

static constexpr const char *meetingMagic = "hocket-rank0-1";

std::string comm::meetingText(const MeetingPoint &point) {
  const RunToken &token = *point.token;
  return formatText(
      "%s %u %s %s", meetingMagic, point.port,
      toHex({reinterpret_cast<const char *>(token.data()), token.size()})
          .c_str(),
      point.address.c_str());
}

static std::optional<RunToken> parseToken(std::string_view text) {
  RunToken token = {};
  if (text.size() != 2 * token.size())
    return std::nullopt;
  for (size_t i = 0; i < token.size(); ++i) {
    const char *digits = text.data() + 2 * i;
    auto [rest, error] = std::from_chars(digits, digits + 2, token[i], 16);
    if (error != std::errc() || rest != digits + 2)
      return std::nullopt;
  }
  return token;
}

std::optional<MeetingPoint> comm::parseMeetingPoint(const std::string &text) {
  std::vector<std::string_view> words;
  std::string_view rest = text;
  for (size_t space = rest.find(' '); space != rest.npos && words.size() < 3;
       space = rest.find(' ')) {
    words.push_back(rest.substr(0, space));
    rest.remove_prefix(space + 1);
  }
  if (words.size() != 3 || words[0] != meetingMagic || rest.empty() ||
      rest.size() > 255 || rest.find_first_of(" \n\r\t") != rest.npos ||
      rest.find('\0') != rest.npos)
    return std::nullopt;
  MeetingPoint point;
  const char *begin = words[1].data(), *end = begin + words[1].size();
  auto [stop, error] = std::from_chars(begin, end, point.port);
  point.token = parseToken(words[2]);
  if (error != std::errc() || stop != end || point.port == 0 || !point.token)
    return std::nullopt;
  point.address = rest;
  return point;
}

//===----------------------------------------------------------------------===//
// The other ranks
//===----------------------------------------------------------------------===//

namespace {
/// What a rank but 0 does to be connected to all.
class Guest {
public:
  Guest(const Launch &launch, const ConnectOptions &options,
        std::vector<Socket> &connections)
      : launch(launch), options(options), connections(connections),
        places(launch.size) {}

  Status join();
  Status callLower();
  Status hearHigher();

private:
  StatusOr<MeetingPoint> findRank0(const Deadline &deadline);
  Status tryToJoin(const Deadline &deadline);
  Status greet(const MeetingPoint &point);
  Status waitForOthers(const Deadline &deadline);
  Status end(Status status) {
    isOver = true;
    return status;
  }
  Hello hello() const;

  const Launch &launch;
  const ConnectOptions &options;
  std::vector<Socket> &connections;
  std::vector<Place> places;
  std::optional<TorchStore> store;
  std::optional<Acceptor> acceptor;
  std::optional<RunToken> token;
  std::string where;   ///< Rank 0 is, or was.
  bool isOver = false; ///< No other try helps.
};
} // namespace

Hello Guest::hello() const {
  Hello hello;
  std::memcpy(hello.magic, handshakeMagic, sizeof(hello.magic));
  hello.rank = launch.rank;
  hello.size = launch.size;
  hello.port = acceptor->endpoint().port;
  hello.hasToken = token.has_value();
  hello.token = token.value_or(RunToken());
  hello.run = runDigest(launch);
  return hello;
}

StatusOr<MeetingPoint> Guest::findRank0(const Deadline &deadline) {
  MeetingPoint named{launch.address, launch.port, std::nullopt};
  if (!launch.hasAgentStore)
    return named;
  if (!store) {
    auto opened =
        TorchStore::connect(launch.address, launch.port, deadline.left());
    if (!opened.ok())
      return end(opened.status());
    store.emplace(*std::move(opened));
  }
  auto text = store->get(meetingKey(launch));
  if (!text.ok())
    return end(text.status());
  if (!*text)
    return unavailable("it has not said where it listens");
  auto point = parseMeetingPoint(**text);
  if (!point)
    return end(unavailable(formatText(
        "the store at %s:%u says of rank 0 what rank 0 does not write",
        launch.address.c_str(), launch.port)));
  return *point;
}

/// Says Hello; rank 0 answers at once.
Status Guest::greet(const MeetingPoint &point) {
  token = point.token;
  auto socket = connectTo(point.address, point.port, secondsForConnection);
  if (!socket.ok())
    return socket.status();
  std::string host = hostToListenAt(localEnd(*socket), launch);
  HOCKET_ASSIGN_OR_RETURN(std::vector<Socket> listeners, listenAt(host, 0));
  acceptor.emplace(std::move(listeners));
  Hello own = hello();
  Answer answer;
  Status status = writeAll(*socket, bytesOf(own), kSecondsForAnswer);
  if (status.ok())
    status = readAll(*socket, bytesOf(answer), kSecondsForAnswer);
  if (!status.ok() ||
      std::memcmp(answer.magic, handshakeMagic, sizeof(answer.magic)) != 0)
    return unavailable("what listens there is no rank 0 of Hocket");
  answer.text[sizeof(answer.text) - 1] = '\0';
  if (answer.verdict != Answer::Joined)
    return unavailable("it turns this process away: " +
                       std::string(answer.text));
  token = answer.token;
  connections[0] = *std::move(socket);
  return okStatus();
}

/// Rank 0 waits for the others, and says so if they do not come.
Status Guest::waitForOthers(const Deadline &deadline) {
  double patience = std::max(deadline.left(), options.seconds) + 5;
  Answer answer;
  HOCKET_RETURN_IF_ERROR(readAll(connections[0], bytesOf(answer), patience));
  answer.text[sizeof(answer.text) - 1] = '\0';
  if (std::memcmp(answer.magic, handshakeMagic, sizeof(answer.magic)) != 0 ||
      answer.verdict == Answer::Joined)
    return end(unavailable("rank 0 says what no rank 0 says"));
  if (answer.verdict == Answer::Refused)
    return end(unavailable(answer.text));
  return readAll(
      connections[0],
      {reinterpret_cast<char *>(places.data()), places.size() * sizeof(Place)},
      kSecondsForAnswer);
}

Status Guest::tryToJoin(const Deadline &deadline) {
  where = formatText("%s:%u", launch.address.c_str(), launch.port);
  HOCKET_ASSIGN_OR_RETURN(MeetingPoint point, findRank0(deadline));
  where = formatText("%s:%u", point.address.c_str(), point.port);
  HOCKET_RETURN_IF_ERROR(greet(point));
  Status status = waitForOthers(deadline);
  if (!status.ok())
    connections[0] = Socket();
  return status;
}

/// Rank 0 may start later, or have died and be started again: tries until time
/// is over.
Status Guest::join() {
  Deadline deadline(options.seconds), quiet(options.quiet);
  bool hasSaid = false;
  while (true) {
    Status status = tryToJoin(deadline);
    if (status.ok() || isOver)
      return status;
    if (deadline.hasPassed())
      return unavailable(formatText(
          "rank %u has not reached rank 0 at %s within %.0f s: %s", launch.rank,
          where.c_str(), options.seconds, status.message().c_str()));
    if (quiet.hasPassed() && !hasSaid) {
      options.say(formatText("rank %u waits for rank 0 at %s: %s", launch.rank,
                             where.c_str(), status.message().c_str()));
      hasSaid = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Status Guest::callLower() {
  for (unsigned rank = 1; rank < launch.rank; ++rank) {
    Place &place = places[rank];
    place.address[sizeof(place.address) - 1] = '\0';
    auto socket =
        connectTo(place.address, uint16_t(place.port), options.seconds);
    if (!socket.ok())
      return socket.status().withContext(formatText("rank %u", rank));
    connections[rank] = *std::move(socket);
    Hello own = hello();
    HOCKET_RETURN_IF_ERROR(
        writeAll(connections[rank], bytesOf(own), kSecondsForAnswer));
  }
  return okStatus();
}

Status Guest::hearHigher() {
  Deadline deadline(options.seconds), quiet(options.quiet);
  bool hasSaid = false;
  while (true) {
    std::vector<unsigned> missing =
        missingRanks(connections, launch.rank, launch.rank + 1);
    if (missing.empty())
      return okStatus();
    if (deadline.hasPassed())
      return unavailable(formatText("%s did not connect to rank %u within "
                                    "%.0f s",
                                    ranksText(missing).c_str(), launch.rank,
                                    options.seconds));
    if (quiet.hasPassed() && !hasSaid) {
      options.say(formatText("rank %u waits for ", launch.rank) +
                  ranksText(missing));
      hasSaid = true;
    }
    HOCKET_ASSIGN_OR_RETURN(std::optional<Caller> caller,
                            acceptor->next(std::min(0.25, deadline.left())));
    if (!caller || !caller->hello.hasToken || caller->hello.token != token)
      continue;
    unsigned rank = caller->hello.rank;
    if (std::count(missing.begin(), missing.end(), rank))
      connections[rank] = std::move(caller->socket);
  }
}

StatusOr<std::vector<Socket>> comm::connectAll(const Launch &launch,
                                               const ConnectOptions &options) {
  std::vector<Socket> connections(launch.size);
  if (launch.rank == 0) {
    HOCKET_RETURN_IF_ERROR(hostRanks(launch, options, connections));
    return connections;
  }
  Guest guest(launch, options, connections);
  HOCKET_RETURN_IF_ERROR(guest.join());
  HOCKET_RETURN_IF_ERROR(guest.callLower());
  HOCKET_RETURN_IF_ERROR(guest.hearHigher());
  return connections;
}
