//===- Exchange.cpp - Match sends and receives ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/Exchange.h"

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/program/DataType.h"

#include <algorithm>

using namespace hocket;

std::string EntryView::place(uint32_t rank, uint32_t step) const {
  const EntryStep &at = stepsOfRank(rank).steps[step];
  return ProgramPlace{program, int(classes.roleOfRank(rank)), int(at.sequence),
                      int(at.instruction), int(rank)}
      .text();
}

std::string EntryView::when(uint32_t rank, uint32_t step) const {
  return formatText("entry '%s', microbatch %u", entry.name.c_str(),
                    stepsOfRank(rank).steps[step].microbatch);
}

namespace {

class Matcher {
public:
  Matcher(const EntryView &view, FaultList &faults)
      : view(view), classes(view.classes), faults(faults) {}

  Partners run() {
    for (uint32_t c = 0; c < classes.count(); ++c) {
      partners.emplace_back(view.stepsOfClass(c).parts);
      for (const auto &[end, uses] : view.stepsOfClass(c).channels)
        match(c, end, uses);
    }
    return std::move(partners);
  }

private:
  /// What the peer calls the other end of `end`; null if it has none.
  const std::vector<ChannelUse> *otherEnd(uint32_t rank, uint32_t peer,
                                          const ChannelEnd &end) const {
    uint32_t size = classes.groupSize(end.group);
    uint32_t place = classes.placeOf(end.group, rank);
    uint32_t from = classes.placeOf(end.group, peer);
    const auto &channels = view.stepsOfRank(peer).channels;
    for (bool relative : {false, true}) {
      uint32_t name = relative ? (place + size - from) % size : place;
      auto found =
          channels.find({end.group, !end.send, relative, name, end.tag});
      if (found != channels.end())
        return &found->second;
    }
    return nullptr;
  }

  void match(uint32_t c, const ChannelEnd &end,
             const std::vector<ChannelUse> &uses) {
    uint32_t rank = classes.rankOf(c);
    uint32_t peer = classes.peerOf(end.group, rank, end.relative, end.peer);
    const std::vector<ChannelUse> *others = otherEnd(rank, peer, end);
    size_t count = std::min(uses.size(), others ? others->size() : 0);
    const RoleSteps &own = view.stepsOfClass(c);
    for (size_t i = 0; i < count; ++i) {
      ChannelUse use = uses[i], other = (*others)[i];
      partners[c][own.steps[use.step].link + use.part] = {classes.classOf(peer),
                                                          other.step};
      if (end.send && !sameSize(rank, use, peer, other))
        return addSizes(rank, use, peer, other);
      // With a half missing, those behind it do not say where.
      if (end.send && uses.size() == others->size() &&
          microbatchOf(rank, use) != microbatchOf(peer, other))
        return addMicrobatches(rank, use, peer, other);
    }
    if (uses.size() > count)
      addUnmatched(rank, end, uses[count], peer, count);
  }

  const program::Buffer &bufferOf(uint32_t rank, ChannelUse use) const {
    const program::Role &role = view.role(classes.roleOfRank(rank));
    const EntryStep &step = view.stepsOfRank(rank).steps[use.step];
    const auto &part =
        instructionOf(role, step).transfer().parts(int(use.part));
    return role.buffers(int(part.buffer()));
  }

  bool sameSize(uint32_t rank, ChannelUse use, uint32_t peer,
                ChannelUse other) const {
    const program::Buffer &a = bufferOf(rank, use), &b = bufferOf(peer, other);
    return a.dtype() == b.dtype() &&
           checkedProduct(a.shape()) == checkedProduct(b.shape());
  }

  std::string sizeText(uint32_t rank, ChannelUse use) const {
    const program::Buffer &buffer = bufferOf(rank, use);
    return formatText(
        "%llu %s of buffer '%s'",
        (unsigned long long)checkedProduct(buffer.shape()).value_or(0),
        dataTypeName(buffer.dtype()), buffer.name().c_str());
  }

  void addSizes(uint32_t rank, ChannelUse use, uint32_t peer,
                ChannelUse other) {
    faults.add(ProgramRule::MatchedSize, view.place(rank, use.step),
               "sends " + sizeText(rank, use) +
                   formatText(" to rank %u, which receives ", peer) +
                   sizeText(peer, other) + " in " +
                   view.place(peer, other.step) + ", in " +
                   view.when(rank, use.step));
  }

  uint32_t microbatchOf(uint32_t rank, ChannelUse use) const {
    return view.stepsOfRank(rank).steps[use.step].microbatch;
  }

  void addMicrobatches(uint32_t rank, ChannelUse use, uint32_t peer,
                       ChannelUse other) {
    faults.add(ProgramRule::MatchedMicrobatch, view.place(rank, use.step),
               formatText("sends what is of microbatch %u to rank %u, which "
                          "takes it for microbatch %u in %s, in entry '%s'",
                          microbatchOf(rank, use), peer,
                          microbatchOf(peer, other),
                          view.place(peer, other.step).c_str(),
                          view.entry.name.c_str()));
  }

  void addUnmatched(uint32_t rank, const ChannelEnd &end, ChannelUse use,
                    uint32_t peer, size_t count) {
    const program::Group &group = view.program.groups(int(end.group));
    faults.add(ProgramRule::Matched, view.place(rank, use.step),
               formatText("%s rank %u tag %u in group '%s', which has no %s "
                          "for it (but for %zu before) in %s",
                          end.send ? "sends to" : "receives from", peer,
                          end.tag, group.name().c_str(),
                          end.send ? "receive" : "send", count,
                          view.when(rank, use.step).c_str()));
  }

  const EntryView &view;
  const RankClasses &classes;
  FaultList &faults;
  Partners partners;
};

} // namespace

Partners hocket::matchTransfers(const EntryView &view, FaultList &faults) {
  return Matcher(view, faults).run();
}
