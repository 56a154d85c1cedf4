//===- RankComparison.cpp - Do ranks run the same? ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/RankComparison.h"

#include "base/Format.h"
#include "base/Sha256.h"

#include <map>
#include <vector>

using namespace hocket;
using namespace hocket::comm;

namespace {
/// What a rank tells of one fact: the digest decides, the text is for people.
struct Told {
  Sha256::Digest digest = {};
  char text[160] = {};
};
} // namespace

static Told tell(const RunFact &fact) {
  Told told;
  told.digest = Sha256::of(fact.value);
  std::string text = fact.value;
  if (!fact.note.empty())
    text += " (" + fact.note + ")";
  text.copy(told.text, sizeof(told.text) - 1);
  return told;
}

/// The value of most ranks; of as many, that of the lowest rank. `told` has one
/// for each rank.
static unsigned usualRank(const std::vector<Told> &told) {
  std::map<Sha256::Digest, unsigned> counts;
  for (const Told &each : told)
    ++counts[each.digest];
  unsigned usual = 0;
  for (unsigned rank = 1; rank < told.size(); ++rank)
    if (counts[told[rank].digest] > counts[told[usual].digest])
      usual = rank;
  return usual;
}

/// "rank 2 runs another executable: 5e1c, rank 0 has 77ab", a sentence for
/// each rank, up to some.
static std::string describe(const RunFact &fact,
                            const std::vector<Told> &told) {
  constexpr unsigned shown = 4;
  unsigned usual = usualRank(told), found = 0;
  std::string text;
  for (unsigned rank = 0; rank < told.size(); ++rank) {
    if (told[rank].digest == told[usual].digest || found++ >= shown)
      continue;
    text += formatText("%srank %u %s: %s, rank %u has %s",
                       text.empty() ? "" : "; ", rank, fact.differs.c_str(),
                       told[rank].text, usual, told[usual].text);
  }
  return found > shown ? text + formatText("; and so %u more", found - shown)
                       : text;
}

template <typename T>
static StatusOr<std::vector<T>> gather(Communicator &world,
                                       const std::vector<T> &own) {
  static_assert(sizeof(T) % 4 == 0);
  std::vector<T> all(own.size() * world.size());
  HOCKET_RETURN_IF_ERROR(world.allGather(
      own.data(), all.data(), own.size() * sizeof(T) / 4, DType::I32));
  return all;
}

Status comm::compareRanks(Communicator &world, std::span<const RunFact> facts) {
  if (world.size() == 1 || facts.empty())
    return okStatus();
  std::vector<Told> own;
  for (const RunFact &fact : facts)
    own.push_back(tell(fact));
  HOCKET_ASSIGN_OR_RETURN(std::vector<Told> all, gather(world, own));
  std::string text;
  for (size_t i = 0; i < facts.size(); ++i) {
    std::vector<Told> told;
    for (unsigned rank = 0; rank < world.size(); ++rank) {
      told.push_back(all[rank * facts.size() + i]);
      told.back().text[sizeof(Told::text) - 1] = '\0';
    }
    std::string found = describe(facts[i], told);
    if (!found.empty())
      text += (text.empty() ? "" : "; ") + found;
  }
  if (text.empty())
    return okStatus();
  // Until all have heard: who ends tells the others, which must not keep them
  // from saying what differs.
  (void)world.barrier();
  return invalidArgument(text);
}
