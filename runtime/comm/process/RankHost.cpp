//===- RankHost.cpp - Rank 0 waits for the others -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/comm/process/SocketConnections.h"
#include "runtime/comm/process/TorchStore.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

using namespace hocket;
using namespace hocket::comm;

namespace {
class RankHost {
public:
  RankHost(const Launch &launch, const ConnectOptions &options,
           std::vector<Socket> &connections)
      : launch(launch), options(options), connections(connections),
        places(launch.size), run(runDigest(launch)), nextNote(options.quiet) {}

  Status open();
  Status gather();
  Status tellPlaces();

private:
  Status openBesideStore();
  void admit(Caller caller);
  std::string whyNot(const Hello &hello) const;
  void dropLost();
  void noteMissing();
  Status giveUp();
  Answer answer(Answer::Verdict verdict, const std::string &text = "") const;
  void sayOnce(const std::string &line);

  const Launch &launch;
  const ConnectOptions &options;
  std::vector<Socket> &connections;
  std::vector<Place> places;
  std::array<uint8_t, 32> run;
  RunToken token = {};
  std::optional<Acceptor> acceptor;
  std::string where; ///< "address:port"
  std::set<std::string> said;
  Deadline nextNote; ///< Of who is missing.
};
} // namespace

static RunToken randomToken() {
  std::random_device random;
  RunToken token = {};
  for (uint8_t &byte : token)
    byte = uint8_t(random());
  return token;
}

//===----------------------------------------------------------------------===//
// Listening
//===----------------------------------------------------------------------===//

/// The port that was named is the store's: takes another one, and has the store
/// say which.
Status RankHost::openBesideStore() {
  HOCKET_ASSIGN_OR_RETURN(
      TorchStore store,
      TorchStore::connect(launch.address, launch.port, options.seconds));
  Endpoint own = store.ownEnd();
  std::string host = hostToListenAt(own, launch);
  HOCKET_ASSIGN_OR_RETURN(std::vector<Socket> listeners, listenAt(host, 0));
  acceptor.emplace(std::move(listeners));
  // The store is on this machine if a loopback address leads to it, which
  // others reach by the name that they were given.
  MeetingPoint point{host.empty() ? launch.address : host,
                     acceptor->endpoint().port, token};
  where = formatText("%s:%u", point.address.c_str(), point.port);
  return store.set(meetingKey(launch), meetingText(point));
}

