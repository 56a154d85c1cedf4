//===- CommunicatorSet.cpp - The communicators of one rank ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/CommunicatorSet.h"

#include "base/Format.h"

using namespace hocket;
using namespace hocket::comm;

static Status checkGroup(const RankGroup &group, unsigned ranks) {
  std::vector<bool> seen(ranks);
  for (const std::vector<unsigned> &list : group.lists) {
    if (list.empty())
      return invalidArgument("group '" + group.name + "' has an empty list");
    for (unsigned rank : list) {
      if (rank >= ranks || seen[rank])
        return invalidArgument(
            formatText("group '%s' names rank %u %s", group.name.c_str(), rank,
                       rank >= ranks ? "of a world that has it not" : "twice"));
      seen[rank] = true;
    }
  }
  return okStatus();
}

Status comm::checkGroupTable(const GroupTable &table) {
  if (table.ranks == 0)
    return invalidArgument("a world without ranks");
  for (const RankGroup &group : table.groups)
    HOCKET_RETURN_IF_ERROR(checkGroup(group, table.ranks));
  return okStatus();
}

/// "0, 2".
static std::string listText(const std::vector<unsigned> &ranks) {
  constexpr size_t shown = 16;
  std::string text;
  for (size_t i = 0; i < ranks.size() && i < shown; ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return ranks.size() > shown ? text + formatText(", ... (%zu)", ranks.size())
                              : text;
}

std::string comm::ranksText(const std::vector<unsigned> &ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + listText(ranks);
}

std::string comm::groupText(const std::string &name,
                            const std::vector<unsigned> &ranks) {
  return "group '" + name + "' of ranks " + listText(ranks);
}
