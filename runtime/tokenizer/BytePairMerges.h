//===- BytePairMerges.h - Merging the pairs of a word -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A table of merges, and what they make of a word: while two neighbours have a
/// merge, those of the lowest rank become one, the leftmost first.
///
/// A long word is encoded in windows. A sequence of tokens is what the merges
/// make of its text if and only if that holds for each two neighbours in it.
/// (Until a merge first crosses a border between two tokens, both sides go the
/// way that they go alone; so it would cross it in the two alone as well.)
/// Where two overlapping windows have a token in common, the tokens of the
/// first up to it and of the second behind it are therefore those of the whole.
/// A word of n bytes takes time in n, and not n log n. (BytePairSearch.h is
/// quicker still, where it may be used.)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_BYTEPAIRMERGES_H
#define HOCKET_RUNTIME_TOKENIZER_BYTEPAIRMERGES_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::tokenizer {

class BytePairMerges {
public:
  /// Up to so many bytes a scan for the least rank is quicker than a heap.
  static constexpr size_t shortWord = 128;

  /// Room for `count` merges; 32 bytes for each.
  void reserve(size_t count);

  /// The next merge, of the rank that is the number of those before. False if
  /// the pair has one.
  bool insert(int32_t left, int32_t right, int32_t merged);

  size_t size() const { return count; }

  /// The rank of a pair, or INT32_MAX.
  int32_t rankOf(int32_t left, int32_t right) const {
    const Merge *merge = find(left, right);
    return merge ? merge->rank : noMerge;
  }

  /// Whether each merge comes after all that make its sides. All tokens are
  /// below `tokens`.
  bool isInOrder(size_t tokens) const;

  /// Memory of one thread.
  struct Scratch {
    struct Node {
      int32_t token; ///< Negative once it is part of another.
      uint32_t previous, next;
    };
    struct Candidate {
      int32_t rank;
      uint32_t position;
    };
    std::vector<Node> nodes;
    std::vector<Candidate> heap;
    std::vector<int32_t> first, second;
    std::vector<uint32_t> firstEnds, secondEnds;
    /// The last merge of a word of at most 128 bytes.
    int32_t lastLeft = -1, lastRight = -1;
  };

  /// Appends what the merges make of `symbols`.
  void encode(std::span<const int32_t> symbols, std::vector<int32_t> &tokens,
              Scratch &scratch) const;

private:
  struct Merge {
    int32_t left = -1, right = -1, rank = 0, merged = 0;
  };
  static constexpr int32_t noMerge = INT32_MAX;

  static uint64_t hashOf(int32_t left, int32_t right) {
    uint64_t pair = uint64_t(uint32_t(left)) << 32 | uint32_t(right);
    pair *= 0x9e3779b97f4a7c15;
    return pair ^ pair >> 32;
  }
  const Merge *find(int32_t left, int32_t right) const {
    for (size_t at = hashOf(left, right) & mask;; at = (at + 1) & mask) {
      const Merge &merge = table[at];
      if (merge.left == left && merge.right == right)
        return &merge;
      if (merge.left < 0)
        return nullptr;
    }
  }
  void grow(size_t slots);
  void encodeWindow(std::span<const int32_t> symbols,
                    std::vector<int32_t> &tokens, std::vector<uint32_t> &ends,
                    Scratch &scratch) const;
  bool encodeInWindows(std::span<const int32_t> symbols,
                       std::vector<int32_t> &tokens, Scratch &windows) const;
  void mergeNext(Scratch &scratch) const;
  void offer(Scratch &scratch, uint32_t position) const;

  std::vector<Merge> table = std::vector<Merge>(1);
  size_t mask = 0, count = 0;
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_BYTEPAIRMERGES_H
