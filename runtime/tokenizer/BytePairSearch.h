//===- BytePairSearch.h - What merges come to, found from left --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sequence of tokens is what the merges make of its text if and only if that
/// holds for each two neighbours in it (BytePairMerges.h says why). So a word
/// need not be merged: from the left, the longest token is taken that its
/// predecessor stays apart from, and where there is none, the predecessor was
/// too long. A place from which nothing leads on is never tried again, so time
/// is linear in the word.
///
/// Whether two tokens stay apart is seen by undoing their last merges, the
/// latest first: at no time may a merge across the border have come before
/// those that took its sides away. That needs merges that come after those that
/// made their sides, as all that were trained do; others are not for this
/// class.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_BYTEPAIRSEARCH_H
#define HOCKET_RUNTIME_TOKENIZER_BYTEPAIRSEARCH_H

#include "runtime/tokenizer/BytePairMerges.h"
#include "runtime/tokenizer/text/Trie.h"
#include "runtime/tokenizer/text/Vocabulary.h"

#include <string_view>
#include <vector>

namespace hocket::tokenizer {

class BytePairSearch {
public:
  /// The last merge of a token that its own bytes are merged to.
  struct Derivation {
    static constexpr int32_t ofByte = -1, none = -2;
    int32_t rank = none, left = noToken, right = noToken;
  };

  /// `merges` and `vocabulary` outlive this object. False, and it cannot be
  /// used, if the merges are not in order or the tokens too many.
  bool build(const BytePairMerges &merges, const Vocabulary &vocabulary,
             std::vector<Derivation> derivations);

  bool isReady() const { return ready; }

  /// Memory of one thread, for one search.
  struct Scratch {
    std::vector<bool> dead; ///< Places that lead nowhere.
    /// Pairs that were looked at, shifted by one, and whether they stay apart.
    std::vector<uint64_t> pairs = std::vector<uint64_t>(pairSlots, UINT64_MAX);
  };

  /// Appends the tokens of `word`.
  bool encode(std::string_view word, std::vector<int32_t> &tokens,
              Scratch &scratch) const;

private:
  static constexpr size_t pairSlots = size_t(1) << 15;

  bool staysApart(int32_t left, int32_t right) const;
  bool staysApart(int32_t left, int32_t right, Scratch &scratch) const;

  const BytePairMerges *merges = nullptr;
  std::vector<Derivation> derivations;
  std::vector<int32_t> shorter; ///< The longest token that one begins with.
  std::vector<uint32_t> sizes;
  Trie trie;
  bool ready = false;
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_BYTEPAIRSEARCH_H
