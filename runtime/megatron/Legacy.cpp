//===- Legacy.cpp - Checkpoints with a file for each rank -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A rank of tensor parallelism has a shard of most weights, a rank of pipeline
/// parallelism has some layers, numbered from 0, in one chunk ("model") or in
/// several ("model0", "model1", ...), and a rank of expert parallelism has some
/// experts, numbered from 0, and a copy of the rest.
///
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/megatron/Formats.h"
#include "runtime/megatron/LegacyRank.h"

#include <algorithm>
#include <filesystem>
#include <utility>

using namespace hocket;
using namespace hocket::megatron;
using checkpoint::SliceBounds;
namespace fs = std::filesystem;

namespace {

/// Rows of what a rank has of a weight that are a weight by themselves.
struct Part {
  std::string end; ///< Of its name.
  uint64_t first = 0, rows = 0;
};

class LegacyReader {
public:
  explicit LegacyReader(std::string dir) : dir(std::move(dir)) {}
  StatusOr<Model> read();

private:
  StatusOr<TorchFile> openFirst() const;
  Status readSizes();
  Status checkFolders() const;
  std::string folderOf(uint64_t tensor, uint64_t stage, uint64_t expert) const;
  Rank &rankAt(uint64_t tensor, uint64_t stage, uint64_t expert) {
    return ranks[(stage * expertRanks + expert) * tensorRanks + tensor];
  }
  Status joinChunk(uint64_t chunk, uint64_t stage, uint64_t firstLayer);
  Status joinExperts(uint64_t chunk, uint64_t stage, uint64_t expert,
                     uint64_t firstLayer);
  StatusOr<std::vector<Part>> partsOf(const Rank &rank, uint64_t chunk,
                                      const std::string &key) const;
  StatusOr<ModelTensor> join(const std::string &key, const Part &part,
                             uint64_t chunk, uint64_t stage, uint64_t expert);

  std::string dir;
  Model model;
  uint64_t tensorRanks = 1, stages = 1, expertRanks = 1;
  uint64_t expertsOfRank = 0;
  std::vector<Rank> ranks;
};

} // namespace

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

StatusOr<TorchFile> LegacyReader::openFirst() const {
  std::error_code error;
  for (const char *name :
       {"mp_rank_00", "mp_rank_00_000", "mp_rank_00_000_000"})
    if (fs::exists(dir + "/" + name, error)) {
      HOCKET_ASSIGN_OR_RETURN(std::string path, rankFile(dir + "/" + name));
      return openTorchFile(path);
    }
  return notFound(dir + "/mp_rank_00: is missing, the folder of the first "
                        "rank; every rank's folder is needed");
}

Status LegacyReader::readSizes() {
  struct {
    const char *name;
    uint64_t *value;
  } sizes[] = {{"tensor_model_parallel_size", &tensorRanks},
               {"pipeline_model_parallel_size", &stages},
               {"expert_model_parallel_size", &expertRanks}};
  for (auto &[name, value] : sizes) {
    constexpr uint64_t most = 4096;
    HOCKET_ASSIGN_OR_RETURN(*value, sizeSetting(model, name, 1));
    if (*value == 0 || *value > most)
      return invalidArgument(model.path + ": args." + name + " is " +
                             std::to_string(*value) + ", expected 1 to 4096");
  }
  HOCKET_ASSIGN_OR_RETURN(uint64_t experts,
                          sizeSetting(model, "num_experts", 0));
  HOCKET_ASSIGN_OR_RETURN(
      uint64_t expertTensor,
      sizeSetting(model, "expert_tensor_parallel_size", tensorRanks));
  if (experts && expertTensor != tensorRanks)
    return invalidArgument(
        model.path + ": args.expert_tensor_parallel_size is " +
        std::to_string(expertTensor) + ", and tensor_model_parallel_size " +
        std::to_string(tensorRanks) + "; save it as torch_dist");
  if (experts % expertRanks != 0)
    return invalidArgument(model.path + ": " + std::to_string(experts) +
                           " experts on " + std::to_string(expertRanks) +
                           " ranks");
  expertsOfRank = experts / expertRanks;
  return okStatus();
}

std::string LegacyReader::folderOf(uint64_t tensor, uint64_t stage,
                                   uint64_t expert) const {
  std::string name =
      formatText("%s/mp_rank_%02llu", dir.c_str(), (unsigned long long)tensor);
  if (stages > 1)
    name += formatText("_%03llu", (unsigned long long)stage);
  if (expertRanks > 1)
    name += formatText("_%03llu", (unsigned long long)expert);
  // With one stage, some versions number it all the same.
  std::error_code error;
  if (stages == 1 && expertRanks == 1 && !fs::exists(name, error))
    name += "_000";
  return name;
}

