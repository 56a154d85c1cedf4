//===- LocalWorld.cpp - All ranks are threads of one process --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalWorld.h"

#include "base/Format.h"
#include "runtime/comm/local/LocalChannel.h"
#include "runtime/comm/local/LocalCommunicator.h"
#include "runtime/comm/local/LocalMailbox.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::comm;
using Op = CollectiveCall::Op;

namespace {

/// One member's end of a channel and a mailbox.
class ThreadCommunicator : public Communicator {
public:
  ThreadCommunicator(LocalChannel &channel, LocalMailbox &mailbox,
                     unsigned place, LocalWaiter waiter)
      : channel(channel), mailbox(mailbox), place(place), waiter(waiter) {}

  unsigned rank() const override { return place; }
  unsigned size() const override { return unsigned(channel.ranks().size()); }
  Status barrier() override { return call(CollectiveCall()); }

protected:
  Status doAllReduce(const void *from, void *to, uint64_t count, DType dtype,
                     Reduction reduction) override {
    return call(makeCall(Op::AllReduce, from, to, count, dtype, reduction));
  }
  Status doAllGather(const void *from, void *to, uint64_t count,
                     DType dtype) override {
    return call(makeCall(Op::AllGather, from, to, count, dtype));
  }
  Status doReduceScatter(const void *from, void *to, uint64_t count,
                         DType dtype, Reduction reduction) override {
    return call(makeCall(Op::ReduceScatter, from, to, count, dtype, reduction));
  }
  Status doAllToAll(const void *from, void *to, uint64_t count,
                    DType dtype) override {
    return call(makeCall(Op::AllToAll, from, to, count, dtype));
  }
  Status doAllToAllV(const void *from, PeerCounts sends, void *to,
                     PeerCounts receives, DType dtype) override {
    return call({.op = Op::AllToAllV,
                 .from = from,
                 .to = to,
                 .dtype = dtype,
                 .sends = sends,
                 .receives = receives});
  }
  Status doBroadcast(void *data, uint64_t count, DType dtype,
                     unsigned root) override {
    CollectiveCall made = makeCall(Op::Broadcast, data, data, count, dtype);
    made.root = root;
    return call(made);
  }
  Status doExchange(std::span<const Transfer> transfers) override {
    return mailbox.exchange(place, transfers, waiter);
  }

private:
  Status call(const CollectiveCall &call) {
    return channel.call(place, call, waiter);
  }

  LocalChannel &channel;
  LocalMailbox &mailbox;
  unsigned place;
  LocalWaiter waiter;
};

/// One list of ranks: a mailbox, and a channel for each stream.
struct LocalGroup {
  LocalGroup(const std::string &name, const std::vector<unsigned> &ranks,
             size_t streams)
      : ranks(ranks), mailbox(name, ranks) {
    for (size_t i = 0; i < streams; ++i)
      channels.push_back(std::make_unique<LocalChannel>(name, ranks));
  }
  std::vector<unsigned> ranks;
  LocalMailbox mailbox;
  std::vector<std::unique_ptr<LocalChannel>> channels;
};

} // namespace

/// Adds the table's groups to what all ranks share.
class comm::LocalGroups : public LocalState {
public:
  LocalGroups(GroupTable source, WaitLimits limits)
      : LocalState(source.ranks, limits), table(std::move(source)) {
    std::vector<unsigned> all(table.ranks);
    for (unsigned rank = 0; rank < table.ranks; ++rank)
      all[rank] = rank;
    world = std::make_unique<LocalGroup>("world", all, 1);
    for (const RankGroup &group : table.groups) {
      groups.emplace_back();
      for (const std::vector<unsigned> &list : group.lists)
        groups.back().push_back(std::make_unique<LocalGroup>(
            group.name, list, group.streams.size()));
    }
  }

  const GroupTable table;
  std::unique_ptr<LocalGroup> world;
  std::vector<std::vector<std::unique_ptr<LocalGroup>>> groups;
};

namespace {
class LocalSet : public CommunicatorSet {
public:
  LocalSet(std::shared_ptr<LocalGroups> shared, unsigned rank)
      : shared(std::move(shared)), rank(rank) {
    everyone = make(*this->shared->world, 0, 0);
    for (uint32_t g = 0; g < this->shared->groups.size(); ++g)
      for (auto &group : this->shared->groups[g])
        join(g, *group);
  }
  ~LocalSet() override { shared->end(rank); }

  Communicator &world() override { return *everyone; }
  Communicator *find(uint32_t group, uint32_t stream) override {
    auto found = members.find({group, stream});
    return found == members.end() ? nullptr : found->second.get();
  }
  RankActivity &activity() override { return shared->activity(rank); }
  void fail(const Status &error) override {
    shared->fail(rank, error, failureText(rank, error));
  }
  Status check() override {
    shared->watch();
    return shared->failed() ? unavailable(shared->reason()) : okStatus();
  }

private:
  void join(uint32_t index, LocalGroup &group) {
    if (!std::count(group.ranks.begin(), group.ranks.end(), rank))
      return;
    const auto &streams = shared->table.groups[index].streams;
    for (size_t i = 0; i < streams.size(); ++i)
      members[{index, streams[i]}] = make(group, i, streams[i]);
  }

  std::unique_ptr<Communicator> make(LocalGroup &group, size_t channel,
                                     uint32_t lane) {
    if (group.ranks.size() == 1)
      return createLocalCommunicator();
    auto place = std::find(group.ranks.begin(), group.ranks.end(), rank);
    return std::make_unique<ThreadCommunicator>(
        *group.channels[channel], group.mailbox,
        unsigned(place - group.ranks.begin()),
        LocalWaiter{*shared, rank, lane});
  }

  std::shared_ptr<LocalGroups> shared;
  unsigned rank;
  std::unique_ptr<Communicator> everyone;
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Communicator>>
      members;
};
} // namespace

StatusOr<LocalWorld> LocalWorld::create(GroupTable table, WaitLimits limits) {
  HOCKET_RETURN_IF_ERROR(checkGroupTable(table));
  LocalWorld world;
  world.state = std::make_shared<LocalGroups>(std::move(table), limits);
  return world;
}

std::unique_ptr<CommunicatorSet> LocalWorld::join(unsigned rank) {
  return std::make_unique<LocalSet>(state, rank);
}

LocalWorld::Failure LocalWorld::failure() const { return state->failure(); }

std::unique_ptr<CommunicatorSet> comm::createSingleRank(GroupTable table) {
  table.ranks = 1;
  return std::make_unique<LocalSet>(
      std::make_shared<LocalGroups>(std::move(table), WaitLimits()), 0);
}
