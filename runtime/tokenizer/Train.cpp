//===- Train.cpp - A vocabulary for a text --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/Train.h"

#include "runtime/tokenizer/ByteLevel.h"
#include "runtime/tokenizer/text/Vocabulary.h"

#include <algorithm>
#include <array>
#include <numeric>

using namespace hocket;
using namespace hocket::tokenizer;

namespace {

struct Word {
  std::vector<int32_t> symbols;
  int64_t count;
};

uint64_t pairOf(int32_t left, int32_t right) {
  return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
}

/// What is known of a pair of neighbours.
struct Pair {
  int64_t count = 0;
  std::vector<uint32_t> words; ///< Where it occurs or did; some twice.
};

struct MergeCandidate {
  int64_t count;
  uint64_t pair;
  bool operator<(const MergeCandidate &other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
public:
  Trainer(const WordCounts &words, const TrainOptions &options);
  void run(uint64_t size, const std::function<void(uint64_t)> &progress);
  TrainedBytePairs result;

private:
  bool mergeBest();
  void mergeIn(uint32_t word, int32_t left, int32_t right, int32_t merged);
  void change(int32_t left, int32_t right, int64_t by, uint32_t word);
  int32_t tokenFor(std::string text);

  const TrainOptions &options;
  std::vector<Word> words;
  std::unordered_map<uint64_t, Pair> pairs;
  std::unordered_map<std::string, int32_t> known;
  std::vector<MergeCandidate> heap;
  std::vector<uint64_t> risen; ///< Pairs that the current merge has made.
};

} // namespace

int32_t Trainer::tokenFor(std::string text) {
  auto [at, isNew] = known.emplace(text, int32_t(result.tokens.size()));
  if (isNew)
    result.tokens.push_back(std::move(text));
  return at->second;
}

Trainer::Trainer(const WordCounts &counts, const TrainOptions &options)
    : options(options) {
  std::array<int, 256> bytes;
  std::iota(bytes.begin(), bytes.end(), 0);
  std::sort(bytes.begin(), bytes.end(), [](int a, int b) {
    return characterOfByte(uint8_t(a)) < characterOfByte(uint8_t(b));
  });
  std::array<int32_t, 256> tokenOf;
  for (int byte : bytes)
    tokenOf[size_t(byte)] = tokenFor(std::string(1, char(byte)));
  words.reserve(counts.size());
  for (const auto &[text, count] : counts) {
    auto index = uint32_t(words.size());
    words.push_back({{}, int64_t(count)});
    for (char byte : text)
      words.back().symbols.push_back(tokenOf[uint8_t(byte)]);
    for (size_t i = 1; i < text.size(); ++i)
      change(words[index].symbols[i - 1], words[index].symbols[i], 1, index);
  }
  risen.clear();
  for (const auto &[pair, known] : pairs)
    heap.push_back({known.count, pair});
  std::make_heap(heap.begin(), heap.end());
}

/// A pair occurs once more or less in a word.
void Trainer::change(int32_t left, int32_t right, int64_t by, uint32_t word) {
  uint64_t key = pairOf(left, right);
  Pair &pair = pairs[key];
  pair.count += by * words[word].count;
  if (by < 0)
    return;
  if (pair.words.empty() || pair.words.back() != word)
    pair.words.push_back(word);
  risen.push_back(key);
}

void Trainer::mergeIn(uint32_t word, int32_t left, int32_t right,
                      int32_t merged) {
  std::vector<int32_t> &symbols = words[word].symbols;
  size_t to = 0;
  for (size_t from = 0; from < symbols.size(); ++from) {
    bool isPair = from + 1 < symbols.size() && symbols[from] == left &&
                  symbols[from + 1] == right;
    if (!isPair) {
      symbols[to++] = symbols[from];
      continue;
    }
    if (to > 0) {
      change(symbols[to - 1], left, -1, word);
      change(symbols[to - 1], merged, 1, word);
    }
    ++from;
    if (from + 1 < symbols.size()) {
      change(right, symbols[from + 1], -1, word);
      change(merged, symbols[from + 1], 1, word);
    }
    symbols[to++] = merged;
  }
  symbols.resize(to);
}

/// False if no pair is frequent enough.
bool Trainer::mergeBest() {
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    MergeCandidate best = heap.back();
    heap.pop_back();
    auto at = pairs.find(best.pair);
    if (at == pairs.end() || at->second.count <= 0)
      continue;
    if (at->second.count != best.count) {
      heap.push_back({at->second.count, best.pair});
      std::push_heap(heap.begin(), heap.end());
      continue;
    }
    if (best.count < int64_t(options.leastFrequency))
      return false;
    auto left = int32_t(best.pair >> 32), right = int32_t(best.pair);
    int32_t merged =
        tokenFor(result.tokens[size_t(left)] + result.tokens[size_t(right)]);
    result.merges.push_back({left, right});
    std::vector<uint32_t> where = std::move(at->second.words);
    pairs.erase(at);
    risen.clear();
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    for (uint32_t word : where)
      mergeIn(word, left, right, merged);
    // Of equal neighbours, as in "aaa", the pair itself was counted again.
    pairs.erase(best.pair);
    std::sort(risen.begin(), risen.end());
    risen.erase(std::unique(risen.begin(), risen.end()), risen.end());
    for (uint64_t pair : risen)
      if (auto made = pairs.find(pair);
          made != pairs.end() && made->second.count > 0) {
        heap.push_back({made->second.count, pair});
        std::push_heap(heap.begin(), heap.end());
      }
    return true;
  }
  return false;
}

void Trainer::run(uint64_t size,
                  const std::function<void(uint64_t)> &progress) {
  while (result.tokens.size() < size && mergeBest())
    if (progress)
      progress(result.tokens.size() + options.special.size());
}

StatusOr<TrainedBytePairs>
tokenizer::trainBytePairs(const WordCounts &words, const TrainOptions &options,
                          const std::function<void(uint64_t)> &progress) {
  uint64_t least = 256 + options.special.size();
  if (options.vocabularySize < least || options.vocabularySize > mostTokens)
    return invalidArgument("expected a vocabulary of " + std::to_string(least) +
                           " (256 bytes and the special tokens) to " +
                           std::to_string(mostTokens) + " tokens, found " +
                           std::to_string(options.vocabularySize));
  Trainer trainer(words, options);
  trainer.run(options.vocabularySize - options.special.size(), progress);
  trainer.result.special = options.special;
  return std::move(trainer.result);
}
