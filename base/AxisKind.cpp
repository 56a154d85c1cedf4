//===- AxisKind.cpp - What an axis of the mesh is for ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/AxisKind.h"

#include <algorithm>
#include <cstddef>

using namespace hocket;

namespace {
struct Row {
  AxisKind kind;
  const char *name;
};
} // namespace

static constexpr Row rows[] = {{AxisKind::Pipeline, "pp"},
                               {AxisKind::Data, "dp"},
                               {AxisKind::Expert, "ep"},
                               {AxisKind::Context, "cp"},
                               {AxisKind::Tensor, "tp"}};

const char *hocket::axisName(AxisKind kind) {
  for (const Row &row : rows)
    if (row.kind == kind)
      return row.name;
  return "";
}

std::string hocket::placesName(AxisKind kind, std::span<const int64_t> places) {
  std::string name = axisName(kind);
  for (size_t i = 0; i < places.size(); ++i)
    name += (i == 0 ? "{" : ",") + std::to_string(places[i]);
  return name + "}";
}

std::optional<AxisKind> hocket::axisKind(std::string_view name) {
  name = name.substr(0, name.find_first_of(".{"));
  for (const Row &row : rows)
    if (row.name == name)
      return row.kind;
  return std::nullopt;
}

bool hocket::liesAlong(std::string_view group, AxisKind kind) {
  while (true) {
    size_t end = std::min(group.find('/'), group.size());
    if (axisKind(group.substr(0, end)) == kind)
      return true;
    if (end == group.size())
      return false;
    group.remove_prefix(end + 1);
  }
}
