//===- Quantity.h - Numbers with their nouns and units ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Numbers as sentences and tables show them; Format.h has those that stand
/// alone.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_QUANTITY_H
#define HOCKET_BASE_QUANTITY_H

#include <cstdint>
#include <string>

namespace hocket {

/// A count with its noun: "1 document", "2 documents", "1,000 entries". The
/// plural is the noun and an s where none is given.
std::string formatNoun(uint64_t count, const std::string &noun,
                       const std::string &plural = "");

/// A rate with its unit: 1e11 -> "100.0 GFLOP/s", 12 -> "12 FLOP/s".
std::string formatRate(double perSecond, const std::string &unit);

/// A number with so many digits behind the point; what rounds to 0 has no
/// minus sign, and what is no finite number is "?".
std::string formatRounded(double value, int digits);

/// The same with a sign: "+1.5", "-0.2", "+0.0".
std::string formatSigned(double value, int digits);

} // namespace hocket

#endif // HOCKET_BASE_QUANTITY_H
