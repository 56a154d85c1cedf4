//===- Checkpoint.cpp - The state of a run on disk ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/checkpoint/IterationFiles.h"
#include "runtime/checkpoint/ManifestReader.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

using namespace hocket;
using namespace hocket::checkpoint;

//===----------------------------------------------------------------------===//
// Finding an iteration
//===----------------------------------------------------------------------===//

StatusOr<uint64_t> checkpoint::latestIteration(const std::string &dir) {
  std::string path = dir + "/latest_checkpointed_iteration.txt";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    bool isOthers = std::filesystem::exists(dir + "/config.json", error);
    return notFound(dir +
                    ": holds no checkpoint: it has neither "
                    "manifest.json nor "
                    "latest_checkpointed_iteration.txt" +
                    (isOthers ? "; it is a Hugging Face folder, whose weights "
                                "`hocket train --finetune` starts from, and "
                                "of which `hocket checkpoint import " +
                                    dir + " -o RUN` makes one"
                              : ""));
  }
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(path, 64));
  uint64_t step = 0;
  auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), step);
  std::string_view rest(end, size_t(text.data() + text.size() - end));
  if (failed != std::errc() ||
      rest.find_first_not_of(" \r\n") != std::string_view::npos)
    return dataLoss(path + ": expected the number of an iteration");
  return step;
}

/// Of an iteration whose folder has no manifest, or is not there.
static Status incomplete(const std::string &dir, uint64_t step) {
  std::string name = iterationFolder(dir, step);
  std::vector<uint64_t> whole = iterationsIn(dir);
  return dataLoss(
      name + ": is no complete iteration, since it has no manifest.json; " +
      (whole.empty() ? dir + " holds no other"
                     : "the newest that is complete is " +
                           iterationFolder(dir, whole.back())));
}

StatusOr<Checkpoint> Checkpoint::open(const std::string &dir,
                                      const OpenOptions &options) {
  namespace fs = std::filesystem;
  Checkpoint result;
  result.folder = dir;
  std::error_code error;
  if (!fs::exists(dir + "/manifest.json", error)) {
    fs::path path = fs::path(dir + "/").lexically_normal().parent_path();
    if (std::optional<uint64_t> step = stepOfFolder(path.filename().string());
        step && fs::is_directory(path, error))
      return incomplete(path.parent_path().string(), *step);
    HOCKET_ASSIGN_OR_RETURN(uint64_t step, latestIteration(dir));
    result.folder = iterationFolder(dir, step);
    if (!fs::exists(result.folder + "/manifest.json", error))
      return incomplete(dir, step);
  }
  HOCKET_RETURN_IF_ERROR(ManifestReader(result, options).read());
  return result;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

const Checkpoint::StoredTensor *Checkpoint::find(const TensorKey &key) const {
  auto found =
      std::lower_bound(stored.begin(), stored.end(), key,
                       [](const StoredTensor &tensor, const TensorKey &wanted) {
                         return tensor.spec.key < wanted;
                       });
  return found != stored.end() && found->spec.key == key ? &*found : nullptr;
}

std::vector<TensorSpec> Checkpoint::tensors() const {
  std::vector<TensorSpec> specs;
  for (const StoredTensor &tensor : stored)
    specs.push_back(tensor.spec);
  return specs;
}

bool Checkpoint::contains(const TensorKey &key) const {
  return find(key) != nullptr;
}

/// What keeps the stored tensor from being `expected`.
Status Checkpoint::mismatch(const TensorSpec &expected) const {
  std::string place = folder + ": tensor '" + expected.key.text() + "' ";
  const StoredTensor *tensor = find(expected.key);
  if (!tensor)
    return invalidArgument(place + "is missing");
  if (tensor->spec.shape != expected.shape)
    return invalidArgument(place + "has shape " +
                           shapeText(tensor->spec.shape) + ", expected " +
                           shapeText(expected.shape));
  if (tensor->spec.type != expected.type)
    return invalidArgument(
        place + "has type " + std::string(elementName(tensor->spec.type)) +
        ", expected " + std::string(elementName(expected.type)));
  return okStatus();
}

/// State that some imports give beside the weights.
static bool isRouterBias(const TensorKey &key) {
  return key.name == "state" && key.slot.ends_with(".mlp.router.bias");
}

Status Checkpoint::expectTensors(const std::vector<TensorSpec> &expected,
                                 Completeness completeness) const {
  std::set<TensorKey> there;
  for (const StoredTensor &tensor : stored)
    there.insert(tensor.spec.key);
  bool hasSlots = std::any_of(there.begin(), there.end(), [](const auto &key) {
    return !key.slot.empty() && !isRouterBias(key);
  });
  std::set<TensorKey> known;
  for (const TensorSpec &spec : expected) {
    known.insert(spec.key);
    if (completeness != Completeness::Whole && !hasSlots &&
        !spec.key.slot.empty() && !there.contains(spec.key))
      continue;
    HOCKET_RETURN_IF_ERROR(mismatch(spec));
  }
  auto isOfTraining = [](const TensorKey &key) {
    return !key.slot.empty() || key.name.starts_with("state.");
  };
  for (const StoredTensor &tensor : stored)
    if (!known.count(tensor.spec.key) &&
        !(completeness == Completeness::WeightsAlone &&
          isOfTraining(tensor.spec.key)))
      return invalidArgument(folder + ": tensor '" + tensor.spec.key.text() +
                             "' is not part of this model");
  return okStatus();
}

Status Checkpoint::read(const TensorSpec &spec, const SliceBounds &slice,
                        std::span<uint8_t> out) const {
  HOCKET_RETURN_IF_ERROR(mismatch(spec));
  if (!isInside(slice, spec.shape) ||
      elementsOf(slice) * elementBytes(spec.type) != out.size())
    return internalError("tensor '" + spec.key.text() + "': slice " +
                         sliceText(slice) + " of " + shapeText(spec.shape) +
                         " does not have " + std::to_string(out.size()) +
                         " bytes");
  for (const StoredSlice &part : find(spec.key)->slices) {
    if (!intersect(part.bounds, slice))
      continue;
    HOCKET_ASSIGN_OR_RETURN(TensorReader reader,
                            files[part.file].reader(*part.info));
    HOCKET_RETURN_IF_ERROR(forEachShared(
        part.bounds, slice, elementBytes(spec.type), [&](const SharedRun &run) {
          return reader.read(run.from, out.subspan(run.to, run.bytes));
        }));
  }
  return okStatus();
}

ByteProducer Checkpoint::bytesOf(const TensorSpec &spec,
                                 const SliceBounds &slice) const {
  return [this, spec, slice](const ByteSink &sink) {
    constexpr uint64_t most = uint64_t(4) << 20;
    std::vector<uint8_t> bytes;
    uint64_t each = elementBytes(spec.type);
    for (const SliceBounds &window : windowsOf(slice, each, most)) {
      bytes.resize(elementsOf(window) * each);
      HOCKET_RETURN_IF_ERROR(read(spec, window, bytes));
      HOCKET_RETURN_IF_ERROR(sink(bytes));
    }
    return okStatus();
  };
}
