//===- Format.h - Numbers as people read them -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How sizes, times and counts are shown on a terminal. Files that a program
/// reads hold exact numbers instead.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_FORMAT_H
#define HOCKET_BASE_FORMAT_H

#include <cstdint>
#include <string>
#include <vector>

namespace hocket {

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string formatText(const char *pattern, ...);

/// What the format %llu takes.
inline unsigned long long wide(uint64_t value) { return value; }

/// 17 -> "17 B", 1536 -> "1.50 KiB", 3 * 2^30 -> "3.00 GiB".
std::string formatBytes(uint64_t bytes);

/// 0.0000021 -> "2.1 us", 0.25 -> "250 ms", 75 -> "1m 15s", 3700 -> "1h 02m".
std::string formatDuration(double seconds);

/// 999 -> "999", 12345 -> "12.3k", 124439808 -> "124.4M"; also G and T.
std::string formatCount(double count);

/// 1234567 -> "1,234,567".
std::string formatGrouped(uint64_t value);

/// Rows of cells as aligned columns, two spaces between them; a column whose
/// name in `header` starts with '>' is aligned to the right. Without any name
/// there is no header line.
std::string formatTable(const std::vector<std::string> &header,
                        const std::vector<std::vector<std::string>> &rows);

/// `candidates` that a person may have meant by `name`, nearest first: at
/// most `limit`, none that shares too little with it.
std::vector<std::string> nearestNames(const std::string &name,
                                      const std::vector<std::string> &names,
                                      unsigned limit = 3);

} // namespace hocket

#endif // HOCKET_BASE_FORMAT_H
