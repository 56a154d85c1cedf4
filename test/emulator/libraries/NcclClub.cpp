//===- NcclClub.cpp - All ranks of a communicator -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/libraries/NcclClub.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::emulator;

namespace {

/// Work that some of its sides have issued, by number.
class PendingWork {
public:
  /// The work with a number, which each side takes once.
  std::shared_ptr<JointWork> take(uint64_t number, bool isMessage,
                                  unsigned sides) {
    Pending &entry = pending[number];
    if (!entry.work)
      entry.work = std::make_shared<SharedWork>(isMessage, sides);
    std::shared_ptr<JointWork> work = entry.work;
    if (++entry.taken == sides)
      pending.erase(number);
    return work;
  }
  bool contains(uint64_t number) const { return pending.count(number) > 0; }

private:
  struct Pending {
    std::shared_ptr<SharedWork> work;
    unsigned taken = 0;
  };
  std::map<uint64_t, Pending> pending;
};

/// A club whose work happens here.
class SharedClub : public Club {
public:
  SharedClub(const std::string &name, unsigned size)
      : Club(name, size), issued(size), splits(size) {}

  /// True for the last one.
  bool join() {
    std::lock_guard lock(mutex);
    return ++joined == size;
  }
  bool isComplete() override {
    std::lock_guard lock(mutex);
    return joined >= size;
  }
  std::shared_ptr<JointWork> collective(unsigned rank) override {
    std::lock_guard lock(mutex);
    return collectives.take(issued[rank]++, false, size);
  }
  bool isIssuedByAll(unsigned rank) override {
    std::lock_guard lock(mutex);
    return issued[rank] == 0 || !collectives.contains(issued[rank] - 1);
  }
  std::shared_ptr<JointWork> message(unsigned from, unsigned to,
                                     bool sends) override {
    std::lock_guard lock(mutex);
    Line &line = lines[{from, to}];
    return line.messages.take(sends ? line.sent++ : line.received++, true, 2);
  }

  void split(unsigned rank, int color, int key) override {
    std::lock_guard lock(mutex);
    splits[rank].push_back({color, key});
  }
  std::optional<std::vector<unsigned>> partOf(unsigned rank) override {
    std::lock_guard lock(mutex);
    size_t last = splits[rank].size() - 1;
    std::vector<std::pair<int, unsigned>> part; // Key, rank.
    for (unsigned other = 0; other < size; ++other) {
      if (splits[other].size() <= last)
        return std::nullopt;
      if (splits[other][last].color == splits[rank][last].color)
        part.push_back({splits[other][last].key, other});
    }
    std::ranges::sort(part);
    std::vector<unsigned> ranks;
    for (auto [key, other] : part)
      ranks.push_back(other);
    return ranks;
  }

private:
  struct Choice {
    int color = 0, key = 0;
  };
  struct Line {
    uint64_t sent = 0, received = 0;
    PendingWork messages;
  };
  std::mutex mutex;
  unsigned joined = 0;
  std::vector<uint64_t> issued;            ///< Collectives, by rank.
  std::vector<std::vector<Choice>> splits; ///< By rank.
  PendingWork collectives;
  std::map<std::pair<unsigned, unsigned>, Line> lines; ///< Sender, receiver.
};

} // namespace

std::shared_ptr<Club> emulator::joinSharedClub(const std::string &name,
                                               unsigned size) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<SharedClub>> open;
  std::lock_guard lock(mutex);
  auto &entry = open[name];
  if (!entry)
    entry = std::make_shared<SharedClub>(name, size);
  std::shared_ptr<SharedClub> club = entry;
  if (club->size != size)
    return nullptr;
  if (club->join())
    open.erase(name);
  return club;
}
