//===- BytePairMerges.cpp - Merging the pairs of a word -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/BytePairMerges.h"

#include <algorithm>
#include <array>
#include <optional>

using namespace hocket::tokenizer;

/// Symbols of a window of a longer word, and how many of them the next one
/// begins before its end.
static constexpr size_t windowSize = 112;
static constexpr size_t windowOverlap = 24;
/// A window that has grown beyond this gives way to the whole word.
static constexpr size_t widestWindow = 4096;

static constexpr uint32_t nowhere = UINT32_MAX;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void BytePairMerges::grow(size_t slots) {
  std::vector<Merge> old(slots);
  old.swap(table);
  mask = slots - 1;
  for (const Merge &merge : old) {
    if (merge.left < 0)
      continue;
    size_t at = hashOf(merge.left, merge.right) & mask;
    while (table[at].left >= 0)
      at = (at + 1) & mask;
    table[at] = merge;
  }
}

void BytePairMerges::reserve(size_t merges) {
  size_t slots = 64;
  while (slots < 2 * merges)
    slots *= 2;
  if (slots > table.size())
    grow(slots);
}

bool BytePairMerges::insert(int32_t left, int32_t right, int32_t merged) {
  if (find(left, right))
    return false;
  reserve(count + 1);
  size_t at = hashOf(left, right) & mask;
  while (table[at].left >= 0)
    at = (at + 1) & mask;
  table[at] = {left, right, int32_t(count++), merged};
  return true;
}

bool BytePairMerges::isInOrder(size_t tokens) const {
  std::vector<int32_t> madeLast(tokens, -1);
  for (const Merge &merge : table)
    if (merge.left >= 0)
      madeLast[size_t(merge.merged)] =
          std::max(madeLast[size_t(merge.merged)], merge.rank);
  return std::all_of(table.begin(), table.end(), [&](const Merge &merge) {
    return merge.left < 0 || (madeLast[size_t(merge.left)] < merge.rank &&
                              madeLast[size_t(merge.right)] < merge.rank);
  });
}

//===----------------------------------------------------------------------===//
// A short word: arrays without gaps
//===----------------------------------------------------------------------===//

namespace {
/// Symbols, the rank of each with its right neighbour, and where each ends.
struct ShortWord {
  std::array<int32_t, BytePairMerges::shortWord> token, rank;
  std::array<uint32_t, BytePairMerges::shortWord> end;
  size_t size = 0;

  /// The leftmost of the least ranks.
  size_t best() const {
    int32_t least = rank[0];
    for (size_t i = 1; i < size; ++i)
      least = std::min(least, rank[i]);
    size_t at = 0;
    while (rank[at] != least)
      ++at;
    return at;
  }

  /// Makes one of the symbols at `at` and behind it.
  void join(size_t at, int32_t merged) {
    token[at] = merged;
    std::copy(token.begin() + at + 2, token.begin() + size,
              token.begin() + at + 1);
    std::copy(end.begin() + at + 1, end.begin() + size, end.begin() + at);
    std::copy(rank.begin() + at + 1, rank.begin() + size, rank.begin() + at);
    --size;
  }
};
} // namespace

void BytePairMerges::encodeWindow(std::span<const int32_t> symbols,
                                  std::vector<int32_t> &tokens,
                                  std::vector<uint32_t> &ends,
                                  Scratch &scratch) const {
  tokens.clear();
  ends.clear();
  if (symbols.size() > shortWord) {
    scratch.nodes.clear();
    for (size_t i = 0; i < symbols.size(); ++i)
      scratch.nodes.push_back({symbols[i], uint32_t(i) - 1, uint32_t(i) + 1});
    scratch.nodes.back().next = nowhere;
    scratch.heap.clear();
    for (uint32_t i = 0; i + 1 < symbols.size(); ++i)
      offer(scratch, i);
    while (!scratch.heap.empty())
      mergeNext(scratch);
    for (uint32_t at = 0; at != nowhere; at = scratch.nodes[at].next) {
      tokens.push_back(scratch.nodes[at].token);
      uint32_t next = scratch.nodes[at].next;
      ends.push_back(next == nowhere ? uint32_t(symbols.size()) : next);
    }
    return;
  }
  ShortWord word;
  word.size = symbols.size();
  for (size_t i = 0; i < word.size; ++i) {
    word.token[i] = symbols[i];
    word.end[i] = uint32_t(i) + 1;
    word.rank[i] =
        i + 1 < word.size ? rankOf(symbols[i], symbols[i + 1]) : noMerge;
  }
  while (word.size > 1) {
    size_t at = word.best();
    if (word.rank[at] == noMerge)
      break;
    scratch.lastLeft = word.token[at];
    scratch.lastRight = word.token[at + 1];
    word.join(at, find(word.token[at], word.token[at + 1])->merged);
    word.rank[at] = at + 1 < word.size
                        ? rankOf(word.token[at], word.token[at + 1])
                        : noMerge;
    if (at > 0)
      word.rank[at - 1] = rankOf(word.token[at - 1], word.token[at]);
  }
  tokens.assign(word.token.begin(), word.token.begin() + word.size);
  ends.assign(word.end.begin(), word.end.begin() + word.size);
}

