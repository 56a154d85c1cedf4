//===- BytePairSearch.cpp - What merges come to, found from left ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/BytePairSearch.h"

using namespace hocket::tokenizer;

bool BytePairSearch::build(const BytePairMerges &given,
                           const Vocabulary &vocabulary,
                           std::vector<Derivation> made) {
  merges = &given;
  derivations = std::move(made);
  ready = false;
  if (!merges->isInOrder(derivations.size()))
    return false;
  std::vector<std::pair<std::string_view, int32_t>> strings;
  sizes.assign(derivations.size(), 0);
  for (int32_t id = 0; size_t(id) < derivations.size(); ++id) {
    if (derivations[size_t(id)].rank == Derivation::none)
      continue;
    strings.emplace_back(vocabulary.text(id), id);
    sizes[size_t(id)] = uint32_t(vocabulary.text(id).size());
  }
  if (!trie.build(strings))
    return false;
  shorter.assign(derivations.size(), noToken);
  for (auto [text, id] : strings)
    shorter[size_t(id)] = trie.longest(text.substr(0, text.size() - 1)).value;
  ready = true;
  return true;
}

bool BytePairSearch::staysApart(int32_t left, int32_t right) const {
  // Which merge takes the sides away, next in time.
  int32_t leftGoes = INT32_MAX, rightGoes = INT32_MAX;
  while (true) {
    // Of equal ranks, the merge further left comes first.
    int32_t rank = merges->rankOf(left, right);
    if (rank < leftGoes && rank <= rightGoes && rank != INT32_MAX)
      return false;
    const Derivation &a = derivations[size_t(left)];
    const Derivation &b = derivations[size_t(right)];
    if (a.rank < 0 && b.rank < 0)
      return true;
    if (a.rank > b.rank) {
      leftGoes = a.rank;
      left = a.right;
    } else {
      rightGoes = b.rank;
      right = b.left;
    }
  }
}

/// The same, remembered.
bool BytePairSearch::staysApart(int32_t left, int32_t right,
                                Scratch &scratch) const {
  uint64_t pair = uint64_t(uint32_t(left)) << 32 | uint64_t(right) << 1;
  uint64_t hash = pair * 0x9e3779b97f4a7c15;
  uint64_t &known = scratch.pairs[hash >> 32 & (pairSlots - 1)];
  if ((known & ~uint64_t(1)) != pair)
    known = pair | uint64_t(staysApart(left, right));
  return known & 1;
}

bool BytePairSearch::encode(std::string_view word, std::vector<int32_t> &tokens,
                            Scratch &scratch) const {
  std::vector<bool> &dead = scratch.dead;
  dead.assign(word.size() + 1, false);
  size_t first = tokens.size(), at = 0;
  int32_t next = trie.longest(word).value;
  while (at < word.size()) {
    size_t end = at + sizes[size_t(next)];
    if (!dead[end] &&
        (tokens.size() == first || staysApart(tokens.back(), next, scratch))) {
      tokens.push_back(next);
      at = end;
      if (at < word.size())
        next = trie.longest(word.substr(at)).value;
      continue;
    }
    next = shorter[size_t(next)];
    if (next != noToken)
      continue;
    if (tokens.size() == first)
      return false;
    dead[at] = true;
    next = tokens.back();
    tokens.pop_back();
    at -= sizes[size_t(next)];
  }
  return true;
}
