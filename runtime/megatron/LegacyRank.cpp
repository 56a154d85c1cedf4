//===- LegacyRank.cpp - What one rank saved -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/LegacyRank.h"

#include <filesystem>
#include <utility>

using namespace hocket;
using namespace hocket::megatron;
namespace fs = std::filesystem;

/// The file of a rank; older versions kept the optimizer's state beside it.
StatusOr<std::string> megatron::rankFile(const std::string &folder) {
  std::error_code error;
  for (const char *name : {"model_optim_rng.pt", "model_rng.pt"})
    if (fs::exists(folder + "/" + name, error))
      return folder + "/" + name;
  return notFound(folder + "/model_optim_rng.pt: is missing; every rank's file "
                           "is needed, copy them all");
}

StatusOr<TorchFile> megatron::openTorchFile(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(FileRange range, FileRange::open(path));
  return TorchFile::open(range);
}

/// Adds a weight; passes over what is none.
static Status addTensor(const TorchFile &file, const PickleValue &value,
                        const std::string &name, Chunk &chunk) {
  auto parsed = parseWeightName(name);
  if (!parsed || !TorchFile::isTensor(value))
    return okStatus();
  if (parsed->stacksLayers() || parsed->stacksExperts())
    return invalidArgument(file.path() + ": tensor '" + name +
                           "' has no number of a layer or of an expert; "
                           "save with --moe-grouped-gemm off, or as "
                           "torch_dist");
  HOCKET_ASSIGN_OR_RETURN(TorchTensor tensor, file.tensor(value, name));
  if (!toFloats({}, tensor.type))
    return invalidArgument(file.path() + ": tensor '" + name + "' has type " +
                           std::string(elementName(tensor.type)) +
                           ", expected F32, F16, BF16 or F64");
  if (parsed->isDepthwise() && tensor.shape.size() == 3 && tensor.shape[1] == 1)
    tensor.shape = {tensor.shape[0], tensor.shape[2]};
  std::string key =
      parsed->text(parsed->layer.value_or(0), parsed->expert.value_or(0));
  if (!chunk.emplace(key, LocalTensor{*parsed, std::move(tensor)}).second)
    return dataLoss(file.path() + ": holds '" + key + "' twice");
  return okStatus();
}

/// Adds the tensors of `map` and of the maps in it, whose names are joined by
/// dots.
static Status addTensors(const TorchFile &file, const PickleValue &map,
                         const std::string &prefix, Chunk &chunk,
                         uint64_t &visited) {
  constexpr uint64_t most = uint64_t{1} << 20, longest = 4096;
  for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (++visited > most)
      return dataLoss(file.path() + ": more than " + std::to_string(most) +
                      " tensors");
    const PickleValue &value = *map.items[i + 1];
    std::string name = prefix + map.items[i]->text;
    if (name.size() > longest)
      return dataLoss(file.path() + ": a name of more than " +
                      std::to_string(longest) + " bytes");
    if (value.isMap()) {
      HOCKET_RETURN_IF_ERROR(
          addTensors(file, value, name + ".", chunk, visited));
      continue;
    }
    HOCKET_RETURN_IF_ERROR(addTensor(file, value, name, chunk));
  }
  return okStatus();
}

StatusOr<Rank> megatron::readRank(const std::string &folder) {
  Rank rank;
  HOCKET_ASSIGN_OR_RETURN(rank.path, rankFile(folder));
  HOCKET_ASSIGN_OR_RETURN(TorchFile file, openTorchFile(rank.path));
  uint64_t visited = 0;
  const PickleValue *only = file.root().find("model");
  for (uint64_t i = 0;; ++i) {
    const PickleValue *part =
        only ? (i == 0 ? only : nullptr)
             : file.root().find("model" + std::to_string(i));
    if (!part)
      break;
    if (!part->isMap())
      return dataLoss(rank.path + ": 'model' is " + describe(*part) +
                      ", expected weights by name");
    HOCKET_RETURN_IF_ERROR(
        addTensors(file, *part, "", rank.chunks.emplace_back(), visited));
  }
  if (rank.chunks.empty())
    return invalidArgument(rank.path + ": holds no 'model', the weights that "
                                       "Megatron-LM saves");
  return rank;
}
