//===- ShapeText.cpp - A pipeline's sizes as text -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ShapeText.h"

using namespace hocket;
using namespace hocket::planning;

StatusOr<bool> ShapeText::take(const TextLine &line) {
  std::string_view key = line[0].text;
  if (key != "ranks" && key != "chunks" && key != "microbatches" &&
      key != "placement")
    return false;
  if (!seen.insert(key).second)
    return lines.errorAt(line[0], "expected each line once");
  HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 2, 2));
  last = line[1];
  if (key == "placement") {
    for (Placement placement : {Placement::RoundRobin, Placement::VShaped})
      if (line[1].text == spelled(placement)) {
        shape.placement = placement;
        return true;
      }
    return lines.errorAt(line[1], "expected round-robin or v-shaped");
  }
  int64_t most = key == "ranks"    ? kMostRanks
                 : key == "chunks" ? kMostChunks
                                   : kMostCells;
  HOCKET_ASSIGN_OR_RETURN(int64_t value, lines.whole(line[1], 1, most));
  (key == "ranks"    ? shape.ranks
   : key == "chunks" ? shape.chunks
                     : shape.microbatches) = value;
  return true;
}

StatusOr<PipelineShape> ShapeText::finish() const {
  for (std::string_view key : {"ranks", "microbatches"})
    if (!seen.contains(key))
      return lines.errorAtEnd("expected a line '" + std::string(key) +
                              " NUMBER'");
  if (shape.stages() > kMostCells / shape.microbatches)
    return lines.errorAt(last, "expected at most " +
                                   std::to_string(kMostCells) +
                                   " of ranks x chunks x microbatches");
  return shape;
}

std::string hocket::planning::writtenShape(const PipelineShape &shape) {
  return "ranks " + std::to_string(shape.ranks) + "\nchunks " +
         std::to_string(shape.chunks) + "\nmicrobatches " +
         std::to_string(shape.microbatches) + "\nplacement " +
         std::string(spelled(shape.placement)) + "\n";
}
