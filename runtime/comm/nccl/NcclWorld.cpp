//===- NcclWorld.cpp - Ranks whose GPUs talk to each other ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclWorld.h"

#include "base/Format.h"
#include "runtime/comm/nccl/NcclCommunicator.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::comm;
using namespace hocket::comm::nccl;

namespace {
class NcclSet : public CommunicatorSet {
public:
  NcclSet(CommunicatorSet &host, std::unique_ptr<NcclState> source)
      : host(host), state(std::move(source)), watch(*state) {}

  /// All communicators of the table, in one order on all ranks.
  Status openAll(const GroupTable &table);

  Communicator &world() override { return host.world(); }
  Communicator *find(uint32_t group, uint32_t stream) override {
    auto found = members.find({group, stream});
    return found == members.end() ? nullptr : found->second.get();
  }
  RankActivity &activity() override { return host.activity(); }
  void fail(const Status &error) override {
    host.fail(error);
    state->fail(error);
  }
  Status check() override {
    return state->failed() ? state->failure() : host.check();
  }
  bool isOnDevice() const override { return true; }
  StatusOr<unsigned> beginCapture(size_t operations) override {
    HOCKET_RETURN_IF_ERROR(state->enter());
    return watch.beginCapture(operations);
  }
  void endCapture() override { watch.endCapture(); }
  void replaying(unsigned capture) override { watch.replaying(capture); }
  void useStreams(const std::vector<void *> &streams) override {
    for (void *stream : streams)
      state->streams.push_back(static_cast<CUstream>(stream));
  }

private:
  Status openStream(uint32_t stream, const GroupTable &table);
  StatusOr<ncclComm_t> openGroup(uint32_t index, const RankGroup &group,
                                 const NcclMembers &own, ncclComm_t whole,
                                 const NcclMembers &everybody);
  static NcclState::Links linksOf(const NcclMembers &own, bool allToAll);
  Status openMembers(uint32_t index, const RankGroup &group);
  StatusOr<NcclHandles::Messages> openTag(const RankGroup &group, uint32_t tag,
                                          const NcclMembers &members,
                                          Communicator &through);

  CommunicatorSet &host;
  std::unique_ptr<NcclState> state;
  NcclWatch watch;
  /// Of collectives, by group and stream.
  std::map<std::pair<uint32_t, uint32_t>, ncclComm_t> collectives;
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Communicator>>
      members;
};
} // namespace

/// The rank's list of the group, if it is in one.
static NcclMembers membersOf(const RankGroup &group, unsigned rank) {
  NcclMembers own{group.name, {}, 0};
  for (const std::vector<unsigned> &list : group.lists) {
    auto place = std::ranges::find(list, rank);
    if (place == list.end())
      continue;
    own.ranks = list;
    own.place = unsigned(place - list.begin());
  }
  return own;
}

static bool contains(const std::vector<uint32_t> &list, uint32_t value) {
  return std::ranges::find(list, value) != list.end();
}

