//===- ByteCount.cpp - Numbers of bytes as people write them --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/ByteCount.h"

#include <cctype>
#include <charconv>
#include <cmath>

using namespace hocket;

/// The factor that "MiB" or "M" stands for; 0 if it is no unit.
static double factorOf(std::string_view unit) {
  constexpr std::string_view letters = "KMGTPE";
  if (unit.ends_with('B'))
    unit.remove_suffix(1);
  if (unit.empty())
    return 1;
  bool isBinary = unit.size() == 2 && unit[1] == 'i';
  size_t power = letters.find(
      static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0]))));
  if (power == letters.npos || (unit.size() > 1 && !isBinary))
    return 0;
  return std::pow(isBinary ? 1024.0 : 1000.0, double(power + 1));
}

std::optional<uint64_t> hocket::parseByteCount(std::string_view text) {
  const char *begin = text.data();
  const char *end = begin + text.size();
  // Whole numbers of bytes are exact, whatever a double can hold.
  uint64_t whole = 0;
  auto [wholeEnd, wholeError] = std::from_chars(begin, end, whole);
  if (wholeError == std::errc() && wholeEnd == end)
    return whole;

  double number = 0;
  auto [stop, error] =
      std::from_chars(begin, end, number, std::chars_format::fixed);
  double factor = factorOf(std::string_view(stop, size_t(end - stop)));
  double bytes = std::floor(number * factor);
  bool isCount = error == std::errc() && factor > 0 && !std::signbit(number) &&
                 bytes < 0x1p64;
  return isCount ? std::optional(static_cast<uint64_t>(bytes)) : std::nullopt;
}
