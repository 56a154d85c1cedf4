//===- Model.cpp - A model as Megatron-LM saved it ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/Model.h"

#include "base/CheckedMath.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/IterationFiles.h"
#include "runtime/megatron/Formats.h"

#include <algorithm>
#include <filesystem>
#include <utility>

using namespace hocket;
using namespace hocket::megatron;
using checkpoint::SliceBounds;
using Kind = PickleValue::Kind;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

static bool isLegacy(const std::string &dir) {
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; !error && at != end;
       at.increment(error))
    if (at->path().filename().string().starts_with("mp_rank_"))
      return true;
  return false;
}

static bool isDistributed(const std::string &dir) {
  std::error_code error;
  return fs::exists(dir + "/.metadata", error);
}

static bool isIteration(const std::string &dir) {
  return isLegacy(dir) || isDistributed(dir);
}

/// The iteration that `dir` names as its latest, or `dir` itself.
static StatusOr<std::string> findIteration(const std::string &dir) {
  constexpr uint64_t limit = 64;
  if (isIteration(dir))
    return dir;
  std::string tracker = dir + "/latest_checkpointed_iteration.txt";
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(tracker, limit));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  bool isNumber = !text.empty() && text.size() < 18 &&
                  text.find_first_not_of("0123456789") == std::string::npos;
  if (text != "release" && !isNumber)
    return dataLoss(tracker + ": expected a number or 'release'");
  std::string iteration =
      isNumber ? checkpoint::iterationFolder(dir, std::stoull(text))
               : dir + "/release";
  if (!isIteration(iteration))
    return notFound(tracker + ": names " + iteration +
                    ", which holds neither mp_rank_* nor .metadata");
  return iteration;
}

bool megatron::holdsMegatron(const std::string &dir) {
  std::error_code error;
  return isIteration(dir) ||
         (fs::exists(dir + "/latest_checkpointed_iteration.txt", error) &&
          checkpoint::iterationsIn(dir).empty());
}

StatusOr<Model> megatron::openModel(const std::string &dir) {
  auto iteration = findIteration(dir);
  if (!iteration.ok())
    return iteration.status();
  auto model = isDistributed(*iteration) ? openDistributed(*iteration)
                                         : openLegacy(*iteration);
  if (!model.ok())
    return model.status();
  model->folder = *iteration;
  for (const auto &[name, tensor] : model->tensors)
    HOCKET_RETURN_IF_ERROR(
        checkShards(tensor, *iteration + ": tensor '" + name + "'"));
  return model;
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

static Setting settingOf(const PickleValue &value) {
  switch (value.kind) {
  case Kind::None:
    return std::monostate();
  case Kind::Bool:
    return value.integer != 0;
  case Kind::Int:
    return value.integer;
  case Kind::Float:
    return value.real;
  case Kind::String:
    return value.text;
  case Kind::List:
  case Kind::Tuple: {
    SettingList list;
    for (const PickleValue *item : value.items) {
      if (!item->is(Kind::Int))
        return Other();
      list.push_back(item->integer);
    }
    return list;
  }
  default:
    return Other();
  }
}

Status megatron::readSettings(const TorchFile &file, Model &model) {
  const PickleValue &root = file.root();
  model.path = file.path();
  const PickleValue *arguments = root.find("args");
  if (!arguments || !arguments->calls("argparse Namespace") ||
      !arguments->state || !arguments->state->isMap())
    return invalidArgument(model.path +
                           ": holds no 'args', the settings that Megatron-LM "
                           "saves; it is not a checkpoint of its training");
  const PickleValue *version = root.find("checkpoint_version");
  if (version && !(version->is(Kind::Float) && version->real >= 3) &&
      !(version->is(Kind::Int) && version->integer >= 3))
    return invalidArgument(model.path + ": checkpoint_version is " +
                           describe(*version) +
                           ", and its weights lie in another order than those "
                           "of 3; load and save it with Megatron-LM");
  const PickleValue *iteration = root.find("iteration");
  if (iteration && iteration->is(Kind::Int) && iteration->integer >= 0)
    model.iteration = uint64_t(iteration->integer);
  const auto &items = arguments->state->items;
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i]->is(Kind::String))
      model.settings[items[i]->text] = settingOf(*items[i + 1]);
  return okStatus();
}

