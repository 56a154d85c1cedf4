//===- Unicode.h - Characters and their kinds -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// UTF-8, general categories and normal forms. The tables are those of ICU
/// (Unicode 15.0 in Debian 12); a byte a code point of them is kept here, since
/// ICU's look-up costs as much as all the rest of splitting a text.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TEXT_UNICODE_H
#define HOCKET_RUNTIME_TOKENIZER_TEXT_UNICODE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hocket::tokenizer {

/// What a character is, as bits.
enum CharacterKind : uint8_t {
  Letter = 1,         ///< \p{L}
  Number = 2,         ///< \p{N}
  Space = 4,          ///< White_Space
  NonspacingMark = 8, ///< \p{Mn}
  Punctuation = 16,   ///< \p{P}
  Control = 32,       ///< \p{Cc}, \p{Cf} or \p{Co}
  WordCharacter = 64, ///< \w: letters, marks, digits, connectors
};

inline constexpr uint32_t characterCount = 0x110000;

/// CharacterKind bits of every code point.
const uint8_t *characterKinds();

struct Character {
  uint32_t code = 0;
  uint32_t bytes = 1;
};

/// The character at `at`, below `end`. A byte that begins none is the character
/// U+FFFD of one byte.
inline Character characterAt(const char *at, const char *end) {
  auto byte = [&](int i) { return uint32_t(uint8_t(at[i])); };
  auto follows = [&](int i) { return (byte(i) & 0xc0) == 0x80; };
  uint32_t first = byte(0);
  if (first < 0x80)
    return {first, 1};
  if (first < 0xe0 && end - at >= 2 && follows(1))
    return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first >= 0xe0 && first < 0xf0 && end - at >= 3 && follows(1) &&
      follows(2))
    return {(first & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  if (first >= 0xf0 && end - at >= 4 && follows(1) && follows(2) &&
      follows(3)) {
    uint32_t code = (first & 7) << 18 | (byte(1) & 0x3f) << 12 |
                    (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    return {code < characterCount ? code : 0xfffd, 4};
  }
  return {0xfffd, 1};
}

/// The bytes of the character before `at`, which is above `begin`.
inline size_t bytesBefore(const char *begin, const char *at) {
  size_t bytes = 1;
  while (bytes < 4 && at - bytes > begin &&
         (uint8_t(*(at - bytes)) & 0xc0) == 0x80)
    ++bytes;
  return bytes;
}

/// Appends `code` in UTF-8.
void appendCharacter(uint32_t code, std::string &text);

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };

/// "NFC" and so on.
const char *nameOf(NormalForm form);
std::optional<NormalForm> parseNormalForm(std::string_view name);

std::string normalize(std::string_view text, NormalForm form);

/// As Unicode's toLowercase, character by character and of no language.
void appendLowerCase(uint32_t code, std::string &text);

/// \p{Ll}.
bool isLowerCase(uint32_t code);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TEXT_UNICODE_H
