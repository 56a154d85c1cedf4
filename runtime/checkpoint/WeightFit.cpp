//===- WeightFit.cpp - Whether weights fit a model ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/WeightFit.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace hocket;
using namespace hocket::checkpoint;

//===----------------------------------------------------------------------===//
// Names, shapes and types
//===----------------------------------------------------------------------===//

/// What keeps `stored` from being `wanted`; empty: nothing.
static std::string misfitOf(const TensorSpec &wanted,
                            const TensorSpec &stored) {
  if (stored.shape != wanted.shape)
    return "has shape " + shapeText(stored.shape) + ", expected " +
           shapeText(wanted.shape);
  if (stored.type != wanted.type && !toFloats({}, stored.type))
    return "has type " + std::string(elementName(stored.type)) +
           ", expected F32, F16, BF16 or F64";
  return "";
}

bool checkpoint::isOfClassHead(const std::string &name) {
  return name.starts_with("pooler.") || name.starts_with("class_head.");
}

Status checkpoint::expectWeights(const std::string &place,
                                 std::span<const TensorSpec> wanted,
                                 std::span<const TensorSpec> stored) {
  constexpr size_t most = 5;
  std::map<TensorKey, const TensorSpec *> left;
  for (const TensorSpec &spec : stored)
    left.emplace(spec.key, &spec);
  size_t count = 0;
  std::string text;
  auto note = [&](const TensorSpec &spec, const std::string &what) {
    if (what.empty())
      return;
    if (count++ < most)
      text +=
          (text.empty() ? "tensor '" : "; '") + spec.key.text() + "' " + what;
  };
  for (const TensorSpec &spec : wanted) {
    auto found = left.find(spec.key);
    note(spec,
         found == left.end() ? "is missing" : misfitOf(spec, *found->second));
    if (found != left.end())
      left.erase(found);
  }
  for (const auto &[key, spec] : left)
    note(*spec, "is not part of this model");
  if (count == 0)
    return okStatus();
  if (count > most)
    text += "; and " + std::to_string(count - most) + " more";
  return invalidArgument(place + ": " + text);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static Status convert(std::span<const uint8_t> from, ElementType fromType,
                      const std::string &name, ElementType type,
                      std::span<uint8_t> out) {
  if (fromType == type) {
    std::copy(from.begin(), from.end(), out.begin());
    return okStatus();
  }
  auto floats = toFloats(from, fromType);
  auto converted = floats ? fromFloats(*floats, type) : std::nullopt;
  if (!converted)
    return invalidArgument("tensor '" + name + "' holds a number that " +
                           std::string(elementName(type)) + " cannot hold");
  std::copy(converted->begin(), converted->end(), out.begin());
  return okStatus();
}

/// Copies what `part` shares with `wanted`, while its bytes come by in order.
static Status takeShared(const TensorSlice &part, const SliceBounds &wanted,
                         uint64_t each, std::span<uint8_t> out) {
  std::vector<SharedRun> runs;
  HOCKET_RETURN_IF_ERROR(
      forEachShared(part.bounds, wanted, each, [&](const SharedRun &run) {
        runs.push_back(run);
        return okStatus();
      }));
  uint64_t at = 0;
  size_t next = 0; // The first run that is not yet complete.
  return part.bytes([&](std::span<const uint8_t> bytes) {
    uint64_t end = at + bytes.size();
    for (size_t i = next; i < runs.size() && runs[i].from < end; ++i) {
      const SharedRun &run = runs[i];
      uint64_t first = std::max(run.from, at);
      uint64_t last = std::min(run.from + run.bytes, end);
      if (first < last)
        std::memcpy(&out[run.to + (first - run.from)], &bytes[first - at],
                    last - first);
      if (last == run.from + run.bytes)
        next = i + 1;
    }
    at = end;
    return okStatus();
  });
}

Status checkpoint::readConverted(const CheckpointTensor &tensor,
                                 const SliceBounds &slice, ElementType type,
                                 std::span<uint8_t> out) {
  uint64_t each = elementBytes(tensor.spec.type);
  std::vector<uint8_t> bytes(elementsOf(slice) * each);
  for (const TensorSlice &part : tensor.slices)
    if (intersect(part.bounds, slice))
      HOCKET_RETURN_IF_ERROR(takeShared(part, slice, each, bytes));
  return convert(bytes, tensor.spec.type, tensor.spec.key.text(), type, out);
}

Status checkpoint::readConverted(const Checkpoint &checkpoint,
                                 const TensorSpec &stored,
                                 const SliceBounds &slice, ElementType type,
                                 std::span<uint8_t> out) {
  if (stored.type == type)
    return checkpoint.read(stored, slice, out);
  std::vector<uint8_t> bytes(elementsOf(slice) * elementBytes(stored.type));
  HOCKET_RETURN_IF_ERROR(checkpoint.read(stored, slice, bytes));
  return convert(bytes, stored.type, stored.key.text(), type, out);
}
