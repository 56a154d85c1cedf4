//===- AxisKind.h - What an axis of the mesh is for -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_AXISKIND_H
#define HOCKET_BASE_AXISKIND_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hocket {

/// What devices along an axis of the mesh share out among them. An axis has its
/// kind's name; one that is cut has sub-axes ("tp.0"), and a group of pipeline
/// ranks names some places of one ("pp{0,3}").
enum class AxisKind {
  Pipeline, ///< "pp": stages
  Data,     ///< "dp": sequences
  Expert,   ///< "ep": sequences, and experts
  Context,  ///< "cp": positions of a sequence
  Tensor,   ///< "tp": heads and columns of weights
};

const char *axisName(AxisKind kind);

/// Places of an axis: "pp{0,3}".
std::string placesName(AxisKind kind, std::span<const int64_t> places);

/// Of an axis, a sub-axis or places of an axis; nothing for another name.
std::optional<AxisKind> axisKind(std::string_view name);

/// Whether a group of ranks ("cp.0/tp", "pp{0,3}") lies along an axis of
/// `kind`.
bool liesAlong(std::string_view group, AxisKind kind);

} // namespace hocket

#endif // HOCKET_BASE_AXISKIND_H