/// That the settings and the folders tell of as many ranks.
Status LegacyReader::checkFolders() const {
  uint64_t found = 0, wanted = tensorRanks * stages * expertRanks;
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; !error && at != end;
       at.increment(error))
    found += at->path().filename().string().starts_with("mp_rank_");
  for (uint64_t stage = 0; stage < stages; ++stage)
    for (uint64_t expert = 0; expert < expertRanks; ++expert)
      for (uint64_t tensor = 0; tensor < tensorRanks; ++tensor)
        HOCKET_RETURN_IF_ERROR(
            rankFile(folderOf(tensor, stage, expert)).status());
  if (found == wanted)
    return okStatus();
  return invalidArgument(dir + ": holds " + std::to_string(found) +
                         " folders mp_rank_*, but its settings say " +
                         std::to_string(wanted) +
                         "; remove those of other checkpoints");
}

StatusOr<Model> LegacyReader::read() {
  {
    HOCKET_ASSIGN_OR_RETURN(TorchFile first, openFirst());
    HOCKET_RETURN_IF_ERROR(readSettings(first, model));
  }
  HOCKET_RETURN_IF_ERROR(readSizes());
  HOCKET_RETURN_IF_ERROR(checkFolders());
  ranks.resize(tensorRanks * stages * expertRanks);
  for (uint64_t stage = 0; stage < stages; ++stage)
    for (uint64_t expert = 0; expert < expertRanks; ++expert)
      for (uint64_t tensor = 0; tensor < tensorRanks; ++tensor) {
        Rank &rank = rankAt(tensor, stage, expert);
        HOCKET_ASSIGN_OR_RETURN(rank,
                                readRank(folderOf(tensor, stage, expert)));
        if (rank.chunks.size() != rankAt(0, 0, 0).chunks.size())
          return dataLoss(rank.path + ": has another number of chunks of the "
                                      "model than the first rank");
      }
  // Data goes through the first chunks of all stages, then the second ones.
  uint64_t firstLayer = 0;
  for (uint64_t chunk = 0; chunk < rankAt(0, 0, 0).chunks.size(); ++chunk)
    for (uint64_t stage = 0; stage < stages; ++stage) {
      HOCKET_RETURN_IF_ERROR(joinChunk(chunk, stage, firstLayer));
      uint64_t layers = 0;
      for (const auto &[key, local] : rankAt(0, stage, 0).chunks[chunk])
        if (local.name.layer)
          layers = std::max(layers, *local.name.layer + 1);
      firstLayer += layers;
    }
  return std::move(model);
}

//===----------------------------------------------------------------------===//
// From shards to tensors
//===----------------------------------------------------------------------===//

Status LegacyReader::joinChunk(uint64_t chunk, uint64_t stage,
                               uint64_t firstLayer) {
  for (uint64_t expert = 0; expert < expertRanks; ++expert)
    HOCKET_RETURN_IF_ERROR(joinExperts(chunk, stage, expert, firstLayer));
  return okStatus();
}

Status LegacyReader::joinExperts(uint64_t chunk, uint64_t stage,
                                 uint64_t expert, uint64_t firstLayer) {
  for (const auto &[key, local] : rankAt(0, stage, expert).chunks[chunk]) {
    const WeightName &name = local.name;
    if (expert > 0 && !name.expert)
      continue; // A copy.
    std::string whole =
        name.text(name.layer.value_or(0) + firstLayer,
                  name.expert.value_or(0) + expert * expertsOfRank);
    // The last stage may have a copy of a tied embedding.
    if (model.tensors.count(whole))
      continue;
    HOCKET_ASSIGN_OR_RETURN(std::vector<Part> parts,
                            partsOf(rankAt(0, stage, expert), chunk, key));
    for (const Part &part : parts) {
      HOCKET_ASSIGN_OR_RETURN(ModelTensor tensor,
                              join(key, part, chunk, stage, expert));
      model.tensors.emplace(whole + part.end, std::move(tensor));
    }
  }
  return okStatus();
}

