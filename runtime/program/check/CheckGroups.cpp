//===- CheckGroups.cpp - Checks of the table of groups --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A group's name says which ranks it has: "dp/tp" those that differ along the
/// axes dp and tp of the mesh, numbered row-major over dp, then tp; "pp{0,3}"
/// those of the places 0 and 3 along pp.
///
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/program/FaultList.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

using namespace hocket;
using program::Group;
using program::Mesh;

static std::string groupFault(const Group &group, uint64_t ranks) {
  std::set<uint32_t> seen;
  for (const auto &members : group.members()) {
    if (members.ranks().empty() ||
        members.ranks_size() != group.members(0).ranks_size())
      return "its lists must not be empty and must have one size";
    for (uint32_t rank : members.ranks())
      if (rank >= ranks || !seen.insert(rank).second)
        return formatText("names rank %u %s", rank,
                          rank >= ranks ? "of a mesh that has it not"
                                        : "twice");
  }
  return group.members().empty() ? "has no list of ranks" : "";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
/// One axis of a group's name.
struct AxisOfName {
  int axis = 0;
  std::set<uint32_t> places; ///< Empty: all.
};
} // namespace

static std::optional<AxisOfName> parseAxis(const Mesh &mesh,
                                           const std::string &text) {
  size_t brace = text.find('{');
  AxisOfName result;
  while (result.axis < mesh.axes_size() &&
         mesh.axes(result.axis).name() != text.substr(0, brace))
    ++result.axis;
  if (result.axis == mesh.axes_size())
    return std::nullopt;
  if (brace == std::string::npos)
    return result;
  std::istringstream list(text.substr(brace + 1));
  for (char next = ','; next == ',';) {
    uint32_t place = 0;
    if (!(list >> place >> next) || (next != ',' && next != '}'))
      return std::nullopt;
    result.places.insert(place);
  }
  return result;
}

static std::optional<std::vector<AxisOfName>>
parseName(const Mesh &mesh, const std::string &name) {
  std::vector<AxisOfName> axes;
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '/');) {
    std::optional<AxisOfName> axis = parseAxis(mesh, part);
    if (!axis)
      return std::nullopt;
    axes.push_back(*std::move(axis));
  }
  return axes;
}

/// The lists that the name says, in any order.
static std::set<std::vector<uint32_t>>
listsOf(const Mesh &mesh, const std::vector<AxisOfName> &axes, uint32_t ranks) {
  // By the rank whose places along the axes are 0, members by their place.
  std::map<uint32_t, std::map<uint64_t, uint32_t>> lists;
  std::vector<uint32_t> strides(size_t(mesh.axes_size()), 1);
  for (size_t a = strides.size(); a-- > 1;)
    strides[a - 1] = strides[a] * mesh.axes(int(a)).size();
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    uint32_t base = rank;
    uint64_t place = 0;
    bool member = true;
    for (const AxisOfName &axis : axes) {
      uint32_t size = mesh.axes(axis.axis).size();
      uint32_t stride = strides[size_t(axis.axis)];
      uint32_t at = rank / stride % size;
      base -= at * stride;
      place = place * size + at;
      member &= axis.places.empty() || axis.places.count(at);
    }
    if (member)
      lists[base][place] = rank;
  }
  std::set<std::vector<uint32_t>> result;
  for (const auto &[base, members] : lists) {
    std::vector<uint32_t> list;
    for (auto [place, rank] : members)
      list.push_back(rank);
    result.insert(std::move(list));
  }
  return result;
}

static std::string nameFault(const Mesh &mesh, const Group &group,
                             uint32_t ranks) {
  auto axes = parseName(mesh, group.name());
  if (!axes)
    return "its name is not one of axes of the mesh";
  std::set<int> distinct;
  for (const AxisOfName &axis : *axes)
    if (!distinct.insert(axis.axis).second)
      return "its name has an axis twice";
  std::set<std::vector<uint32_t>> expected = listsOf(mesh, *axes, ranks);
  for (const auto &members : group.members())
    if (!expected.erase({members.ranks().begin(), members.ranks().end()}))
      return formatText("its list that begins with rank %u is not one of "
                        "ranks that differ along these axes alone",
                        members.ranks(0));
  return expected.empty() ? ""
                          : formatText("has no list that begins with rank %u",
                                       expected.begin()->front());
}

void hocket::checkGroups(const program::Program &program, FaultList &faults) {
  uint32_t ranks = 0;
  for (const program::Role &role : program.roles())
    ranks += uint32_t(role.ranks_size());
  uint64_t meshSize = 1;
  for (const auto &axis : program.mesh().axes())
    meshSize *= axis.size();
  std::set<std::string> names;
  for (int g = 0; g < program.groups_size(); ++g) {
    const Group &group = program.groups(g);
    std::string place = formatText("group %d '%s'", g, group.name().c_str());
    if (std::string fault = groupFault(group, ranks); !fault.empty())
      faults.add(ProgramRule::Groups, place, fault);
    else if (!names.insert(group.name()).second)
      faults.add(ProgramRule::GroupNames, place, "has the name of another");
    else if (meshSize != ranks)
      continue; // Has been said.
    else if (fault = nameFault(program.mesh(), group, ranks); !fault.empty())
      faults.add(ProgramRule::GroupNames, place, fault);
  }
}
