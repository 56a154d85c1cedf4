//===- CheckCollectiveOrder.cpp - Do members call the same? ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A list of ranks and a stream are one communicator. What its members call is
/// compared role by role: ranks of one role call the same.
///
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/certificate/Exchange.h"

#include <algorithm>
#include <set>

using namespace hocket;
using program::Collective;

namespace {

class OrderChecker {
public:
  OrderChecker(const EntryView &view, FaultList &faults)
      : view(view), classes(view.classes), faults(faults) {}

  void run() {
    std::set<GroupStream> used;
    for (const RoleSteps &steps : view.entry.roles)
      for (const auto &[communicator, list] : steps.collectives)
        used.insert(communicator);
    for (const GroupStream &communicator : used)
      for (const auto &members :
           view.program.groups(int(communicator.group)).members())
        checkList(communicator, members);
  }

private:
  /// A rank of each role against the first; each pair of roles once.
  void checkList(GroupStream communicator,
                 const program::Group::Members &members) {
    std::set<uint32_t> seen;
    uint32_t first = members.ranks(0);
    for (uint32_t rank : members.ranks()) {
      uint32_t role = classes.roleOfRank(rank);
      if (!seen.insert(role).second || role == classes.roleOfRank(first) ||
          !compared.insert({communicator, {classes.roleOfRank(first), role}})
               .second)
        continue;
      compare(communicator, first, rank);
    }
  }

  const std::vector<uint32_t> &callsOf(uint32_t rank,
                                       GroupStream communicator) const {
    static const std::vector<uint32_t> none;
    const auto &calls = view.stepsOfRank(rank).collectives;
    auto found = calls.find(communicator);
    return found == calls.end() ? none : found->second;
  }

  const Collective &collectiveOf(uint32_t rank, uint32_t step) const {
    return instructionOf(view.role(classes.roleOfRank(rank)),
                         view.stepsOfRank(rank).steps[step])
        .collective();
  }
  /// What a member gives, by part.
  std::vector<const program::Buffer *> givenBy(uint32_t rank,
                                               uint32_t step) const {
    const program::Role &role = view.role(classes.roleOfRank(rank));
    const Collective &call = collectiveOf(rank, step);
    std::vector<const program::Buffer *> parts = {
        &role.buffers(int(call.from()))};
    for (const auto &part : call.others())
      parts.push_back(&role.buffers(int(part.from())));
    return parts;
  }

  static bool reduces(const Collective &call) {
    return call.op() == "all_reduce" || call.op() == "reduce_scatter";
  }

  /// "all_reduce sum of 64 f32, 8 f32": all that members must agree on.
  std::string callText(uint32_t rank, uint32_t step) const {
    const Collective &call = collectiveOf(rank, step);
    std::string text = call.op();
    if (reduces(call))
      text += " " + call.reduction();
    const char *before = " of ";
    for (const program::Buffer *buffer : givenBy(rank, step)) {
      text += formatText(
          "%s%llu %s", before,
          (unsigned long long)checkedProduct(buffer->shape()).value_or(0),
          dataTypeName(buffer->dtype()));
      before = ", ";
    }
    if (call.has_rows())
      text += formatText(" in rows of %llu",
                         (unsigned long long)call.rows().width());
    if (call.op() == "broadcast")
      text += formatText(" from place %u", call.root());
    return text;
  }

  bool agree(uint32_t rank, uint32_t step, uint32_t other,
             uint32_t otherStep) const {
    const Collective &a = collectiveOf(rank, step);
    const Collective &b = collectiveOf(other, otherStep);
    auto from = givenBy(rank, step), otherFrom = givenBy(other, otherStep);
    bool sizes = std::equal(
        from.begin(), from.end(), otherFrom.begin(), otherFrom.end(),
        [](const program::Buffer *x, const program::Buffer *y) {
          return x->dtype() == y->dtype() &&
                 checkedProduct(x->shape()) == checkedProduct(y->shape());
        });
    return sizes && a.op() == b.op() && agreeOnRows(rank, a, other, b) &&
           (!reduces(a) || a.reduction() == b.reduction()) &&
           (a.op() != "broadcast" || a.root() == b.root());
  }

  /// Rows of one width, with room for as many, for as many experts each.
  bool agreeOnRows(uint32_t rank, const Collective &a, uint32_t other,
                   const Collective &b) const {
    if (!a.has_rows() && !b.has_rows())
      return true;
    auto elements = [&](uint32_t of, uint32_t buffer) {
      const program::Role &role = view.role(classes.roleOfRank(of));
      return checkedProduct(role.buffers(int(buffer)).shape());
    };
    return a.rows().width() == b.rows().width() &&
           elements(rank, a.to()) == elements(other, b.to()) &&
           elements(rank, a.rows().ranges()) ==
               elements(other, b.rows().ranges());
  }

  void compare(GroupStream communicator, uint32_t rank, uint32_t other) {
    const auto &mine = callsOf(rank, communicator);
    const auto &theirs = callsOf(other, communicator);
    size_t both = std::min(mine.size(), theirs.size());
    for (size_t i = 0; i < both; ++i)
      if (!agree(rank, mine[i], other, theirs[i]))
        return add(communicator, i, rank, mine[i],
                   formatText("rank %u calls ", other) +
                       callText(other, theirs[i]) + " in " +
                       view.place(other, theirs[i]));
    if (mine.size() == theirs.size())
      return;
    bool more = mine.size() > theirs.size();
    add(communicator, both, more ? rank : other,
        more ? mine[both] : theirs[both],
        formatText("rank %u calls no other in %s", more ? other : rank,
                   view.entry.name.c_str()));
  }

  void add(GroupStream communicator, size_t index, uint32_t rank, uint32_t step,
           const std::string &against) {
    const program::Group &group = view.program.groups(int(communicator.group));
    faults.add(ProgramRule::CollectiveOrder, view.place(rank, step),
               "calls " + callText(rank, step) +
                   formatText(" as collective %zu of group '%s' on stream %u "
                              "in %s, where ",
                              index, group.name().c_str(), communicator.stream,
                              view.when(rank, step).c_str()) +
                   against);
  }

  const EntryView &view;
  const RankClasses &classes;
  FaultList &faults;
  std::set<std::pair<GroupStream, std::pair<uint32_t, uint32_t>>> compared;
};

} // namespace

void hocket::checkCollectiveOrder(const EntryView &view, FaultList &faults) {
  OrderChecker(view, faults).run();
}
