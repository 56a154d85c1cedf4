//===- SafetensorsWriter.cpp - Writing safetensors ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Sha256.h"
#include "base/json/JsonDefect.h"
#include "runtime/checkpoint/Safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::checkpoint;

ByteProducer checkpoint::bytesInMemory(std::span<const uint8_t> bytes) {
  return [bytes](const ByteSink &sink) { return sink(bytes); };
}

/// Wide types first, so that every tensor is aligned; equal ones by name.
static void sortTensors(std::vector<TensorToWrite> &tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorToWrite &a, const TensorToWrite &b) {
              return a.type != b.type ? a.type > b.type : a.name < b.name;
            });
}

static Status checkNames(const std::vector<TensorToWrite> &tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const TensorToWrite &tensor : tensors)
    names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    if (i && names[i] == names[i - 1])
      return invalidArgument("two tensors are called '" + names[i] + "'");
    if (names[i] == "__metadata__")
      return invalidArgument("no tensor may be called '__metadata__'");
    if (findInvalidUtf8(names[i]) != names[i].size())
      return invalidArgument("the name of a tensor is not valid UTF-8");
  }
  return okStatus();
}

/// The length and the JSON, padded to a multiple of 8.
static StatusOr<std::string>
makeHeader(const std::vector<TensorToWrite> &tensors) {
  std::string json = R"({"__metadata__":{"format":"pt"})";
  uint64_t offset = 0;
  for (const TensorToWrite &tensor : tensors) {
    auto bytes = tensorBytes(tensor.shape, tensor.type);
    auto end = bytes ? checkedAdd(offset, *bytes) : std::nullopt;
    if (!end)
      return invalidArgument("tensor '" + tensor.name + "': shape " +
                             shapeText(tensor.shape) + " overflows 64 bits");
    nlohmann::ordered_json entry;
    entry["dtype"] = elementName(tensor.type);
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {offset, *end};
    json += "," + nlohmann::json(tensor.name).dump() + ":" + entry.dump();
    offset = *end;
  }
  json += "}";
  json.append((8 - json.size() % 8) % 8, ' ');
  uint64_t length = json.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + json;
}

StatusOr<WrittenFile>
checkpoint::writeSafetensors(const std::string &path,
                             std::vector<TensorToWrite> tensors) {
  sortTensors(tensors);
  HOCKET_RETURN_IF_ERROR(checkNames(tensors));
  HOCKET_ASSIGN_OR_RETURN(std::string header, makeHeader(tensors));
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  Sha256 digest;
  WrittenFile written;
  ByteSink sink = [&](std::span<const uint8_t> bytes) {
    digest.update(bytes.data(), bytes.size());
    written.bytes += bytes.size();
    return file.append(bytes.data(), bytes.size());
  };
  HOCKET_RETURN_IF_ERROR(
      sink({reinterpret_cast<const uint8_t *>(header.data()), header.size()}));
  for (const TensorToWrite &tensor : tensors) {
    uint64_t end = written.bytes + *tensorBytes(tensor.shape, tensor.type);
    HOCKET_RETURN_IF_ERROR(tensor.bytes(sink));
    if (written.bytes != end)
      return internalError("tensor '" + tensor.name + "' ended at byte " +
                           std::to_string(written.bytes) + " instead of " +
                           std::to_string(end));
  }
  HOCKET_RETURN_IF_ERROR(file.commit());
  written.sha256 = toHex(digest.finish());
  return written;
}
