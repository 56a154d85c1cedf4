//===- HuggingFaceFolder.cpp - The tensors of a folder --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonDefect.h"
#include "runtime/checkpoint/ManifestReader.h"
#include "runtime/checkpoint/hugging_face/HuggingFace.h"

#include <filesystem>
#include <simdjson.h>

using namespace hocket;
using namespace hocket::checkpoint;
namespace dom = simdjson::dom;

static constexpr uint64_t indexLimit = uint64_t(64) << 20;

Status HuggingFaceFolder::openFile(const std::string &name) {
  HOCKET_ASSIGN_OR_RETURN(SafetensorsFile file,
                          SafetensorsFile::open(folder + "/" + name));
  for (const TensorInfo &info : file.tensors())
    if (auto [other, fresh] = fileOf.emplace(info.name, files.size()); !fresh)
      return dataLoss(file.path() + ": tensor '" + info.name + "' is in " +
                      files[other->second].path() + " too");
  files.push_back(std::move(file));
  return okStatus();
}

namespace {
/// The weight_map of an index, by file.
using WeightMap = std::map<std::string, std::vector<std::string>>;
} // namespace

static StatusOr<WeightMap> readWeightMap(const std::string &path) {
  auto wrong = [&](const std::string &what) {
    return dataLoss(path + ": " + what);
  };
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(path, indexLimit));
  dom::parser parser;
  simdjson::padded_string padded(text);
  dom::element root;
  if (auto error = parser.parse(padded).get(root)) {
    if (auto defect = findJsonDefect(text))
      return wrong("byte " + std::to_string(defect->offset) + ": expected " +
                   defect->expected);
    return wrong(simdjson::error_message(error));
  }
  dom::object weights;
  if (root.at_key("weight_map").get(weights))
    return wrong("expected an object under 'weight_map'");
  WeightMap map;
  for (auto field : weights) {
    std::string_view file;
    if (field.value.get(file))
      return wrong("expected a file name under '" + std::string(field.key) +
                   "'");
    if (!isPlainFileName(file))
      return wrong("expected a file name without folders, found '" +
                   std::string(file) + "'");
    map[std::string(file)].emplace_back(field.key);
  }
  return map;
}

Status HuggingFaceFolder::openIndex(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(WeightMap map, readWeightMap(path));
  for (const auto &[file, names] : map) {
    HOCKET_RETURN_IF_ERROR(openFile(file));
    for (const std::string &name : names)
      if (!files.back().find(name))
        return dataLoss(path + ": tensor '" + name + "' is not in " + file);
  }
  return okStatus();
}

StatusOr<HuggingFaceFolder> HuggingFaceFolder::open(const std::string &dir) {
  HuggingFaceFolder result;
  result.folder = dir;
  std::string single = "model.safetensors";
  std::string index = dir + "/model.safetensors.index.json";
  std::error_code error;
  if (std::filesystem::exists(dir + "/" + single, error)) {
    HOCKET_RETURN_IF_ERROR(result.openFile(single));
    return result;
  }
  if (!std::filesystem::exists(index, error))
    return notFound(dir + ": holds neither model.safetensors nor "
                          "model.safetensors.index.json");
  HOCKET_RETURN_IF_ERROR(result.openIndex(index));
  return result;
}

HuggingFaceFolder::Found
HuggingFaceFolder::find(const std::string &name) const {
  auto found = fileOf.find(name);
  if (found == fileOf.end())
    return {};
  const SafetensorsFile &file = files[found->second];
  return {&file, file.find(name)};
}

std::vector<std::string> HuggingFaceFolder::names() const {
  std::vector<std::string> result;
  for (const auto &[name, file] : fileOf)
    result.push_back(name);
  return result;
}
