//===- MessageTags.cpp - Tags that one communicator serves ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/MessageTags.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

using namespace hocket;

namespace {
struct TagUse {
  /// Role, peer, whether it is relative, whether it sends.
  std::set<std::array<uint32_t, 4>> ends;
  std::set<std::string> entries;

  bool mayJoin(const TagUse &other) const {
    return ends == other.ends &&
           std::ranges::none_of(entries, [&](const std::string &entry) {
             return other.entries.count(entry) > 0;
           });
  }
};
using GroupTags = std::map<uint32_t, std::map<uint32_t, TagUse>>;
} // namespace

static void addSequence(const program::Sequence &sequence, uint32_t role,
                        const std::string &entry, GroupTags &tags) {
  for (const program::Instruction &instruction : sequence.instructions())
    for (const auto &part : instruction.transfer().parts()) {
      TagUse &use = tags[instruction.transfer().group()][part.tag()];
      use.ends.insert({role, part.peer(), part.relative(), part.send()});
      use.entries.insert(entry);
    }
}

std::map<uint32_t, std::map<uint32_t, uint32_t>>
hocket::sharedTags(const program::Program &program) {
  GroupTags tags;
  for (int role = 0; role < program.roles_size(); ++role)
    for (const program::Entry &entry : program.roles(role).entries()) {
      std::set<uint32_t> run;
      for (const auto &one : entry.runs())
        if (run.insert(one.sequence()).second)
          addSequence(program.roles(role).sequences(int(one.sequence())),
                      uint32_t(role), entry.name(), tags);
    }
  std::map<uint32_t, std::map<uint32_t, uint32_t>> result;
  for (auto &[group, uses] : tags) {
    std::map<uint32_t, TagUse> firsts; // With the entries of all that join.
    for (auto &[tag, use] : uses) {
      auto first = std::ranges::find_if(
          firsts, [&](const auto &one) { return use.mayJoin(one.second); });
      if (first == firsts.end())
        first = firsts.emplace(tag, TagUse{use.ends, {}}).first;
      first->second.entries.insert(use.entries.begin(), use.entries.end());
      result[group][tag] = first->first;
    }
  }
  return result;
}
