//===- ManifestReader.cpp - What a checkpoint holds -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ManifestReader.h"

#include "base/Format.h"
#include "base/Sha256.h"
#include "base/json/JsonDefect.h"
#include "base/json/JsonMembers.h"
#include "runtime/checkpoint/ManifestWriter.h"

#include <algorithm>
#include <type_traits>

using namespace hocket;
using namespace hocket::checkpoint;
namespace dom = simdjson::dom;

static constexpr size_t headLimit = size_t(16) << 20;
static constexpr size_t sliceLimit = 4096;

bool checkpoint::isPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Status ManifestReader::wrong(const std::string &what) const {
  return dataLoss(path + ": " + what);
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

template <typename T> static const char *expectedKind() {
  if constexpr (std::is_same_v<T, std::string>)
    return "a string";
  else if constexpr (std::is_same_v<T, uint64_t>)
    return "an integer of at least 0";
  else if constexpr (std::is_same_v<T, double>)
    return "a number";
  else if constexpr (std::is_same_v<T, dom::array>)
    return "an array";
  else
    return "an object";
}

template <typename T>
Status ManifestReader::get(Element object, const char *key, T &value) const {
  auto expected = [&] {
    return wrong(std::string("expected ") + expectedKind<T>() + " under '" +
                 key + "'");
  };
  dom::element element;
  if (object.at_key(key).get(element))
    return expected();
  if constexpr (std::is_same_v<T, std::string>) {
    std::string_view text;
    if (element.get(text))
      return expected();
    value = text;
  } else if (element.get(value)) {
    return expected();
  }
  return okStatus();
}

Status ManifestReader::numbers(Element object, const char *key,
                               std::vector<uint64_t> &values) const {
  dom::array array;
  HOCKET_RETURN_IF_ERROR(get(object, key, array));
  for (dom::element element : array) {
    uint64_t number;
    if (element.get(number))
      return wrong(std::string("expected integers of at least 0 under '") +
                   key + "'");
    values.push_back(number);
  }
  return okStatus();
}

Status ManifestReader::readState(Element root) {
  std::string format;
  HOCKET_RETURN_IF_ERROR(get(root, "format", format));
  if (format != "hocket-checkpoint")
    return wrong("expected the format 'hocket-checkpoint', found '" + format +
                 "'");
  HOCKET_RETURN_IF_ERROR(get(root, "version", version));
  if (version != 1 && version != 2)
    return wrong("expected version 1 or 2, found " + std::to_string(version));
  RunState &state = checkpoint.run;
  HOCKET_RETURN_IF_ERROR(get(root, "step", state.step));
  HOCKET_RETURN_IF_ERROR(get(root, "consumed_samples", state.consumedSamples));
  HOCKET_RETURN_IF_ERROR(get(root, "seed", state.seed));
  HOCKET_RETURN_IF_ERROR(get(root, "spec", state.specText));
  dom::element scale;
  if (root.at_key("loss_scale").get(scale))
    return okStatus();
  state.lossScale.emplace();
  HOCKET_RETURN_IF_ERROR(get(scale, "scale", state.lossScale->scale));
  return get(scale, "good_steps", state.lossScale->goodSteps);
}

//===----------------------------------------------------------------------===//
// Files and tensors
//===----------------------------------------------------------------------===//

static StatusOr<std::string> digestOf(const RandomAccessFile &file) {
  Sha256 digest;
  std::vector<uint8_t> chunk(std::min(file.size(), uint64_t(1) << 20));
  for (uint64_t at = 0; at < file.size(); at += chunk.size()) {
    uint64_t bytes = std::min<uint64_t>(chunk.size(), file.size() - at);
    HOCKET_RETURN_IF_ERROR(file.read(at, chunk.data(), bytes));
    digest.update(chunk.data(), bytes);
  }
  return toHex(digest.finish());
}

Status ManifestReader::readFile(Element entry) {
  std::string name, digest;
  uint64_t bytes;
  HOCKET_RETURN_IF_ERROR(get(entry, "name", name));
  HOCKET_RETURN_IF_ERROR(get(entry, "bytes", bytes));
  HOCKET_RETURN_IF_ERROR(get(entry, "sha256", digest));
  if (!isPlainFileName(name))
    return wrong("expected a file name without folders, found '" + name + "'");
  if (fileNumbers.count(name))
    return wrong("the file '" + name + "' appears twice");
  std::string full = checkpoint.folder + "/" + name;
  HOCKET_ASSIGN_OR_RETURN(auto raw, RandomAccessFile::open(full));
  if (raw.size() != bytes)
    return dataLoss(full + ": has " + std::to_string(raw.size()) +
                    " bytes, the manifest says " + std::to_string(bytes));
  bool isSkipped = options.skipOptimizer && name.starts_with("optimizer");
  if (options.verifyDigests && !isSkipped) {
    HOCKET_ASSIGN_OR_RETURN(std::string found, digestOf(raw));
    if (found != digest)
      return dataLoss(full + ": its SHA-256 is not the manifest's: the file is "
                             "damaged");
  }
  HOCKET_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(full));
  fileNumbers.emplace(std::move(name), checkpoint.files.size());
  checkpoint.files.push_back(std::move(file));
  return okStatus();
}