/// Whether a list of the group is more than one rank.
static bool hasPeers(const RankGroup &group) {
  return std::ranges::any_of(group.lists,
                             [](auto &list) { return list.size() > 1; });
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Of those of the list who have something for each other by the tag: others
/// would have buffers that nobody uses.
StatusOr<NcclHandles::Messages> NcclSet::openTag(const RankGroup &group,
                                                 uint32_t tag,
                                                 const NcclMembers &members,
                                                 Communicator &through) {
  auto found = group.links.find(tag);
  auto sends = [&](unsigned from, unsigned to) {
    return found == group.links.end() || found->second.count({from, to}) > 0;
  };
  NcclMembers users{members.group, {}, 0};
  NcclHandles::Messages messages;
  bool takesPart = false;
  for (unsigned place = 0; place < members.ranks.size(); ++place) {
    unsigned rank = members.ranks[place];
    if (std::ranges::none_of(members.ranks, [&](unsigned other) {
          return sends(rank, other) || sends(other, rank);
        }))
      continue;
    if (place == members.place) {
      takesPart = true;
      users.place = unsigned(users.ranks.size());
    }
    messages.ranks[place] = int(users.ranks.size());
    users.ranks.push_back(rank);
  }
  // What a rank sends itself is copied.
  if (users.ranks.size() < 2)
    return messages;
  // All of the list learn the name, whoever it is for.
  HOCKET_ASSIGN_OR_RETURN(
      ncclUniqueId id, state->nameOf(through, messages.ranks.begin()->first));
  if (!takesPart)
    return NcclHandles::Messages();
  HOCKET_ASSIGN_OR_RETURN(messages.comm, state->open(users, id));
  NcclState::Links links;
  for (unsigned i = 0; i < users.ranks.size(); ++i) {
    if (sends(users.ranks[users.place], users.ranks[i]))
      links.to.push_back(int(i));
    if (sends(users.ranks[i], users.ranks[users.place]))
      links.from.push_back(int(i));
  }
  HOCKET_RETURN_IF_ERROR(state->connect(messages.comm, users, links));
  return messages;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// A stream does one thing after the other, so that communicators of which all
/// is issued to one stream lose nothing by NCCL's doing so, too: they share.
Status NcclSet::openStream(uint32_t stream, const GroupTable &table) {
  std::vector<uint32_t> groups;
  for (uint32_t g = 0; g < table.groups.size(); ++g)
    if (contains(table.groups[g].collectiveStreams, stream) &&
        hasPeers(table.groups[g]))
      groups.push_back(g);
  ncclComm_t whole = nullptr;
  NcclMembers everybody{"of all", {}, host.world().rank()};
  for (unsigned rank = 0; rank < table.ranks; ++rank)
    everybody.ranks.push_back(rank);
  if (groups.size() > 1 && state->api.canShare()) {
    HOCKET_ASSIGN_OR_RETURN(ncclUniqueId id, state->nameOf(host.world(), 0));
    HOCKET_ASSIGN_OR_RETURN(whole, state->open(everybody, id, true));
  }
  for (uint32_t g : groups) {
    const RankGroup &group = table.groups[g];
    NcclMembers own = membersOf(group, everybody.place);
    HOCKET_ASSIGN_OR_RETURN(ncclComm_t comm,
                            openGroup(g, group, own, whole, everybody));
    if (comm)
      HOCKET_RETURN_IF_ERROR(state->connect(
          comm, own, linksOf(own, contains(group.allToAllStreams, stream))));
    collectives[{g, stream}] = comm;
  }
  return okStatus();
}

StatusOr<ncclComm_t> NcclSet::openGroup(uint32_t index, const RankGroup &group,
                                        const NcclMembers &own,
                                        ncclComm_t whole,
                                        const NcclMembers &everybody) {
  bool alone = own.ranks.size() < 2;
  if (whole && group.lists.size() == 1 &&
      group.lists.front() == everybody.ranks)
    return whole;
  if (whole) {
    auto list = std::ranges::find(group.lists, own.ranks);
    return state->split(whole, unsigned(list - group.lists.begin()),
                        alone ? NcclMembers{group.name, {}, 0} : own);
  }
  if (alone)
    return nullptr;
  Communicator *through = host.find(index, group.streams.front());
  if (!through)
    return internalError("group '" + group.name + "' cannot be reached");
  HOCKET_ASSIGN_OR_RETURN(ncclUniqueId id, state->nameOf(*through, 0));
  return state->open(own, id);
}

NcclState::Links NcclSet::linksOf(const NcclMembers &own, bool allToAll) {
  NcclState::Links links;
  links.collectives = true;
  for (size_t i = 0; allToAll && i < own.ranks.size(); ++i)
    links.to.push_back(int(i));
  links.from = links.to;
  return links;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

Status NcclSet::openAll(const GroupTable &table) {
  std::set<uint32_t> streams;
  for (const RankGroup &group : table.groups)
    streams.insert(group.collectiveStreams.begin(),
                   group.collectiveStreams.end());
  for (uint32_t stream : streams)
    HOCKET_RETURN_IF_ERROR(openStream(stream, table));
  for (uint32_t g = 0; g < table.groups.size(); ++g)
    HOCKET_RETURN_IF_ERROR(openMembers(g, table.groups[g]));
  return okStatus();
}

Status NcclSet::openMembers(uint32_t index, const RankGroup &group) {
  NcclMembers own = membersOf(group, host.world().rank());
  if (own.ranks.empty() || group.streams.empty())
    return okStatus();
  Communicator *through = host.find(index, group.streams.front());
  if (!through)
    return internalError("group '" + group.name + "' cannot be reached");
  NcclHandles handles;
  for (uint32_t tag : group.tags)
    if (own.ranks.size() > 1) {
      auto first = group.sharedTags.find(tag);
      if (first != group.sharedTags.end() && first->second != tag) {
        handles.byTag[tag] = handles.byTag[first->second]; // Smaller: is there.
        continue;
      }
      HOCKET_ASSIGN_OR_RETURN(handles.byTag[tag],
                              openTag(group, tag, own, *through));
    }
  for (uint32_t stream : group.streams) {
    auto found = collectives.find({index, stream});
    handles.collectives = found == collectives.end() ? nullptr : found->second;
    members[{index, stream}] = std::make_unique<NcclCommunicator>(
        *state, watch, own, handles, *host.find(index, stream), stream);
  }
  return okStatus();
}

StatusOr<std::unique_ptr<CommunicatorSet>>
comm::createNcclWorld(CommunicatorSet &host, const GroupTable &table,
                      unsigned gpu) {
  auto api = ncclApi();
  int32_t lacks = !api.ok(), anyLacks = lacks;
  HOCKET_RETURN_IF_ERROR(
      host.world().allReduce(&lacks, &anyLacks, 1, DType::I32, Reduction::Max));
  if (!api.ok())
    return api.status();
  if (anyLacks != 0)
    return failedPrecondition("another rank has no NCCL");
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<NcclState> state,
                          NcclState::create(**api, host, gpu, table.atOnce));
  auto set = std::make_unique<NcclSet>(host, std::move(state));
  HOCKET_RETURN_IF_ERROR(set->openAll(table));
  return std::unique_ptr<CommunicatorSet>(std::move(set));
}