Status RankHost::open() {
  token = randomToken();
  if (launch.hasAgentStore)
    return openBesideStore();
  HOCKET_ASSIGN_OR_RETURN(std::vector<Socket> listeners,
                          listenAt(launch.address, launch.port));
  bool isLoopback =
      std::all_of(listeners.begin(), listeners.end(),
                  [](const Socket &s) { return localEnd(s).isLoopback(); });
  if (isLoopback && hostToListenAt(localEnd(listeners[0]), launch).empty()) {
    listeners.clear();
    HOCKET_ASSIGN_OR_RETURN(listeners, listenAt("", launch.port));
  }
  acceptor.emplace(std::move(listeners));
  where = formatText("%s:%u", launch.address.c_str(), launch.port);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Who comes
//===----------------------------------------------------------------------===//

Answer RankHost::answer(Answer::Verdict verdict,
                        const std::string &text) const {
  Answer answer;
  std::memcpy(answer.magic, handshakeMagic, sizeof(answer.magic));
  answer.verdict = verdict;
  answer.token = token;
  text.copy(answer.text, sizeof(answer.text) - 1);
  return answer;
}

void RankHost::sayOnce(const std::string &line) {
  if (said.size() < 64 && said.insert(line).second)
    options.say(line);
}

/// Why the caller may not join; empty if it may.
std::string RankHost::whyNot(const Hello &hello) const {
  if (hello.hasToken && hello.token != token)
    return "it looks for a rank 0 that is gone";
  if (hello.run != run)
    return "it belongs to another run than rank 0" +
           (launch.runId.empty() ? "" : ", which is of " + launch.runId);
  if (hello.size != launch.size)
    return formatText("it is one of %u processes, rank 0 of %u", hello.size,
                      launch.size);
  if (hello.rank == 0 || hello.rank >= launch.size)
    return "there is such a rank already";
  const Socket &known = connections[hello.rank];
  return known.isOpen() && !isGone(known) ? "there is such a rank already" : "";
}

void RankHost::admit(Caller caller) {
  const Hello &hello = caller.hello;
  Endpoint from = remoteEnd(caller.socket);
  std::string refusal = whyNot(hello);
  Answer reply =
      answer(refusal.empty() ? Answer::Joined : Answer::Refused, refusal);
  Status told = writeAll(caller.socket, bytesOf(reply), kSecondsForAnswer);
  if (!refusal.empty()) {
    if (!hello.hasToken || hello.token == token)
      sayOnce(formatText("rank 0 has turned away rank %u at %s: ", hello.rank,
                         from.address.c_str()) +
              refusal);
    return;
  }
  if (!told.ok())
    return;
  Place &place = places[hello.rank];
  from.address.copy(place.address, sizeof(place.address) - 1);
  place.port = hello.port;
  connections[hello.rank] = std::move(caller.socket);
}

/// Whoever has gone again may come again.
void RankHost::dropLost() {
  for (unsigned rank = 1; rank < launch.size; ++rank)
    if (connections[rank].isOpen() && isGone(connections[rank])) {
      connections[rank] = Socket();
      places[rank] = Place();
    }
}

/// From time to time, as some may have come.
void RankHost::noteMissing() {
  std::vector<unsigned> missing = missingRanks(connections, 0);
  if (missing.empty() || !nextNote.hasPassed())
    return;
  options.say(formatText("rank 0 waits at %s for %s of %u", where.c_str(),
                         ranksText(missing).c_str(), launch.size));
  nextNote = Deadline(15);
}

/// Tells those who have come why there is no run.
Status RankHost::giveUp() {
  std::string text =
      formatText("%s did not connect to rank 0 at %s within %.0f s",
                 ranksText(missingRanks(connections, 0)).c_str(), where.c_str(),
                 options.seconds);
  Answer reply = answer(Answer::Refused, text);
  for (Socket &socket : connections)
    if (socket.isOpen())
      (void)writeAll(socket, bytesOf(reply), 1);
  return unavailable(text);
}

Status RankHost::gather() {
  Deadline deadline(options.seconds), nextLook(0);
  nextNote = Deadline(options.quiet);
  while (true) {
    if (missingRanks(connections, 0).empty()) {
      dropLost();
      if (missingRanks(connections, 0).empty())
        return okStatus();
    }
    HOCKET_ASSIGN_OR_RETURN(std::optional<Caller> caller,
                            acceptor->next(std::min(0.25, deadline.left())));
    if (caller)
      admit(*std::move(caller));
    if (nextLook.hasPassed()) {
      dropLost();
      noteMissing();
      nextLook = Deadline(0.25);
    }
    if (deadline.hasPassed() && !missingRanks(connections, 0).empty())
      return giveUp();
  }
}

/// Ranks of rank 0's machine may have come through its loopback address: others
/// reach them where they reach rank 0.
static void replaceLoopback(std::vector<Place> &places,
                            const std::vector<Socket> &connections) {
  std::string own;
  auto isLoopback = [](const Place &place) {
    return Endpoint{place.address, 0}.isLoopback();
  };
  for (unsigned rank = 1; rank < places.size(); ++rank)
    if (own.empty() && !isLoopback(places[rank]))
      own = localEnd(connections[rank]).address;
  for (unsigned rank = 1; rank < places.size(); ++rank)
    if (!own.empty() && isLoopback(places[rank])) {
      places[rank] = {{}, places[rank].port};
      own.copy(places[rank].address, sizeof(Place::address) - 1);
    }
}

Status RankHost::tellPlaces() {
  replaceLoopback(places, connections);
  Answer reply = answer(Answer::Complete);
  std::span<const char> bytes(reinterpret_cast<const char *>(places.data()),
                              places.size() * sizeof(Place));
  for (unsigned rank = 1; rank < launch.size; ++rank) {
    Status told =
        writeAll(connections[rank], bytesOf(reply), kSecondsForAnswer);
    if (told.ok())
      told = writeAll(connections[rank], bytes, kSecondsForAnswer);
    if (!told.ok())
      return told.withContext(formatText("rank %u", rank));
  }
  return okStatus();
}

Status comm::hostRanks(const Launch &launch, const ConnectOptions &options,
                       std::vector<Socket> &connections) {
  RankHost host(launch, options, connections);
  HOCKET_RETURN_IF_ERROR(host.open());
  HOCKET_RETURN_IF_ERROR(host.gather());
  return host.tellPlaces();
}