Status ManifestReader::readSlice(Element entry,
                                 Checkpoint::StoredTensor &tensor) {
  std::string fileName, key, name = tensor.spec.key.text();
  Checkpoint::StoredSlice slice;
  HOCKET_RETURN_IF_ERROR(get(entry, "file", fileName));
  HOCKET_RETURN_IF_ERROR(get(entry, "key", key));
  HOCKET_RETURN_IF_ERROR(numbers(entry, "offset", slice.bounds.offset));
  HOCKET_RETURN_IF_ERROR(numbers(entry, "size", slice.bounds.size));
  auto found = fileNumbers.find(fileName);
  if (found == fileNumbers.end())
    return wrong("tensor '" + name + "': the file '" + fileName +
                 "' is not in the manifest");
  slice.file = found->second;
  const SafetensorsFile &file = checkpoint.files[slice.file];
  slice.info = file.find(key);
  if (!slice.info)
    return wrong("tensor '" + name + "': '" + key + "' is not in " + fileName);
  if (!isInside(slice.bounds, tensor.spec.shape))
    return wrong("tensor '" + name + "': a slice is not inside " +
                 shapeText(tensor.spec.shape));
  if (slice.info->type != tensor.spec.type ||
      slice.info->shape != slice.bounds.size)
    return wrong("tensor '" + name + "': expected " +
                 std::string(elementName(tensor.spec.type)) + " " +
                 shapeText(slice.bounds.size) + ", found " +
                 std::string(elementName(slice.info->type)) + " " +
                 shapeText(slice.info->shape) + " in " + fileName);
  tensor.slices.push_back(std::move(slice));
  return okStatus();
}

Status
ManifestReader::checkCoverage(const Checkpoint::StoredTensor &tensor) const {
  std::string name = "tensor '" + tensor.spec.key.text() + "': ";
  if (tensor.slices.size() > sliceLimit)
    return wrong(name + "expected at most 4096 slices, found " +
                 std::to_string(tensor.slices.size()));
  uint64_t covered = 0;
  for (size_t i = 0; i < tensor.slices.size(); ++i) {
    covered += elementsOf(tensor.slices[i].bounds);
    for (size_t k = 0; k < i; ++k)
      if (intersect(tensor.slices[i].bounds, tensor.slices[k].bounds))
        return wrong(name + "slices " + std::to_string(k) + " and " +
                     std::to_string(i) + " overlap");
  }
  if (covered != elementsOf(wholeOf(tensor.spec.shape)))
    return wrong(name + "its slices leave a gap");
  return okStatus();
}

