//===- SaveCheckpoint.cpp - Writes an iteration ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/JsonLines.h"
#include "runtime/checkpoint/Checkpoint.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::checkpoint;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string checkpoint::iterationFolder(const std::string &dir, uint64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "iter_%07llu", (unsigned long long)step);
  return dir + "/" + name;
}

CheckpointTensor checkpoint::wholeTensor(TensorSpec spec,
                                         std::span<const uint8_t> bytes) {
  TensorSlice slice{wholeOf(spec.shape), bytesInMemory(bytes)};
  return {std::move(spec), {std::move(slice)}};
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

static Status folderError(const std::string &path, const char *action,
                          int error) {
  std::string text = path + ": cannot " + action + ": " + errnoMessage(error);
  return error == ENOSPC || error == EDQUOT ? resourceExhausted(text)
                                            : invalidArgument(text);
}

static Status syncFolder(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return folderError(path, "open", errno);
  int error = ::fsync(descriptor) ? errno : 0;
  ::close(descriptor);
  return error ? folderError(path, "sync", error) : okStatus();
}

namespace {
/// A folder beside its final place, removed unless it takes that place.
class NewFolder {
public:
  static StatusOr<NewFolder> create(const std::string &path) {
    fs::path final(path);
    NewFolder folder(
        path, (final.parent_path() / ("." + final.filename().string() +
                                      ".tmp-" + std::to_string(::getpid())))
                  .string());
    std::error_code ignored;
    fs::remove_all(folder.temporary, ignored);
    if (::mkdir(folder.temporary.c_str(), 0777)) {
      int error = errno;
      folder.temporary.clear();
      return folderError(path, "create", error);
    }
    return folder;
  }

  NewFolder(NewFolder &&other) noexcept
      : path(std::move(other.path)),
        temporary(std::exchange(other.temporary, "")) {}
  NewFolder &operator=(NewFolder &&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    if (!temporary.empty())
      fs::remove_all(temporary, ignored);
  }

  std::string operator/(const char *name) const {
    return temporary + "/" + name;
  }

  /// Makes the content durable and takes the final name. What had that name
  /// is exchanged with this folder, in one step where the file system can, and
  /// removed by the destructor.
  Status commit() {
    HOCKET_RETURN_IF_ERROR(syncFolder(temporary));
    const char *from = temporary.c_str(), *to = path.c_str();
    if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
      return syncParent();
    // There is nothing to exchange with, or the file system cannot.
    std::string old = temporary + ".old";
    bool moved = ::rename(to, old.c_str()) == 0;
    if (::rename(from, to)) {
      int error = errno;
      if (moved)
        ::rename(old.c_str(), to);
      return folderError(path, "create", error);
    }
    temporary = moved ? old : "";
    return syncParent();
  }

private:
  Status syncParent() const {
    return syncFolder(fs::path(path).parent_path().string());
  }

  NewFolder(std::string path, std::string temporary)
      : path(std::move(path)), temporary(std::move(temporary)) {}
  std::string path, temporary;
};
} // namespace

//===----------------------------------------------------------------------===//
// Content
//===----------------------------------------------------------------------===//

static Status checkSlices(const CheckpointTensor &tensor) {
  auto wrong = [&](const std::string &what) {
    return internalError("tensor '" + tensor.spec.key.text() + "': " + what);
  };
  uint64_t covered = 0;
  for (const TensorSlice &slice : tensor.slices) {
    if (!isInside(slice.bounds, tensor.spec.shape))
      return wrong("slice " + sliceText(slice.bounds) + " is not inside " +
                   shapeText(tensor.spec.shape));
    covered += elementsOf(slice.bounds);
  }
  if (covered != elementsOf(wholeOf(tensor.spec.shape)))
    return wrong("its slices have " + std::to_string(covered) +
                 " elements, not those of " + shapeText(tensor.spec.shape));
  return okStatus();
}

/// Key of slice `index` in its file.
static std::string keyInFile(const CheckpointTensor &tensor, size_t index) {
  std::string key = tensor.spec.key.text();
  return tensor.slices.size() == 1 ? key : key + "#" + std::to_string(index);
}

/// Writes the weights, or all optimizer state, as one file; adds it to the
/// manifest.
static Status writeTensors(const NewFolder &folder, const char *name,
                           const std::vector<const CheckpointTensor *> &tensors,
                           Json &manifest) {
  std::vector<TensorToWrite> toWrite;
  for (const CheckpointTensor *tensor : tensors) {
    HOCKET_RETURN_IF_ERROR(checkSlices(*tensor));
    Json entry;
    entry["name"] = tensor->spec.key.name;
    entry["slot"] = tensor->spec.key.slot;
    entry["dtype"] = elementName(tensor->spec.type);
    entry["shape"] = tensor->spec.shape;
    entry["slices"] = Json::array();
    for (size_t i = 0; i < tensor->slices.size(); ++i) {
      const TensorSlice &slice = tensor->slices[i];
      std::string key = keyInFile(*tensor, i);
      entry["slices"].push_back({{"file", name},
                                 {"key", key},
                                 {"offset", slice.bounds.offset},
                                 {"size", slice.bounds.size}});
      toWrite.push_back(
          {key, tensor->spec.type, slice.bounds.size, slice.bytes});
    }
    manifest["tensors"].push_back(std::move(entry));
  }
  HOCKET_ASSIGN_OR_RETURN(WrittenFile written,
                          writeSafetensors(folder / name, std::move(toWrite)));
  manifest["files"].push_back(
      {{"name", name}, {"bytes", written.bytes}, {"sha256", written.sha256}});
  return okStatus();
}

static Json describe(const RunState &state) {
  Json manifest;
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
  return manifest;
}

Status
checkpoint::saveCheckpoint(const std::string &dir, const RunState &state,
                           const std::vector<CheckpointTensor> &tensors) {
  std::vector<const CheckpointTensor *> weights, slots;
  for (const CheckpointTensor &tensor : tensors)
    (tensor.spec.key.slot.empty() ? weights : slots).push_back(&tensor);
  HOCKET_RETURN_IF_ERROR(makeDirectories(dir));
  HOCKET_ASSIGN_OR_RETURN(NewFolder folder,
                          NewFolder::create(iterationFolder(dir, state.step)));
  Json manifest = describe(state);
  HOCKET_RETURN_IF_ERROR(
      writeTensors(folder, "model.safetensors", weights, manifest));
  if (!slots.empty())
    HOCKET_RETURN_IF_ERROR(
        writeTensors(folder, "optimizer.safetensors", slots, manifest));
  HOCKET_RETURN_IF_ERROR(writeFileAtomically(folder / "manifest.json",
                                             toJsonText(manifest, 1) + "\n"));
  HOCKET_RETURN_IF_ERROR(folder.commit());
  return writeFileAtomically(dir + "/latest_checkpointed_iteration.txt",
                             std::to_string(state.step) + "\n");
}
