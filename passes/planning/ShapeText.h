//===- ShapeText.h - A pipeline's sizes as text -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The lines `ranks`, `chunks`, `microbatches` and `placement`, with which the
/// texts of schedules and of their problems begin.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SHAPETEXT_H
#define HOCKET_PASSES_PLANNING_SHAPETEXT_H

#include "passes/planning/Schedule.h"
#include "passes/planning/TextLines.h"

#include <set>

namespace hocket::planning {

class ShapeText {
public:
  explicit ShapeText(const TextLines &lines) : lines(lines) {}

  /// Reads a line of two words if it is one of the four; false if not.
  StatusOr<bool> take(const TextLine &line);
  /// The shape; refuses one without `ranks` or `microbatches`.
  StatusOr<PipelineShape> finish() const;

private:
  const TextLines &lines;
  PipelineShape shape;
  std::set<std::string_view> seen;
  TextWord last;
};

/// The four lines.
std::string writtenShape(const PipelineShape &shape);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SHAPETEXT_H
