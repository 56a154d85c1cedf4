//===- GroupTable.cpp - Groups of ranks -----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/program/ProgramEmitter.h"

#include "base/AxisKind.h"
#include <map>
#include <set>
#include <utility>

using namespace mlir;
using namespace hocket;

static std::string nameOf(ArrayAttr axes) {
  std::string name;
  for (auto axis : axes.getAsRange<StringAttr>())
    name += (name.empty() ? "" : "/") + axis.getValue().str();
  return name;
}

/// The coordinates of a rank, one an axis; the last axis varies fastest.
static std::vector<uint32_t> coordinatesOf(const program::Mesh &mesh,
                                           uint32_t rank) {
  std::vector<uint32_t> coordinates(size_t(mesh.axes_size()));
  for (int a = mesh.axes_size() - 1; a >= 0; --a) {
    coordinates[size_t(a)] = rank % mesh.axes(a).size();
    rank /= mesh.axes(a).size();
  }
  return coordinates;
}

namespace {
/// "tp", or "pp{0,3}": an axis, perhaps with some of its places only.
struct AxisPart {
  explicit AxisPart(StringRef text) {
    auto [axis, list] = text.split('{');
    name = axis;
    SmallVector<StringRef> places;
    list.drop_back(list.ends_with("}")).split(places, ',', -1, false);
    for (StringRef place : places)
      if (uint32_t number = 0; !place.getAsInteger(10, number))
        members.insert(number);
  }

  bool has(uint32_t place) const {
    return members.empty() || members.count(place);
  }

  StringRef name;
  std::set<uint32_t> members; ///< empty: all
};
} // namespace

uint64_t GroupTable::sizeOf(ArrayAttr axes) const {
  uint64_t size = 1;
  for (auto axis : axes.getAsRange<StringAttr>())
    for (const auto &known : program.mesh().axes())
      if (axis.getValue() == known.name())
        size *= known.size();
  return size;
}

uint32_t GroupTable::indexOf(ArrayAttr axes) {
  std::string name = nameOf(axes);
  auto [entry, isNew] = indices.try_emplace(name, program.groups_size());
  if (!isNew)
    return entry->second;
  const program::Mesh &mesh = program.mesh();
  std::vector<std::pair<size_t, AxisPart>> varying;
  uint32_t ranks = 1;
  for (const auto &axis : mesh.axes())
    ranks *= axis.size();
  for (auto axis : axes.getAsRange<StringAttr>())
    for (int a = 0; a < mesh.axes_size(); ++a)
      if (AxisPart part(axis.getValue()); part.name == mesh.axes(a).name())
        varying.push_back({size_t(a), part});
  // By the coordinates that do not vary, the ranks by their place.
  std::map<std::vector<uint32_t>, std::map<uint64_t, uint32_t>> lists;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<uint32_t> coordinates = coordinatesOf(mesh, rank);
    uint64_t place = 0;
    bool member = true;
    for (const auto &[a, part] : varying) {
      place = place * mesh.axes(int(a)).size() + coordinates[a];
      member &= part.has(coordinates[a]);
      coordinates[a] = 0;
    }
    if (member)
      lists[coordinates][place] = rank;
  }
  auto *group = program.add_groups();
  group->set_name(name);
  for (const auto &[key, members] : lists) {
    auto *list = group->add_members();
    for (auto [place, rank] : members)
      list->add_ranks(rank);
  }
  return entry->second;
}

void GroupTable::setPlace(ArrayAttr axes, int64_t step,
                          program::Scalar &scalar) {
  if (!axes || axes.empty()) {
    scalar.set_constant(0);
    return;
  }
  scalar.set_index_in_group(indexOf(axes));
  scalar.set_multiplier(step);
}

ArrayAttr GroupTable::pipelineAxis(MLIRContext *context,
                                   ArrayRef<int64_t> places) {
  return ArrayAttr::get(
      context,
      {StringAttr::get(context, placesName(AxisKind::Pipeline, places))});
}

ArrayAttr GroupTable::axesBeside(ArrayAttr dims) const {
  MLIRContext *context = dims.getContext();
  SmallVector<Attribute> rest;
  for (const auto &axis : program.mesh().axes()) {
    auto name = StringAttr::get(context, axis.name());
    bool used = llvm::any_of(dims.getAsRange<ArrayAttr>(), [&](ArrayAttr dim) {
      return llvm::is_contained(dim, name);
    });
    if (!used && axis.size() > 1 && axisKind(axis.name()) != AxisKind::Pipeline)
      rest.push_back(name);
  }
  return ArrayAttr::get(context, rest);
}