Status ManifestReader::readTensor(Element entry) {
  Checkpoint::StoredTensor tensor;
  std::string type;
  HOCKET_RETURN_IF_ERROR(get(entry, "name", tensor.spec.key.name));
  HOCKET_RETURN_IF_ERROR(get(entry, "slot", tensor.spec.key.slot));
  HOCKET_RETURN_IF_ERROR(get(entry, "dtype", type));
  HOCKET_RETURN_IF_ERROR(numbers(entry, "shape", tensor.spec.shape));
  std::string name = "tensor '" + tensor.spec.key.text() + "': ";
  auto parsed = parseElementType(type);
  if (!parsed)
    return wrong(name + "unknown type '" + type + "'");
  tensor.spec.type = *parsed;
  if (!tensorBytes(tensor.spec.shape, tensor.spec.type))
    return wrong(name + "shape " + shapeText(tensor.spec.shape) +
                 " overflows 64 bits");
  dom::array slices;
  HOCKET_RETURN_IF_ERROR(get(entry, "slices", slices));
  for (dom::element slice : slices)
    HOCKET_RETURN_IF_ERROR(readSlice(slice, tensor));
  HOCKET_RETURN_IF_ERROR(checkCoverage(tensor));
  checkpoint.stored.push_back(std::move(tensor));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

/// Says where the text is wrong, or else the reason.
Status ManifestReader::notJson(const char *reason) const {
  if (auto defect = findJsonDefect(text))
    return wrong("byte " + std::to_string(defect->offset) + ": expected " +
                 defect->expected);
  return wrong(reason);
}

Status ManifestReader::split(Parts &parts) const {
  JsonMembers members(text);
  while (auto member = members.next()) {
    auto take = [&](std::string_view &part) {
      bool isFirst = part.empty();
      part = member->value;
      return isFirst
                 ? okStatus()
                 : wrong("'" + std::string(member->key) + "' appears twice");
    };
    if (!parts.digest.empty())
      return wrong("expected nothing after 'sha256', found '" +
                   std::string(member->key) + "'");
    if (member->key == "files") {
      HOCKET_RETURN_IF_ERROR(take(parts.files));
    } else if (member->key == "tensors") {
      HOCKET_RETURN_IF_ERROR(take(parts.tensors));
    } else if (member->key == "sha256") {
      parts.digest = member->value;
      parts.digestAt = size_t(member->key.data() - text.data()) - 1;
    } else {
      parts.head += parts.head.empty() ? "{\"" : ",\"";
      parts.head.append(member->key).append("\":").append(member->value);
      if (parts.head.size() > headLimit)
        return wrong("more than " + formatBytes(headLimit) +
                     " are neither of files nor of tensors");
    }
  }
  parts.head += parts.head.empty() ? "{}" : "}";
  return members.isObject() && members.isWhole()
             ? okStatus()
             : notJson("expected an object");
}

Status ManifestReader::checkDigest(const Parts &parts) const {
  if (version == 1)
    return okStatus();
  if (parts.digest.empty())
    return wrong("expected a digest under 'sha256' at the end");
  std::string expected =
      "\"" +
      toHex(Sha256::of(std::string_view(text).substr(0, parts.digestAt))) +
      "\"";
  if (parts.digest != expected)
    return wrong("its SHA-256 is not that of its content: it is damaged, or "
                 "was edited");
  return okStatus();
}

/// Calls read() for each element of an array.
Status ManifestReader::eachEntry(std::string_view array, const char *key,
                                 Status (ManifestReader::*read)(Element)) {
  JsonMembers entries(array);
  if (!entries.isArray())
    return wrong(std::string("expected an array under '") + key + "'");
  dom::parser parser;
  while (auto entry = entries.next()) {
    if (entry->value.size() > manifestEntryLimit)
      return wrong(std::string("an entry under '") + key + "' has " +
                   formatBytes(entry->value.size()) + ", at most " +
                   formatBytes(manifestEntryLimit) + " are expected");
    dom::element element;
    if (auto error =
            parser.parse(entry->value.data(), entry->value.size()).get(element))
      return notJson(simdjson::error_message(error));
    HOCKET_RETURN_IF_ERROR((this->*read)(element));
  }
  return entries.isWhole() ? okStatus() : notJson("expected an array");
}

Status ManifestReader::read() {
  HOCKET_ASSIGN_OR_RETURN(text, hocket::readFile(path, manifestLimit));
  Parts parts;
  HOCKET_RETURN_IF_ERROR(split(parts));
  dom::parser parser;
  dom::element root;
  if (auto error = parser.parse(parts.head).get(root))
    return notJson(simdjson::error_message(error));
  HOCKET_RETURN_IF_ERROR(readState(root));
  HOCKET_RETURN_IF_ERROR(checkDigest(parts));
  HOCKET_RETURN_IF_ERROR(
      eachEntry(parts.files, "files", &ManifestReader::readFile));
  HOCKET_RETURN_IF_ERROR(
      eachEntry(parts.tensors, "tensors", &ManifestReader::readTensor));
  auto &stored = checkpoint.stored;
  std::sort(stored.begin(), stored.end(), [](const auto &a, const auto &b) {
    return a.spec.key < b.spec.key;
  });
  for (size_t i = 1; i < stored.size(); ++i)
    if (stored[i].spec.key == stored[i - 1].spec.key)
      return wrong("tensor '" + stored[i].spec.key.text() + "' appears twice");
  return okStatus();
}
