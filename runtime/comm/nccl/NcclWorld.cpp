//===- NcclWorld.cpp - Ranks whose GPUs talk to each other ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclWorld.h"

#include "runtime/base/Format.h"
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

  /// The communicators of a group, if the rank is in it.
  Status open(uint32_t index, const RankGroup &group);

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
  StatusOr<unsigned> beginRecording(size_t operations) override {
    HOCKET_RETURN_IF_ERROR(state->enter());
    return watch.beginRecording(operations);
  }
  void endRecording() override { watch.endRecording(); }
  void replaying(unsigned recording) override { watch.replaying(recording); }
  void useStreams(const std::vector<void *> &streams) override {
    for (void *stream : streams)
      state->streams.push_back(static_cast<CUstream>(stream));
  }

private:
  CommunicatorSet &host;
  std::unique_ptr<NcclState> state;
  NcclWatch watch;
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Communicator>>
      members;
};
} // namespace

Status NcclSet::open(uint32_t index, const RankGroup &group) {
  unsigned rank = host.world().rank();
  NcclMembers own{group.name, {}, 0};
  for (const std::vector<unsigned> &list : group.lists) {
    auto place = std::find(list.begin(), list.end(), rank);
    if (place == list.end())
      continue;
    own.ranks = list;
    own.place = unsigned(place - list.begin());
  }
  if (own.ranks.empty() || group.streams.empty())
    return okStatus();
  bool alone = own.ranks.size() == 1;
  Communicator *through = host.find(index, group.streams.front());
  if (!through)
    return internalError("group '" + group.name + "' cannot be reached");
  NcclHandles handles;
  for (uint32_t tag : group.tags)
    if (!alone) {
      HOCKET_ASSIGN_OR_RETURN(handles.byTag[tag], state->open(own, *through));
    }
  for (uint32_t stream : group.streams) {
    handles.collectives = nullptr;
    if (!alone && std::count(group.collectiveStreams.begin(),
                             group.collectiveStreams.end(), stream)) {
      HOCKET_ASSIGN_OR_RETURN(handles.collectives, state->open(own, *through));
    }
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
                          NcclState::create(**api, host, gpu));
  auto set = std::make_unique<NcclSet>(host, std::move(state));
  for (uint32_t group = 0; group < table.groups.size(); ++group)
    HOCKET_RETURN_IF_ERROR(set->open(group, table.groups[group]));
  return std::unique_ptr<CommunicatorSet>(std::move(set));
}
