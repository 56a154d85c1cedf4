//===- ByteLevel.cpp - Bytes as printable characters ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/ByteLevel.h"

#include "runtime/tokenizer/text/Unicode.h"

#include <array>

using namespace hocket;
using namespace hocket::tokenizer;

namespace {
struct ByteCharacters {
  std::array<uint32_t, 256> ofByte;
  std::array<int, 324> byteOf; ///< -1: of none.

  ByteCharacters() {
    byteOf.fill(-1);
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bool isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0);
      ofByte[byte] = isPrintable && byte != 0xad ? byte : next++;
      byteOf[ofByte[byte]] = int(byte);
    }
  }
};
} // namespace

static const ByteCharacters &byteCharacters() {
  static const ByteCharacters characters;
  return characters;
}

uint32_t tokenizer::characterOfByte(uint8_t byte) {
  return byteCharacters().ofByte[byte];
}

std::string tokenizer::toByteLevel(std::string_view bytes) {
  std::string text;
  for (char byte : bytes)
    appendCharacter(characterOfByte(uint8_t(byte)), text);
  return text;
}

std::optional<std::string> tokenizer::fromByteLevel(std::string_view text) {
  const auto &byteOf = byteCharacters().byteOf;
  std::string bytes;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    Character character = characterAt(at, end);
    if (character.code >= byteOf.size() || byteOf[character.code] < 0)
      return std::nullopt;
    bytes += char(byteOf[character.code]);
    at += character.bytes;
  }
  return bytes;
}
