//===- RunTensors.cpp - What a run keeps, by global tensor ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/values/RunTensors.h"

#include <map>
#include <optional>

using namespace hocket;
using namespace hocket::checkpoint;
using program::ParameterSlice;

static std::optional<ElementType> elementType(program::DType dtype) {
  switch (dtype) {
  case program::F32:
    return ElementType::F32;
  case program::BF16:
    return ElementType::BF16;
  case program::F16:
    return ElementType::F16;
  case program::I32:
    return ElementType::I32;
  case program::F64:
    return ElementType::F64;
  case program::U8:
    return ElementType::U8;
  default:
    return std::nullopt;
  }
}

StatusOr<TensorSpec> hocket::tensorOf(const program::Program &program,
                                      const ParameterSlice &slice) {
  const program::Parameter &parameter =
      program.parameters(int(slice.parameter()));
  TensorSpec spec;
  spec.key.name = parameter.name();
  if (isState(parameter))
    spec.key = {"state", parameter.name().substr(statePrefix.size())};
  program::DType dtype = parameter.dtype();
  spec.shape.assign(parameter.shape().begin(), parameter.shape().end());
  for (const auto &slot : parameter.slots())
    if (slot.name() == slice.state()) {
      spec.key.slot = slot.name();
      dtype = slot.dtype();
      spec.shape.assign(slot.shape().begin(), slot.shape().end());
    }
  std::optional<ElementType> type = elementType(dtype);
  if (!type)
    return internalError(spec.key.text() + ": cannot be saved");
  spec.type = *type;
  return spec;
}

StatusOr<std::vector<SavedTensor>>
hocket::savedTensors(const program::Program &program) {
  std::map<TensorKey, SavedTensor> tensors;
  RankPlaces places(program);
  for (const program::Role &role : program.roles())
    for (const ParameterSlice &slice : role.slices()) {
      HOCKET_ASSIGN_OR_RETURN(TensorSpec spec, tensorOf(program, slice));
      SavedTensor &tensor = tensors[spec.key];
      tensor.spec = spec;
      for (uint32_t rank : role.ranks()) {
        RankSlice place = RankSlice::of(program, places, slice, rank);
        if (place.saves && !place.isEmpty())
          tensor.slices.push_back({rank, insideOf(place)});
      }
    }
  std::vector<SavedTensor> sorted;
  for (auto &[key, tensor] : tensors)
    sorted.push_back(std::move(tensor));
  return sorted;
}
