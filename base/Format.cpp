//===- Format.cpp - Numbers as people read them ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

using namespace hocket;

std::string hocket::formatText(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int size = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(size > 0 ? size_t(size) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string hocket::formatBytes(uint64_t bytes) {
  if (bytes < 1024)
    return formatText("%llu B", (unsigned long long)bytes);
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = double(bytes) / 1024;
  int unit = 0;
  while (value >= 1023.995 && unit < 5)
    value /= 1024, ++unit;
  return formatText(value < 99.995 ? "%.2f %s" : "%.1f %s", value, units[unit]);
}

std::string hocket::formatDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0)
    return "?";
  if (seconds == 0)
    return "0s";
  if (seconds < 1e-6)
    return formatText("%.3g ns", seconds * 1e9);
  if (seconds < 1e-3)
    return formatText("%.3g us", seconds * 1e6);
  if (seconds < 0.9995)
    return formatText("%.3g ms", seconds * 1e3);
  if (seconds < 59.95)
    return formatText("%.1fs", seconds);
  auto whole = (unsigned long long)std::llround(std::min(seconds, 1e15));
  if (whole < 3600)
    return formatText("%llum %02llus", whole / 60, whole % 60);
  if (whole < 86400)
    return formatText("%lluh %02llum", whole / 3600, whole / 60 % 60);
  return formatText("%llud %02lluh", whole / 86400, whole / 3600 % 24);
}

std::string hocket::formatCount(double count) {
  if (!(std::fabs(count) >= 999.5))
    return formatText("%.3g", count);
  static const char units[] = "kMGTPE";
  double value = count / 1000;
  int unit = 0;
  while (std::fabs(value) >= 999.95 && unit < 5)
    value /= 1000, ++unit;
  return formatText("%.1f%c", value, units[unit]);
}

std::string hocket::formatGrouped(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string
hocket::formatTable(const std::vector<std::string> &header,
                    const std::vector<std::vector<std::string>> &rows) {
  size_t columns = header.size();
  std::vector<bool> right(columns);
  std::vector<std::string> names(columns);
  std::vector<size_t> width(columns);
  for (size_t c = 0; c < columns; ++c) {
    right[c] = !header[c].empty() && header[c][0] == '>';
    names[c] = header[c].substr(right[c]);
    width[c] = names[c].size();
    for (const auto &row : rows)
      if (c < row.size())
        width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  auto addRow = [&](const std::vector<std::string> &row) {
    std::string line;
    for (size_t c = 0; c < columns && c < row.size(); ++c) {
      std::string space(width[c] - row[c].size(), ' ');
      line += (c ? "  " : "") + (right[c] ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  if (std::any_of(names.begin(), names.end(),
                  [](const std::string &name) { return !name.empty(); }))
    addRow(names);
  for (const auto &row : rows)
    addRow(row);
  return text;
}
