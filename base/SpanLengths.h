//===- SpanLengths.h - How long samples of corrupted spans are --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Span corruption (Raffel et al., arXiv 1910.10683, section 3.1.4): of a run
/// of tokens some spans are replaced, each by a sentinel, and are to be told.
/// All samples have as many tokens and spans, so that a specification is
/// checked before anything is read.
///
///   encoder   what is left, a sentinel for each span, the end of text
///   labels    each sentinel with its span behind it, the end of text
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_SPANLENGTHS_H
#define HOCKET_BASE_SPANLENGTHS_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hocket {

struct SpanLengths {
  uint64_t tokens = 0; ///< That a sample is made of,
  uint64_t noise = 0;  ///< and how many of them are in spans.
  uint64_t spans = 0;

  uint64_t encoder() const { return tokens - noise + spans + 1; }
  uint64_t labels() const { return noise + spans + 1; }

  /// Of `tokens`, at least 2, of which the share `density`, between 0 and 1, is
  /// noise in spans of `meanLength` on average. Half goes to even, as NumPy and
  /// T5 round; there is a span at least, and a token before each.
  static SpanLengths of(uint64_t tokens, double density, double meanLength) {
    auto rounded = [](double x) {
      return static_cast<uint64_t>(std::nearbyint(std::max(x, 1.0)));
    };
    SpanLengths lengths{tokens, 0, 0};
    lengths.noise =
        std::min(rounded(static_cast<double>(tokens) * density), tokens - 1);
    lengths.spans =
        std::min({rounded(static_cast<double>(lengths.noise) / meanLength),
                  lengths.noise, tokens - lengths.noise});
    return lengths;
  }

  /// Of as many tokens as an encoder of `encoderLength`, at least 4, takes in.
  static SpanLengths fitting(uint64_t encoderLength, double density,
                             double meanLength) {
    // What is left over of more tokens is never less.
    auto fits = [&](uint64_t tokens) {
      return of(tokens, density, meanLength).encoder() <= encoderLength;
    };
    uint64_t low = 2, high = 4;
    while (fits(high) && high < uint64_t(1) << 40)
      low = high, high *= 2;
    while (high - low > 1) {
      uint64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return of(low, density, meanLength);
  }
};

} // namespace hocket

#endif // HOCKET_BASE_SPANLENGTHS_H
