//===- SafetensorsReader.cpp - Reading safetensors ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "base/json/JsonDefect.h"
#include "base/json/JsonMembers.h"
#include "runtime/checkpoint/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <simdjson.h>
#include <tuple>
#include <utility>

using namespace hocket;
using namespace hocket::checkpoint;
namespace dom = simdjson::dom;

static constexpr uint64_t headerLimit = 100'000'000;
static constexpr size_t metadataLimit = size_t(8) << 20;
static constexpr size_t entryLimit = size_t(16) << 10;

//===----------------------------------------------------------------------===//
// One tensor
//===----------------------------------------------------------------------===//

static Status wrong(const std::string &name, const std::string &what) {
  return dataLoss("tensor '" + name + "': " + what);
}

/// Numbers of a JSON array, or nullopt if something else is in it.
static std::optional<std::vector<uint64_t>> readNumbers(dom::element value) {
  dom::array array;
  if (value.get(array))
    return std::nullopt;
  std::vector<uint64_t> numbers;
  for (dom::element element : array) {
    uint64_t number;
    if (element.get(number))
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

static Status readType(dom::element value, TensorInfo &info) {
  std::string_view name;
  if (value.get(name))
    return wrong(info.name, "dtype: expected a string");
  // The format's names are upper case.
  auto type = parseElementType(name);
  if (!type || elementName(*type) != name)
    return wrong(info.name, "dtype: unknown type '" + std::string(name) + "'");
  info.type = *type;
  return okStatus();
}

static Status readField(std::string_view key, dom::element value,
                        TensorInfo &info) {
  if (key == "dtype")
    return readType(value, info);
  if (key != "shape" && key != "data_offsets")
    return wrong(info.name,
                 "expected dtype, shape and data_offsets, found the key '" +
                     std::string(key) + "'");
  auto numbers = readNumbers(value);
  if (!numbers)
    return wrong(info.name, std::string(key) +
                                ": expected an array of integers from 0 to "
                                "18446744073709551615");
  if (key == "shape") {
    info.shape = *std::move(numbers);
    return okStatus();
  }
  if (numbers->size() != 2 || (*numbers)[0] > (*numbers)[1])
    return wrong(info.name, "data_offsets: expected [begin, end] with begin "
                            "<= end, found " +
                                shapeText(*numbers));
  info.begin = (*numbers)[0];
  info.end = (*numbers)[1];
  return okStatus();
}

static Status checkBytes(const TensorInfo &info) {
  auto bytes = tensorBytes(info.shape, info.type);
  if (!bytes)
    return wrong(info.name,
                 "shape " + shapeText(info.shape) + " overflows 64 bits");
  if (*bytes != info.end - info.begin)
    return wrong(info.name, std::string(elementName(info.type)) + " " +
                                shapeText(info.shape) + " needs " +
                                std::to_string(*bytes) +
                                " bytes, data_offsets give " +
                                std::to_string(info.end - info.begin));
  return okStatus();
}

static StatusOr<TensorInfo> readTensor(std::string_view name,
                                       dom::element value) {
  TensorInfo info;
  info.name = name;
  dom::object object;
  if (value.get(object))
    return wrong(info.name, "expected an object");
  std::set<std::string_view> seen;
  for (auto field : object) {
    if (!seen.insert(field.key).second)
      return wrong(info.name,
                   "the key '" + std::string(field.key) + "' appears twice");
    HOCKET_RETURN_IF_ERROR(readField(field.key, field.value, info));
  }
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!seen.count(key))
      return wrong(info.name, std::string("the key '") + key + "' is missing");
  HOCKET_RETURN_IF_ERROR(checkBytes(info));
  return info;
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

static Status readMetadata(dom::element value,
                           std::map<std::string, std::string> &metadata) {
  dom::object object;
  if (value.get(object))
    return dataLoss("__metadata__: expected an object");
  for (auto field : object) {
    std::string_view text;
    if (field.value.get(text))
      return dataLoss("__metadata__: expected a string under '" +
                      std::string(field.key) + "'");
    if (!metadata.emplace(field.key, text).second)
      return dataLoss("__metadata__: the key '" + std::string(field.key) +
                      "' appears twice");
  }
  return okStatus();
}

/// Tensors must cover [0, dataBytes) one after the other.
static Status checkCoverage(const std::vector<TensorInfo> &tensors,
                            uint64_t dataBytes) {
  uint64_t end = 0;
  for (const TensorInfo &info : tensors) {
    if (info.begin != end)
      return wrong(info.name, std::string(info.begin < end
                                              ? "overlaps the tensor before it"
                                              : "leaves a gap") +
                                  ": begins at byte " +
                                  std::to_string(info.begin) + ", expected " +
                                  std::to_string(end));
    end = info.end;
  }
  if (end != dataBytes)
    return dataLoss("the tensors end at byte " + std::to_string(end) +
                    ", the data has " + std::to_string(dataBytes) + " bytes");
  return okStatus();
}

static Status notJson(std::string_view header, simdjson::error_code error) {
  if (auto defect = findJsonDefect(header))
    return dataLoss("header: byte " + std::to_string(defect->offset) +
                    ": expected " + defect->expected);
  return dataLoss(std::string("header: ") + simdjson::error_message(error));
}

/// Reads one member of the header, parsed as an object by itself.
static Status readMember(dom::object alone, SafetensorsHeader &header,
                         bool &hasMetadata) {
  auto field = *alone.begin();
  if (field.key != "__metadata__") {
    HOCKET_ASSIGN_OR_RETURN(TensorInfo info,
                            readTensor(field.key, field.value));
    header.tensors.push_back(std::move(info));
    return okStatus();
  }
  if (std::exchange(hasMetadata, true))
    return dataLoss("header: the name '__metadata__' appears twice");
  return readMetadata(field.value, header.metadata);
}

static Status checkSize(const JsonMembers::Entry &entry) {
  bool isMetadata = entry.key == "__metadata__";
  size_t limit = isMetadata ? metadataLimit : entryLimit;
  if (entry.member.size() <= limit)
    return okStatus();
  return dataLoss((isMetadata ? "__metadata__" : "the entry of a tensor") +
                  std::string(": has ") + formatBytes(entry.member.size()) +
                  ", at most " + formatBytes(limit) + " are expected");
}

/// Sorts by bytes, then makes the index by name.
static Status sortTensors(SafetensorsHeader &header) {
  std::vector<TensorInfo> &tensors = header.tensors;
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo &a, const TensorInfo &b) {
              return std::tie(a.begin, a.end, a.name) <
                     std::tie(b.begin, b.end, b.name);
            });
  header.byName.resize(tensors.size());
  std::iota(header.byName.begin(), header.byName.end(), 0);
  std::sort(header.byName.begin(), header.byName.end(),
            [&](uint32_t a, uint32_t b) {
              return tensors[a].name < tensors[b].name;
            });
  for (size_t i = 1; i < tensors.size(); ++i)
    if (const std::string &name = tensors[header.byName[i]].name;
        name == tensors[header.byName[i - 1]].name)
      return dataLoss("header: the name '" + name + "' appears twice");
  return okStatus();
}

