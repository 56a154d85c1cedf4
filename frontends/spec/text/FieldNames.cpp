//===- FieldNames.cpp - Names that a misspelt name may stand for ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/text/FieldNames.h"

#include "frontends/spec/spec.pb.h"

#include <algorithm>

using namespace google::protobuf;
using namespace hocket;

static std::string_view lastPart(std::string_view path) {
  size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

static void scorePaths(const Descriptor &type, const std::string &prefix,
                       std::string_view path, std::vector<ScoredName> &scored) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor &field = *type.field(i);
    std::string full = prefix + field.name();
    unsigned whole = editDistance(path, full);
    unsigned leaf = 1 + 2 * nameDistance(lastPart(path), field.name());
    scored.push_back({std::min(whole, leaf), full});
    if (const Descriptor *nested = field.message_type())
      scorePaths(*nested, full + (field.is_repeated() ? "[0]." : "."), path,
                 scored);
  }
}

std::vector<std::string> hocket::spec::nearestPaths(std::string_view path) {
  std::vector<ScoredName> scored;
  scorePaths(*Spec::descriptor(), "", path, scored);
  return nearestOf(std::move(scored), resemblanceLimit(lastPart(path), 3));
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
  std::vector<std::string> near = nearestNames(std::string(value), names);
  bool exact = !near.empty() && editDistance(near.front(), value) == 0;
  return exact || (!near.empty() && names.size() > 4) ? near : names;
}
