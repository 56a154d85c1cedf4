//===- RunCheckpoint.cpp - The state of an executor on disk ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/RunCheckpoint.h"

#include "runtime/program/RankPlace.h"

#include <algorithm>
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

/// Of what is kept from step to step but is no parameter.
static constexpr std::string_view statePrefix = "state.";

/// The global tensor that a slice is part of.
static StatusOr<TensorSpec> tensorOf(const program::Program &program,
                                     const ParameterSlice &slice) {
  const program::Parameter &parameter =
      program.parameters(int(slice.parameter()));
  TensorSpec spec;
  spec.key.name = parameter.name();
  if (parameter.name().starts_with(statePrefix)) // no weight of the model
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

/// What this rank holds of the tensor.
static SliceBounds boundsOf(const Executor &executor,
                            const ParameterSlice &slice) {
  // checkProgram() has seen that every slice starts somewhere.
  auto start = sliceStart(executor.program(), slice, executor.rank());
  return {start.value_or(std::vector<uint64_t>()),
          {slice.size().begin(), slice.size().end()}};
}

/// Gives a slice's bytes from the device, a few MiB at a time.
static ByteProducer bytesOnDevice(Executor &executor,
                                  const ParameterSlice &slice) {
  return [&executor, &slice](const ByteSink &sink) -> Status {
    constexpr uint64_t piece = uint64_t(4) << 20;
    uint64_t total = executor.sliceBytes(slice);
    std::vector<uint8_t> bytes;
    for (uint64_t at = 0; at < total; at += bytes.size()) {
      bytes.resize(std::min(piece, total - at));
      HOCKET_RETURN_IF_ERROR(
          executor.readSlice(slice, at, bytes.data(), bytes.size()));
      HOCKET_RETURN_IF_ERROR(sink(bytes));
    }
    return okStatus();
  };
}

Status hocket::saveRun(Executor &executor, const RunState &state,
                       const std::string &dir) {
  std::vector<CheckpointTensor> tensors;
  for (const ParameterSlice &slice : executor.role().slices()) {
    HOCKET_ASSIGN_OR_RETURN(TensorSpec spec,
                            tensorOf(executor.program(), slice));
    tensors.push_back(
        {std::move(spec),
         {{boundsOf(executor, slice), bytesOnDevice(executor, slice)}}});
  }
  return saveCheckpoint(dir, state, tensors);
}

/// Whether a checkpoint may do without this tensor.
static bool isOptional(const TensorSpec &spec) {
  return spec.key.name == "state";
}

StatusOr<RunState> hocket::loadRun(Executor &executor, const std::string &dir) {
  HOCKET_ASSIGN_OR_RETURN(Checkpoint stored, Checkpoint::open(dir));
  std::vector<TensorSpec> expected;
  for (const ParameterSlice &slice : executor.role().slices()) {
    HOCKET_ASSIGN_OR_RETURN(TensorSpec spec,
                            tensorOf(executor.program(), slice));
    if (!isOptional(spec) || stored.contains(spec.key))
      expected.push_back(std::move(spec));
  }
  HOCKET_RETURN_IF_ERROR(stored.expectTensors(expected, true));
  std::vector<uint8_t> bytes;
  for (const ParameterSlice &slice : executor.role().slices()) {
    HOCKET_ASSIGN_OR_RETURN(TensorSpec spec,
                            tensorOf(executor.program(), slice));
    if (!stored.contains(spec.key))
      continue;
    bytes.resize(executor.sliceBytes(slice));
    HOCKET_RETURN_IF_ERROR(stored.read(spec, boundsOf(executor, slice), bytes));
    HOCKET_RETURN_IF_ERROR(
        executor.writeSlice(slice, 0, bytes.data(), bytes.size()));
  }
  return stored.state();
}
