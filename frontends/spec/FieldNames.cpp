//===- FieldNames.cpp - Names that a misspelt name may stand for ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/FieldNames.h"

#include "frontends/spec/spec.pb.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace google::protobuf;

static char lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

unsigned hocket::spec::editDistance(std::string_view a, std::string_view b) {
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

/// Edit distance, and 1 where one name begins with the whole of the other.
static unsigned nameDistance(std::string_view a, std::string_view b) {
  std::string_view shorter = a.size() < b.size() ? a : b;
  std::string_view longer = a.size() < b.size() ? b : a;
  if (shorter.size() >= 4 && longer.size() > shorter.size() &&
      longer.starts_with(shorter))
    return 1;
  return hocket::spec::editDistance(a, b);
}

namespace {
struct Scored {
  unsigned distance;
  std::string name;
  size_t order = 0; // Among equals, the first wins.
};
} // namespace

/// The best three of `scored` that are no farther than `limit`.
static std::vector<std::string> bestOf(std::vector<Scored> scored,
                                       unsigned limit) {
  for (size_t i = 0; i < scored.size(); ++i)
    scored[i].order = i;
  std::sort(scored.begin(), scored.end(), [](const Scored &a, const Scored &b) {
    return std::tie(a.distance, a.order) < std::tie(b.distance, b.order);
  });
  if (!scored.empty() && scored.front().distance == 0)
    return {scored.front().name};
  std::vector<std::string> best;
  for (const Scored &entry : scored)
    if (best.size() < 3 && entry.distance <= limit)
      best.push_back(entry.name);
  return best;
}

/// Farther than this, two names do not resemble each other.
static unsigned resemblanceLimit(std::string_view name, size_t least) {
  return static_cast<unsigned>(std::clamp<size_t>(name.size() / 2, least, 12));
}

std::vector<std::string>
hocket::spec::nearestNames(std::string_view name,
                           const std::vector<std::string> &candidates) {
  std::vector<Scored> scored;
  for (const std::string &candidate : candidates)
    scored.push_back({nameDistance(name, candidate), candidate});
  return bestOf(std::move(scored), resemblanceLimit(name, 2));
}

static std::string_view lastPart(std::string_view path) {
  size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

static void scorePaths(const Descriptor &type, const std::string &prefix,
                       std::string_view path, std::vector<Scored> &scored) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor &field = *type.field(i);
    std::string full = prefix + field.name();
    unsigned whole = hocket::spec::editDistance(path, full);
    unsigned leaf = 1 + 2 * nameDistance(lastPart(path), field.name());
    scored.push_back({std::min(whole, leaf), full});
    if (const Descriptor *nested = field.message_type())
      scorePaths(*nested, full + (field.is_repeated() ? "[0]." : "."), path,
                 scored);
  }
}

std::vector<std::string> hocket::spec::nearestPaths(std::string_view path) {
  std::vector<Scored> scored;
  scorePaths(*Spec::descriptor(), "", path, scored);
  return bestOf(std::move(scored), resemblanceLimit(lastPart(path), 3));
}

std::vector<std::string> hocket::spec::valueNames(const EnumDescriptor &type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i)
    names.push_back(type.value(i)->name());
  return names;
}

std::vector<std::string>
hocket::spec::suggestValues(std::string_view value,
                            const std::vector<std::string> &names) {
  std::vector<std::string> near = nearestNames(value, names);
  bool exact = !near.empty() && editDistance(near.front(), value) == 0;
  return exact || (!near.empty() && names.size() > 4) ? near : names;
}

std::string
hocket::spec::joinAlternatives(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0)
      text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}
