//===- CharacterMap.cpp - SentencePiece's normalization -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/text/CharacterMap.h"

#include <cstring>

using namespace hocket::tokenizer;

/// The longest of Unicode's has 33 bytes.
static constexpr size_t longestReplacement = 128;

// A unit of a Darts array: the label of the edge into it, or a value; how far
// away its children are; whether its first child is a value.

static uint32_t offsetOf(uint32_t unit) {
  return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}
static uint32_t labelOf(uint32_t unit) { return unit & (1u << 31 | 0xff); }
static bool hasLeaf(uint32_t unit) { return unit >> 8 & 1; }
static uint32_t valueOf(uint32_t unit) { return unit & ~(1u << 31); }

bool CharacterMap::read(std::string_view blob) {
  if (blob.empty())
    return true;
  uint32_t bytes = 0;
  if (blob.size() < sizeof(bytes))
    return false;
  std::memcpy(&bytes, blob.data(), sizeof(bytes));
  blob.remove_prefix(sizeof(bytes));
  if (bytes > blob.size() || bytes < sizeof(uint32_t) ||
      bytes % sizeof(uint32_t) != 0)
    return false;
  units.resize(bytes / sizeof(uint32_t));
  std::memcpy(units.data(), blob.data(), bytes);
  replacements = blob.substr(bytes);
  size_t begin = 0;
  while (begin < replacements.size()) {
    size_t end = replacements.find('\0', begin);
    if (end == replacements.npos || end - begin > longestReplacement)
      return false;
    begin = end + 1;
  }
  return true;
}

CharacterMap::Match CharacterMap::longest(std::string_view text) const {
  Match match;
  if (units.empty())
    return match;
  uint32_t at = offsetOf(units[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    at ^= uint8_t(text[i]);
    if (at >= units.size() || labelOf(units[at]) != uint8_t(text[i]))
      break;
    bool isEnd = hasLeaf(units[at]);
    at ^= offsetOf(units[at]);
    if (!isEnd)
      continue;
    if (at >= units.size())
      break;
    uint32_t value = valueOf(units[at]);
    if (value < replacements.size())
      match = {std::string_view(replacements.c_str() + value), i + 1};
  }
  return match;
}
