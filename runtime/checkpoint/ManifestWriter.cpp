//===- ManifestWriter.cpp - What a checkpoint says it holds ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ManifestWriter.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/Sha256.h"
#include "base/json/JsonLines.h"

using namespace hocket;
using namespace hocket::checkpoint;
using Json = nlohmann::ordered_json;

ManifestWriter::ManifestWriter(const RunState &state) : step(state.step) {
  head["format"] = "hocket-checkpoint";
  head["version"] = 2;
  head["step"] = state.step;
  head["consumed_samples"] = state.consumedSamples;
  head["seed"] = state.seed;
  if (state.lossScale)
    head["loss_scale"] = {{"scale", state.lossScale->scale},
                          {"good_steps", state.lossScale->goodSteps}};
  head["spec"] = state.specText;
}

/// Adds an element to the text of an array, on a line of its own.
static void addElement(std::string &array, const Json &element) {
  array += array.empty() ? "\n  " : ",\n  ";
  array += toJsonText(element);
}

void ManifestWriter::addFile(const std::string &name, const WrittenFile &file) {
  addElement(files,
             {{"name", name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
}

void ManifestWriter::beginTensor(const TensorSpec &spec) {
  Json entry;
  entry["name"] = spec.key.name;
  entry["slot"] = spec.key.slot;
  entry["dtype"] = elementName(spec.type);
  entry["shape"] = spec.shape;
  entry["slices"] = Json::array();
  addElement(tensors, entry);
}

void ManifestWriter::addSlice(const std::string &file, const std::string &key,
                              const SliceBounds &bounds) {
  Json slice = {{"file", file},
                {"key", key},
                {"offset", bounds.offset},
                {"size", bounds.size}};
  // Before the "]}" of the tensor that was begun last.
  tensors.resize(tensors.size() - 2);
  tensors += tensors.back() == '[' ? "\n   " : ",\n   ";
  tensors += toJsonText(slice) + "]}";
}

std::string ManifestWriter::text() const {
  std::string text = toJsonText(head, 1);
  text.resize(text.size() - 2); // Without "\n}".
  text +=
      ",\n \"files\": [" + files + "],\n \"tensors\": [" + tensors + "],\n ";
  std::string digest = toHex(Sha256::of(text));
  return text + "\"sha256\": \"" + digest + "\"\n}\n";
}

Status ManifestWriter::commit(NewFolder &folder, const std::string &dir) {
  std::string path = folder / "manifest.json", content = text();
  if (content.size() > manifestLimit)
    return resourceExhausted(
        path + ": would have " + formatBytes(content.size()) + ", at most " +
        formatBytes(manifestLimit) +
        " are read; save with fewer ranks, or with tensors in fewer slices");
  HOCKET_RETURN_IF_ERROR(writeFileAtomically(path, content));
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
