//===- BuildPositions.cpp - Where tokens are ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is computed once of positions and shared by all layers: rows of a
/// learned table, angles that heads rotate by, and what scores get by distance.
///
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/ModelBuilder.h"
#include "frontends/spec/model/RopeFrequencies.h"

#include <map>
#include <vector>

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

/// What is added to the embeddings of tokens, which are of `type`.
Value ModelBuilder::learnedPositions(RankedTensorType type) {
  Location location = at("position_embedding", "model.max_positions");
  Value table = parameters["position_embedding.weight"];
  if (takesPositions())
    return builder.create<xf::EmbeddingOp>(location, type, positions, table,
                                           Value());
  // Ranks that share a sequence look up the positions of their own rows.
  return builder.create<xf::EmbeddingOp>(
      location, tensor({sequence, model.hidden()}),
      builder.create<xf::PositionsOp>(
          location, RankedTensorType::get({sequence}, builder.getI32Type()),
          Value(), builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(1),
          builder.getI64IntegerAttr(0)),
      table, Value());
}

std::vector<double> ModelBuilder::frequenciesOf(const Model &rotary) const {
  return inverseFrequencies(rotary.rope(), ropeHeadDim(rotary),
                            spec.training().sequence_length());
}

Value ModelBuilder::buildRopeTable(const Model &rotary) {
  Location location = at("rope_table", "model.rope");
  std::vector<double> values = frequenciesOf(rotary);
  DenseF64ArrayAttr frequencies = builder.getDenseF64ArrayAttr(values);
  auto half = static_cast<int64_t>(values.size());
  if (takesPositions())
    return builder.create<xf::RopeTableAtOp>(
        location, tensor({batch, sequence, half, 2}), positions, frequencies);
  return builder.create<xf::RopeTableOp>(
      location, tensor({sequence, half, 2}), Value(), frequencies,
      builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(1),
      builder.getI64IntegerAttr(0));
}

void ModelBuilder::buildRopeTables() {
  std::map<std::vector<double>, Value> tables;
  ropeTables.clear();
  for (const ResolvedKind &each : layers.kinds()) {
    if (each.layers == 0 || !each.isRotary())
      continue;
    Value &table = tables[frequenciesOf(each.model)];
    if (!table)
      table = buildRopeTable(each.model);
    ropeTables[&each] = table;
  }
}

RankedTensorType ModelBuilder::relativeBiasType() const {
  return tensor(
      {2 * model.relative_position().max_distance() + 1, model.heads()});
}

/// The rows of the table that distances are in the buckets of.
Value ModelBuilder::buildRelativeBias(bool bothDirections) {
  if (!isRelative())
    return {};
  Location location = at("relative_bias", "model.relative_position");
  RankedTensorType type = relativeBiasType();
  Value rows = builder.create<xf::RelativeBucketsOp>(
      location, RankedTensorType::get(type.getDimSize(0), builder.getI32Type()),
      builder.getI64IntegerAttr(model.relative_position().buckets()),
      builder.getI64IntegerAttr(model.relative_position().max_distance()),
      bothDirections ? builder.getUnitAttr() : UnitAttr());
  return builder.create<xf::EmbeddingOp>(
      location, type, rows, parameters["relative_position.weight"], Value());
}
