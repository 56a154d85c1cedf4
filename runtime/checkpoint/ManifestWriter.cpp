//===- ManifestWriter.cpp - What a checkpoint says it holds ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ManifestWriter.h"

#include "runtime/base/File.h"
#include "runtime/base/JsonLines.h"

using namespace hocket;
using namespace hocket::checkpoint;
using Json = nlohmann::ordered_json;

ManifestWriter::ManifestWriter(const RunState &state) : step(state.step) {
  manifest["format"] = "hocket-checkpoint";
  manifest["version"] = 1;
  manifest["step"] = state.step;
  manifest["consumed_samples"] = state.consumedSamples;
  manifest["seed"] = state.seed;
  if (state.lossScale)
    manifest["loss_scale"] = {{"scale", state.lossScale->scale},
                              {"good_steps", state.lossScale->goodSteps}};
  manifest["spec"] = state.specText;
  manifest["files"] = Json::array();
  manifest["tensors"] = Json::array();
}

void ManifestWriter::addFile(const std::string &name, const WrittenFile &file) {
  manifest["files"].push_back(
      {{"name", name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
}

void ManifestWriter::beginTensor(const TensorSpec &spec) {
  Json entry;
  entry["name"] = spec.key.name;
  entry["slot"] = spec.key.slot;
  entry["dtype"] = elementName(spec.type);
  entry["shape"] = spec.shape;
  entry["slices"] = Json::array();
  manifest["tensors"].push_back(std::move(entry));
}

void ManifestWriter::addSlice(const std::string &file, const std::string &key,
                              const SliceBounds &bounds) {
  manifest["tensors"].back()["slices"].push_back({{"file", file},
                                                  {"key", key},
                                                  {"offset", bounds.offset},
                                                  {"size", bounds.size}});
}

Status ManifestWriter::commit(NewFolder &folder, const std::string &dir) {
  HOCKET_RETURN_IF_ERROR(writeFileAtomically(folder / "manifest.json",
                                             toJsonText(manifest, 1) + "\n"));
  HOCKET_RETURN_IF_ERROR(folder.commit());
  return writeFileAtomically(dir + "/latest_checkpointed_iteration.txt",
                             std::to_string(step) + "\n");
}

Status
checkpoint::checkCovered(const TensorSpec &spec,
                         const std::vector<const SliceBounds *> &slices) {
  auto wrong = [&](const std::string &what) {
    return internalError("tensor '" + spec.key.text() + "': " + what);
  };
  uint64_t covered = 0;
  for (const SliceBounds *slice : slices) {
    if (!isInside(*slice, spec.shape))
      return wrong("slice " + sliceText(*slice) + " is not inside " +
                   shapeText(spec.shape));
    covered += elementsOf(*slice);
  }
  if (covered != elementsOf(wholeOf(spec.shape)))
    return wrong("its slices have " + std::to_string(covered) +
                 " elements, not those of " + shapeText(spec.shape));
  return okStatus();
}