/// Of most weights, all of it. A Mamba layer's first linear layer makes five
/// things, of which three go through its convolution; how wide they are is seen
/// at the layer's other weights.
StatusOr<std::vector<Part>>
LegacyReader::partsOf(const Rank &rank, uint64_t chunk,
                      const std::string &key) const {
  const Chunk &weights = rank.chunks[chunk];
  auto rowsOf = [&](const std::string &name) -> uint64_t {
    auto found = weights.find(name);
    bool isThere =
        found != weights.end() && !found->second.tensor.shape.empty();
    return isThere ? found->second.tensor.shape[0] : 0;
  };
  const uint64_t rows = rowsOf(key);
  bool isLinear = key.find(".mixer.in_proj.") != std::string::npos;
  if (!isLinear && key.find(".mixer.conv1d.") == std::string::npos)
    return std::vector<Part>{{"", 0, rows}};
  const std::string mixer = key.substr(0, key.find(".mixer.")) + ".mixer.";
  const uint64_t inner = rowsOf(mixer + "norm.weight");
  const uint64_t steps = isLinear ? rowsOf(mixer + "A_log") : 0;
  const uint64_t once = isLinear ? inner : 0; // The gate.
  const uint64_t others = once + inner + steps;
  if (inner == 0 || (isLinear && steps == 0) || rows <= others ||
      (rows - others) % 2)
    return invalidArgument(rank.path + ": tensor '" + key + "' has " +
                           std::to_string(rows) +
                           " rows, which are not those of a Mamba layer with "
                           "the weights '" +
                           mixer + "norm.weight' and '" + mixer + "A_log'");
  const uint64_t maps = (rows - others) / 2;
  std::vector<Part> parts;
  uint64_t first = 0;
  for (auto [end, count] : {std::pair<const char *, uint64_t>{".z", once},
                            {".x", inner},
                            {".B", maps},
                            {".C", maps},
                            {".dt", steps}}) {
    if (count > 0)
      parts.push_back({end, first, count});
    first += count;
  }
  return parts;
}

/// `tensor` as a matrix, from row `first` of it on.
static StatusOr<Shard> shardOf(const TorchTensor &tensor, uint64_t first,
                               uint64_t rows, SliceBounds bounds) {
  uint64_t rowBytes = elementBytes(tensor.type) *
                      (tensor.shape.size() == 2 ? tensor.shape[1] : 1);
  HOCKET_ASSIGN_OR_RETURN(FileRange bytes,
                          tensor.bytes.part(first * rowBytes, rows * rowBytes));
  return Shard{std::move(bounds), std::move(bytes)};
}

/// What a rank has of a weight, alike to what the first has.
static StatusOr<const TorchTensor *> find(const Rank &rank, uint64_t chunk,
                                          const std::string &key,
                                          const TorchTensor &like) {
  std::string place = rank.path + ": tensor '" + key + "' ";
  auto found = rank.chunks[chunk].find(key);
  if (found == rank.chunks[chunk].end())
    return dataLoss(place + "is missing, which the first rank has");
  const TorchTensor &tensor = found->second.tensor;
  if (tensor.shape != like.shape || tensor.type != like.type)
    return dataLoss(place + "has shape " + checkpoint::shapeText(tensor.shape) +
                    ", expected that of the first rank, " +
                    checkpoint::shapeText(like.shape));
  return &tensor;
}

/// A gated MLP's first GEMM is the gate, then the rest, on every rank.
static bool isGated(const std::string &key, const Model &model) {
  return key.find(".linear_fc1.") != std::string::npos &&
         flagSetting(model, "swiglu");
}

StatusOr<ModelTensor> LegacyReader::join(const std::string &key,
                                         const Part &part, uint64_t chunk,
                                         uint64_t stage, uint64_t expert) {
  const Rank &first = rankAt(0, stage, expert);
  const LocalTensor &local = first.chunks[chunk].at(key);
  const TorchTensor &like = local.tensor;
  Split split = splitOf(local.name.pattern);
  uint64_t shards = split == Split::None ? 1 : tensorRanks;
  ModelTensor whole{like.type, like.shape, {}};
  if (!part.end.empty())
    whole.shape[0] = part.rows;
  uint64_t halves = isGated(key, model) ? 2 : 1;
  size_t dim = split == Split::Columns ? 1 : 0;
  auto grown = dim < like.shape.size()
                   ? checkedMultiply(whole.shape[dim], shards)
                   : std::nullopt;
  if (!grown || like.shape.size() > 2 || like.shape[0] % halves)
    return invalidArgument(
        first.path + ": tensor '" + key + "' has shape " +
        checkpoint::shapeText(like.shape) + ", expected one or two dims" +
        (halves == 2 ? ", as many rows of a gate as of the rest" : ""));
  whole.shape[dim] = *grown;
  for (uint64_t at = 0; at < shards; ++at) {
    HOCKET_ASSIGN_OR_RETURN(const TorchTensor *tensor,
                            find(rankAt(at, stage, expert), chunk, key, like));
    uint64_t rows = part.rows / halves;
    uint64_t columns = like.shape.size() == 2 ? like.shape[1] : 1;
    for (uint64_t half = 0; half < halves; ++half) {
      SliceBounds bounds{{(half * shards + at) * rows, 0}, {rows, columns}};
      if (split == Split::Columns)
        bounds.offset = {0, at * columns};
      HOCKET_ASSIGN_OR_RETURN(
          Shard shard,
          shardOf(*tensor, part.first + half * rows, rows, std::move(bounds)));
      whole.shards.push_back(std::move(shard));
    }
  }
  return whole;
}

StatusOr<Model> megatron::openLegacy(const std::string &dir) {
  return LegacyReader(dir).read();
}
