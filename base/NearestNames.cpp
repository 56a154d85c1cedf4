//===- NearestNames.cpp - What a misspelt name may stand for --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/NearestNames.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace hocket;

static char lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

unsigned hocket::editDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, 256);
  b = b.substr(0, 256);
  std::vector<unsigned> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (size_t i = 1; i <= a.size(); ++i) {
    unsigned diagonal = row[0];
    row[0] = static_cast<unsigned>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      unsigned substitute = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

unsigned hocket::nameDistance(std::string_view a, std::string_view b) {
  std::string_view shorter = a.size() < b.size() ? a : b;
  std::string_view longer = a.size() < b.size() ? b : a;
  if (shorter.size() >= 4 && longer.size() > shorter.size() &&
      longer.starts_with(shorter))
    return 1;
  return editDistance(a, b);
}

unsigned hocket::resemblanceLimit(std::string_view name, size_t least) {
  return static_cast<unsigned>(std::clamp<size_t>(name.size() / 2, least, 12));
}

std::vector<std::string> hocket::nearestOf(std::vector<ScoredName> scored,
                                           unsigned limit, size_t most) {
  std::vector<size_t> order(scored.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(scored[a].distance, a) < std::pair(scored[b].distance, b);
  });
  std::vector<std::string> nearest;
  for (size_t i : order) {
    if (scored[i].distance == 0)
      return {scored[i].name};
    if (nearest.size() < most && scored[i].distance <= limit)
      nearest.push_back(scored[i].name);
  }
  return nearest;
}

std::vector<std::string>
hocket::nearestNames(const std::string &name,
                     const std::vector<std::string> &names, unsigned limit) {
  std::vector<ScoredName> scored;
  for (const std::string &candidate : names)
    scored.push_back({nameDistance(name, candidate), candidate});
  return nearestOf(std::move(scored), resemblanceLimit(name, 2), limit);
}

std::string hocket::joinAlternatives(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0)
      text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string hocket::didYouMean(std::string_view name,
                               const std::vector<std::string> &candidates) {
  std::vector<std::string> near = nearestNames(std::string(name), candidates);
  return near.empty() ? "" : "; did you mean " + joinAlternatives(near) + "?";
}