StatusOr<SafetensorsHeader>
checkpoint::parseSafetensorsHeader(std::string_view header,
                                   uint64_t dataBytes) {
  if (!header.starts_with('{'))
    return dataLoss("header: expected '{' at its first byte");
  SafetensorsHeader result;
  JsonMembers members(header);
  dom::parser parser;
  std::string text;
  bool hasMetadata = false;
  while (auto entry = members.next()) {
    HOCKET_RETURN_IF_ERROR(checkSize(*entry));
    text.assign("{").append(entry->member).append("}");
    dom::object alone;
    if (auto error = parser.parse(text).get(alone))
      return notJson(header, error);
    HOCKET_RETURN_IF_ERROR(readMember(alone, result, hasMetadata));
  }
  if (!members.isWhole())
    return notJson(header, simdjson::TAPE_ERROR);
  HOCKET_RETURN_IF_ERROR(sortTensors(result));
  HOCKET_RETURN_IF_ERROR(checkCoverage(result.tensors, dataBytes));
  return result;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// The header of `file`, as it stands there.
static StatusOr<std::string> headerText(const RandomAccessFile &file) {
  uint64_t length;
  if (file.size() < sizeof(length))
    return dataLoss(
        file.path() +
        ": expected a safetensors file of at least 8 bytes, found " +
        std::to_string(file.size()));
  HOCKET_RETURN_IF_ERROR(file.read(0, &length, sizeof(length)));
  if (length > headerLimit)
    return dataLoss(file.path() +
                    ": expected a header of at most 100000000 bytes, found " +
                    std::to_string(length));
  if (length > file.size() - sizeof(length))
    return dataLoss(file.path() + ": a header of " + std::to_string(length) +
                    " bytes passes the end of the file, which has " +
                    std::to_string(file.size()));
  std::string text(length, 0);
  HOCKET_RETURN_IF_ERROR(file.read(sizeof(length), text.data(), length));
  return text;
}

StatusOr<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(auto file, RandomAccessFile::open(path));
  HOCKET_ASSIGN_OR_RETURN(std::string text, headerText(file));
  SafetensorsFile result;
  result.filePath = path;
  result.fileBytes = file.size();
  result.dataBegin = 8 + text.size();
  auto header =
      parseSafetensorsHeader(text, result.fileBytes - result.dataBegin);
  if (!header.ok())
    return header.status().withContext(path);
  result.texts = std::move(header->metadata);
  result.infos = std::move(header->tensors);
  result.byName = std::move(header->byName);
  return result;
}

