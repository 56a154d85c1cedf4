//===- Base64.cpp - Bytes as text of 64 characters ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

using namespace hocket;

static constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The number that a character stands for; -1: none.
static constexpr std::array<int8_t, 256> values = [] {
  std::array<int8_t, 256> result = {};
  result.fill(-1);
  for (size_t i = 0; i < digits.size(); ++i)
    result[uint8_t(digits[i])] = int8_t(i);
  return result;
}();

std::string hocket::encodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    std::string_view group = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? uint8_t(group[k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      text += k <= group.size() ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

StatusOr<std::string> hocket::decodeBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return invalidArgument("is no base64: it has " +
                           std::to_string(text.size()) +
                           " characters, which is no multiple of 4");
  size_t filling = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string_view used = text.substr(0, text.size() - filling);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0, held = 0;
  for (size_t i = 0; i < used.size(); ++i) {
    int8_t value = values[uint8_t(used[i])];
    if (value < 0)
      return invalidArgument("is no base64 from character " +
                             std::to_string(i + 1) + " on");
    bits = bits << 6 | uint32_t(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += char(bits >> held & 0xff);
      bits &= (uint32_t(1) << held) - 1;
    }
  }
  if (bits != 0)
    return invalidArgument("is no base64: bits behind its last byte are set");
  return bytes;
}
