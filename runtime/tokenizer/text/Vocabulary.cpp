//===- Vocabulary.cpp - Strings and their numbers -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/text/Vocabulary.h"

#include <algorithm>

using namespace hocket::tokenizer;

void Vocabulary::place(Slot slot, uint64_t hash) {
  size_t at = hash & mask;
  while (slots[at].token != noToken)
    at = (at + 1) & mask;
  slots[at] = slot;
}

void Vocabulary::grow() {
  std::vector<Slot> old(std::max<size_t>(64, 2 * slots.size()));
  old.swap(slots);
  mask = slots.size() - 1;
  for (const Slot &slot : old)
    if (slot.token != noToken)
      place(slot, hashOf(text(slot.token)));
}

bool Vocabulary::insert(std::string_view text, int32_t token) {
  if (has(token) || find(text) != noToken)
    return false;
  if (2 * (count + 1) > slots.size())
    grow();
  if (size_t(token) >= entries.size())
    entries.resize(size_t(token) + 1);
  entries[size_t(token)] = {uint32_t(bytes.size()), uint32_t(text.size())};
  bytes += text;
  ++count;
  uint64_t hash = hashOf(text);
  place({uint32_t(hash >> 32), token}, hash);
  return true;
}