const TensorInfo *SafetensorsFile::find(const std::string &name) const {
  auto found = std::lower_bound(byName.begin(), byName.end(), name,
                                [&](uint32_t index, const std::string &wanted) {
                                  return infos[index].name < wanted;
                                });
  return found != byName.end() && infos[*found].name == name ? &infos[*found]
                                                             : nullptr;
}

StatusOr<TensorReader> SafetensorsFile::reader(const TensorInfo &tensor) const {
  HOCKET_ASSIGN_OR_RETURN(auto file, RandomAccessFile::open(filePath));
  if (file.size() != fileBytes)
    return dataLoss(filePath + ": has " + std::to_string(file.size()) +
                    " bytes now; it had " + std::to_string(fileBytes) +
                    " when its header was read");
  return TensorReader(std::move(file), dataBegin + tensor.begin,
                      dataBegin + tensor.end);
}

StatusOr<std::vector<uint8_t>>
SafetensorsFile::read(const TensorInfo &tensor) const {
  HOCKET_ASSIGN_OR_RETURN(TensorReader bytes, reader(tensor));
  std::vector<uint8_t> all(tensor.end - tensor.begin);
  HOCKET_RETURN_IF_ERROR(bytes.read(0, all));
  return all;
}

Status TensorReader::read(uint64_t offset, std::span<uint8_t> out) {
  constexpr uint64_t most = uint64_t(4) << 20;
  if (out.size() > end - begin || offset > end - begin - out.size())
    return internalError(file.path() +
                         ": bytes beyond a tensor's were asked for");
  uint64_t from = begin + offset;
  if (out.size() >= most)
    return file.read(from, out.data(), out.size());
  if (from < windowBegin || from + out.size() > windowBegin + window.size()) {
    window.resize(std::min(most, end - from));
    windowBegin = from;
    HOCKET_RETURN_IF_ERROR(file.read(from, window.data(), window.size()));
  }
  std::copy_n(window.begin() + ptrdiff_t(from - windowBegin), out.size(),
              out.begin());
  return okStatus();
}