StatusOr<uint64_t> megatron::sizeSetting(const Model &model,
                                         const std::string &name,
                                         uint64_t absent) {
  auto found = model.settings.find(name);
  if (found == model.settings.end() ||
      std::holds_alternative<std::monostate>(found->second))
    return absent;
  const auto *number = std::get_if<int64_t>(&found->second);
  if (!number || *number < 0)
    return invalidArgument(model.path + ": args." + name +
                           " is no whole number from 0");
  return uint64_t(*number);
}

bool megatron::flagSetting(const Model &model, const std::string &name) {
  auto found = model.settings.find(name);
  const bool *flag = found == model.settings.end()
                         ? nullptr
                         : std::get_if<bool>(&found->second);
  return flag && *flag;
}

//===----------------------------------------------------------------------===//
// Shards
//===----------------------------------------------------------------------===//

Status ModelTensor::readRows(uint64_t first, uint64_t count,
                             std::span<uint8_t> out) const {
  uint64_t bytes = checkpoint::elementBytes(type);
  SliceBounds wanted{{first, 0}, {count, columns()}};
  std::vector<uint8_t> rows;
  for (const Shard &shard : shards) {
    auto both = checkpoint::intersect(shard.bounds, wanted);
    if (!both)
      continue;
    uint64_t rowBytes = shard.bounds.size[1] * bytes;
    SliceBounds block{{both->offset[0], shard.bounds.offset[1]},
                      {both->size[0], shard.bounds.size[1]}};
    rows.resize(both->size[0] * rowBytes);
    HOCKET_RETURN_IF_ERROR(
        shard.bytes.read((both->offset[0] - shard.bounds.offset[0]) * rowBytes,
                         rows.data(), rows.size()));
    checkpoint::copyShared(block, rows, wanted, out, bytes);
  }
  return okStatus();
}

/// No two of `shards`, sorted by their first row, overlap.
static bool areDisjoint(const std::vector<const Shard *> &shards) {
  for (size_t i = 0; i < shards.size(); ++i) {
    const SliceBounds &a = shards[i]->bounds;
    for (size_t j = i + 1; j < shards.size(); ++j) {
      const SliceBounds &b = shards[j]->bounds;
      if (b.offset[0] >= a.offset[0] + a.size[0])
        break;
      if (checkpoint::intersect(a, b))
        return false;
    }
  }
  return true;
}

Status megatron::checkShards(const ModelTensor &tensor,
                             const std::string &place) {
  constexpr size_t most = 16384;
  if (tensor.shape.empty() || tensor.shape.size() > 2)
    return invalidArgument(place + " has shape " +
                           checkpoint::shapeText(tensor.shape) +
                           ", expected one or two dims");
  if (tensor.shards.size() > most)
    return dataLoss(place + " has " + std::to_string(tensor.shards.size()) +
                    " shards, where at most " + std::to_string(most) +
                    " are read");
  auto total = checkpoint::tensorBytes(tensor.shape, tensor.type);
  std::vector<uint64_t> matrix = {tensor.shape[0], tensor.columns()};
  std::vector<const Shard *> shards;
  uint64_t sum = 0;
  for (const Shard &shard : tensor.shards) {
    if (!checkpoint::isInside(shard.bounds, matrix))
      return dataLoss(place + ": shard " + checkpoint::sliceText(shard.bounds) +
                      " is not inside of shape " +
                      checkpoint::shapeText(tensor.shape));
    sum += shard.bytes.bytes; // Bounded by the files' sizes.
    shards.push_back(&shard);
  }
  std::sort(shards.begin(), shards.end(), [](const Shard *a, const Shard *b) {
    return a->bounds.offset < b->bounds.offset;
  });
  if (!total || sum != *total || !areDisjoint(shards))
    return dataLoss(place + ": its " + std::to_string(shards.size()) +
                    " shards are not all of shape " +
                    checkpoint::shapeText(tensor.shape) +
                    " once; files are missing or of another checkpoint");
  return okStatus();
}