//===----------------------------------------------------------------------===//
// A long word: a list and a heap
//===----------------------------------------------------------------------===//

static bool isWorse(const BytePairMerges::Scratch::Candidate &a,
                    const BytePairMerges::Scratch::Candidate &b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

/// Adds the pair of the symbol at `position` and its right neighbour.
void BytePairMerges::offer(Scratch &scratch, uint32_t position) const {
  const Scratch::Node &node = scratch.nodes[position];
  if (node.next == nowhere)
    return;
  int32_t rank = rankOf(node.token, scratch.nodes[node.next].token);
  if (rank == noMerge)
    return;
  scratch.heap.push_back({rank, position});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), isWorse);
}

/// Merges the best pair, unless what it was made of is no longer there.
void BytePairMerges::mergeNext(Scratch &scratch) const {
  std::pop_heap(scratch.heap.begin(), scratch.heap.end(), isWorse);
  Scratch::Candidate best = scratch.heap.back();
  scratch.heap.pop_back();
  Scratch::Node &left = scratch.nodes[best.position];
  if (left.token < 0 || left.next == nowhere)
    return;
  Scratch::Node &right = scratch.nodes[left.next];
  const Merge *merge = find(left.token, right.token);
  if (!merge || merge->rank != best.rank)
    return;
  left.token = merge->merged;
  right.token = -1;
  left.next = right.next;
  if (left.next != nowhere)
    scratch.nodes[left.next].previous = best.position;
  offer(scratch, best.position);
  if (left.previous != nowhere)
    offer(scratch, left.previous);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// A token that two windows share.
struct SharedToken {
  size_t inFirst, inSecond;
};
} // namespace

/// The first token of the second window, which begins where the token `from` of
/// the first one does, that the first has at the same place.
static std::optional<SharedToken>
findShared(const BytePairMerges::Scratch &windows, size_t from) {
  uint32_t base = windows.firstEnds[from - 1];
  size_t i = from, j = 0;
  uint32_t begin = base, otherBegin = base;
  while (i < windows.first.size() && j < windows.second.size()) {
    uint32_t end = windows.firstEnds[i],
             otherEnd = base + windows.secondEnds[j];
    if (begin == otherBegin && end == otherEnd &&
        windows.first[i] == windows.second[j])
      return SharedToken{i, j};
    if (end <= otherEnd) {
      begin = end;
      ++i;
    }
    if (otherEnd <= end) {
      otherBegin = otherEnd;
      ++j;
    }
  }
  return std::nullopt;
}

bool BytePairMerges::encodeInWindows(std::span<const int32_t> symbols,
                                     std::vector<int32_t> &tokens,
                                     Scratch &windows) const {
  size_t begin = 0, covered = windowSize;
  encodeWindow(symbols.first(covered), windows.first, windows.firstEnds,
               windows);
  while (begin + covered < symbols.size()) {
    // The next window begins with a token that ends before the overlap, or, to
    // find one that both have, ever earlier and wider.
    std::optional<SharedToken> shared;
    size_t from = 0, start = 0, size = windowSize;
    for (; !shared && size <= widestWindow; size *= 2) {
      auto at =
          std::upper_bound(windows.firstEnds.begin(), windows.firstEnds.end(),
                           covered - std::min(covered, windowOverlap));
      from = size == windowSize ? size_t(at - windows.firstEnds.begin()) : 1;
      from = std::max<size_t>(from, 1);
      if (from >= windows.first.size())
        return false;
      start = begin + windows.firstEnds[from - 1];
      auto window =
          symbols.subspan(start, std::min(size, symbols.size() - start));
      encodeWindow(window, windows.second, windows.secondEnds, windows);
      shared = findShared(windows, from);
    }
    if (!shared)
      return false;
    tokens.insert(tokens.end(), windows.first.begin(),
                  windows.first.begin() + shared->inFirst + 1);
    size_t secondSize = windows.secondEnds.back();
    uint32_t sharedEnd = windows.secondEnds[shared->inSecond];
    begin = start + sharedEnd;
    covered = secondSize - sharedEnd;
    size_t skipped = shared->inSecond + 1;
    windows.first.assign(windows.second.begin() + skipped,
                         windows.second.end());
    windows.firstEnds.clear();
    for (size_t i = skipped; i < windows.secondEnds.size(); ++i)
      windows.firstEnds.push_back(windows.secondEnds[i] - sharedEnd);
  }
  tokens.insert(tokens.end(), windows.first.begin(), windows.first.end());
  return true;
}

void BytePairMerges::encode(std::span<const int32_t> symbols,
                            std::vector<int32_t> &tokens,
                            Scratch &scratch) const {
  size_t before = tokens.size();
  if (symbols.size() > shortWord) {
    if (encodeInWindows(symbols, tokens, scratch))
      return;
    tokens.resize(before);
  }
  encodeWindow(symbols, scratch.first, scratch.firstEnds, scratch);
  tokens.insert(tokens.end(), scratch.first.begin(), scratch.first.end());
}
