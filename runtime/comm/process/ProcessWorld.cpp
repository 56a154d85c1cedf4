//===- ProcessWorld.cpp - One rank a process ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/ProcessWorld.h"

#include "base/Format.h"
#include "runtime/comm/interfaces/FailureText.h"
#include "runtime/comm/local/LocalCommunicator.h"
#include "runtime/comm/process/MessageCommunicator.h"
#include "runtime/comm/process/ProcessWatch.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::comm;

namespace {
class ProcessSet : public CommunicatorSet {
public:
  ProcessSet(std::unique_ptr<Transport> source, GroupTable table)
      : transport(std::move(source)), state(*transport),
        table(std::move(table)) {}
  ~ProcessSet() override;

  /// The world's own channels, and its watch.
  Status openWorld(const WaitLimits &limits);
  /// All others, in the order of the table.
  Status openGroups();

  Communicator &world() override { return *everyone; }
  Communicator *find(uint32_t group, uint32_t stream) override {
    auto found = members.find({group, stream});
    return found == members.end() ? nullptr : found->second.get();
  }
  RankActivity &activity() override { return state.activity; }
  void fail(const Status &error) override {
    state.fail(failureText(transport->rank(), error));
  }
  Status check() override {
    return state.failed() ? unavailable(state.reason()) : okStatus();
  }

private:
  Status openGroup(uint32_t index);
  std::unique_ptr<Communicator> make(CommunicatorPlace place);

  std::unique_ptr<Transport> transport;
  ProcessState state;
  const GroupTable table;
  std::unique_ptr<Communicator> everyone;
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Communicator>>
      members;
  std::unique_ptr<ProcessWatch> watch;
};
} // namespace

std::unique_ptr<Communicator> ProcessSet::make(CommunicatorPlace place) {
  auto own =
      std::find(place.ranks.begin(), place.ranks.end(), transport->rank());
  place.place = unsigned(own - place.ranks.begin());
  if (place.ranks.size() == 1)
    return createLocalCommunicator();
  return std::make_unique<MessageCommunicator>(state, std::move(place));
}

Status ProcessSet::openGroup(uint32_t index) {
  const RankGroup &group = table.groups[index];
  CommunicatorPlace place;
  place.group = group.name;
  for (const std::vector<unsigned> &list : group.lists)
    if (std::count(list.begin(), list.end(), transport->rank()))
      place.ranks = list;
  HOCKET_ASSIGN_OR_RETURN(place.transfers, transport->open(group.lists));
  for (uint32_t stream : group.streams) {
    place.lane = stream;
    HOCKET_ASSIGN_OR_RETURN(place.collectives, transport->open(group.lists));
    if (!place.ranks.empty())
      members[{index, stream}] = make(place);
  }
  return okStatus();
}

Status ProcessSet::openWorld(const WaitLimits &limits) {
  std::vector<unsigned> all(transport->size());
  for (unsigned rank = 0; rank < all.size(); ++rank)
    all[rank] = rank;
  HOCKET_ASSIGN_OR_RETURN(ChannelId notes, transport->open({all}));
  CommunicatorPlace place{"world", all, 0, -1, -1, 0};
  HOCKET_ASSIGN_OR_RETURN(place.transfers, transport->open({all}));
  HOCKET_ASSIGN_OR_RETURN(place.collectives, transport->open({all}));
  everyone = make(place);
  if (transport->size() > 1)
    watch = std::make_unique<ProcessWatch>(state, notes, limits);
  return okStatus();
}

Status ProcessSet::openGroups() {
  for (uint32_t group = 0; group < table.groups.size(); ++group)
    HOCKET_RETURN_IF_ERROR(openGroup(group));
  return okStatus();
}

/// Where transports stay that have failed: messages may be under way in them
/// for as long as the process lives.
static std::vector<std::unique_ptr<Transport>> &abandonedTransports() {
  static auto *kept = new std::vector<std::unique_ptr<Transport>>();
  return *kept;
}

ProcessSet::~ProcessSet() {
  watch.reset();
  if (state.failed())
    abandonedTransports().push_back(std::move(transport));
  else
    transport->close();
}

StatusOr<std::unique_ptr<CommunicatorSet>>
comm::createProcessWorld(std::unique_ptr<Transport> transport, GroupTable table,
                         WaitLimits limits, std::span<const RunFact> facts) {
  HOCKET_RETURN_IF_ERROR(checkGroupTable(table));
  if (table.ranks != transport->size())
    return invalidArgument(formatText("%u ranks are wanted, %u run",
                                      table.ranks, transport->size()));
  auto set =
      std::make_unique<ProcessSet>(std::move(transport), std::move(table));
  HOCKET_RETURN_IF_ERROR(set->openWorld(limits));
  HOCKET_RETURN_IF_ERROR(compareRanks(set->world(), facts));
  HOCKET_RETURN_IF_ERROR(set->openGroups());
  return std::unique_ptr<CommunicatorSet>(std::move(set));
}
