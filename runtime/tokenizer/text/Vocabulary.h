//===- Vocabulary.h - Strings and their numbers -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The strings of a vocabulary in one run of memory, and a hash table over
/// them. Memory: the strings, 8 bytes for each number below the greatest, and
/// at most 32 for each string.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TEXT_VOCABULARY_H
#define HOCKET_RUNTIME_TOKENIZER_TEXT_VOCABULARY_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tokenizer {

/// No vocabulary is larger, so that memory follows the file.
inline constexpr uint32_t mostTokens = 1 << 19;

inline constexpr int32_t noToken = -1;

/// A quick hash of a short string.
inline uint64_t hashOf(std::string_view text) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15;
  uint64_t hash = text.size() * factor, word = 0;
  const char *at = text.data();
  size_t left = text.size();
  for (; left > 8; left -= 8, at += 8) {
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * factor;
    hash ^= hash >> 29;
  }
  word = 0;
  if (left >= 4) {
    uint32_t low = 0, high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + left - 4, 4);
    word = low | uint64_t(high) << 32;
  } else if (left > 0) {
    word = uint8_t(at[0]) | uint64_t(uint8_t(at[left / 2])) << 8 |
           uint64_t(uint8_t(at[left - 1])) << 16;
  }
  hash = (hash ^ word) * factor;
  return hash ^ hash >> 32;
}

class Vocabulary {
public:
  /// Gives the string `text` the number `token`, below mostTokens. False, and
  /// nothing is changed, if either is taken.
  bool insert(std::string_view text, int32_t token);

  /// The number of `text`, or noToken.
  int32_t find(std::string_view text) const {
    if (slots.empty())
      return noToken;
    uint64_t hash = hashOf(text);
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot &slot = slots[at];
      if (slot.token == noToken)
        return noToken;
      if (slot.hash == uint32_t(hash >> 32) && this->text(slot.token) == text)
        return slot.token;
    }
  }

  /// Whether there is a string of this number.
  bool has(int32_t token) const {
    return token >= 0 && size_t(token) < entries.size() &&
           entries[size_t(token)].offset != absent;
  }

  /// The string of a number that there is.
  std::string_view text(int32_t token) const {
    const Entry &entry = entries[size_t(token)];
    return {bytes.data() + entry.offset, entry.size};
  }

  /// One more than the greatest number.
  size_t size() const { return entries.size(); }
  size_t strings() const { return count; }

private:
  static constexpr uint32_t absent = UINT32_MAX;
  struct Entry {
    uint32_t offset = absent, size = 0;
  };
  struct Slot {
    uint32_t hash = 0;
    int32_t token = noToken;
  };

  void grow();
  void place(Slot slot, uint64_t hash);

  std::string bytes;
  std::vector<Entry> entries;
  std::vector<Slot> slots;
  size_t mask = 0, count = 0;
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TEXT_VOCABULARY_H
