//===- CharacterMap.h - SentencePiece's normalization -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A model's own normalization: which strings become which. It is a Darts
/// double array over the strings, and their replacements one after the other,
/// each ended by a zero. No index in it is believed.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TEXT_CHARACTERMAP_H
#define HOCKET_RUNTIME_TOKENIZER_TEXT_CHARACTERMAP_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tokenizer {

class CharacterMap {
public:
  /// Reads a model's `precompiled_charsmap`; false if its sizes are wrong.
  bool read(std::string_view blob);

  bool empty() const { return units.empty(); }

  struct Match {
    std::string_view replacement;
    size_t size = 0; ///< 0: `text` begins with no such string.
  };
  /// The longest string that `text` begins with.
  Match longest(std::string_view text) const;

private:
  std::vector<uint32_t> units;
  std::string replacements;
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TEXT_CHARACTERMAP_H
