//===- Adapters.cpp - Low-rank adapters from and for PEFT -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/hugging_face/Adapters.h"

#include "base/File.h"
#include "runtime/checkpoint/hugging_face/AdapterNames.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

using namespace hocket;
using namespace hocket::checkpoint;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Names and shapes
//===----------------------------------------------------------------------===//

bool checkpoint::isAdapter(std::string_view name) {
  return std::ranges::any_of(adapterSuffixes, [&](std::string_view suffix) {
    return name.ends_with(suffix);
  });
}

/// A and B of the linear layer whose weight is `weight`, or of each expert's.
static std::vector<TensorSpec> matricesOf(const TensorSpec &weight,
                                          uint64_t rank) {
  std::string base = withoutWeight(weight.key.name);
  size_t dims = weight.shape.size();
  std::vector<uint64_t> a = weight.shape, b = weight.shape;
  a[dims - 2] = rank;
  b[dims - 1] = rank;
  return {{{base + std::string(adapterSuffixes[0]), ""}, ElementType::F32, a},
          {{base + std::string(adapterSuffixes[1]), ""}, ElementType::F32, b}};
}

static std::map<std::string, TensorSpec>
byName(const std::vector<TensorSpec> &weights) {
  std::map<std::string, TensorSpec> found;
  for (const TensorSpec &weight : weights)
    found.emplace(weight.key.name, weight);
  return found;
}

static std::string weightOf(const std::string &target, uint64_t layer) {
  return nameOfLayer(("layers.{i}." + target + ".weight").c_str(), layer);
}

StatusOr<std::vector<TensorSpec>>
checkpoint::adaptersOf(const ModelWeights &weights) {
  std::vector<TensorSpec> adapters;
  if (!weights.lora)
    return adapters;
  auto known = byName(weights.tensors);
  std::set<std::string> found;
  for (uint64_t layer = 0; layer < weights.layers; ++layer)
    for (const std::string &target : weights.lora->targets) {
      auto weight = known.find(weightOf(target, layer));
      if (weight == known.end())
        continue; // Layers may differ in what they have.
      found.insert(target);
      for (TensorSpec &matrix : matricesOf(weight->second, weights.lora->rank))
        adapters.push_back(std::move(matrix));
    }
  for (const std::string &target : weights.lora->targets)
    if (!found.contains(target))
      return invalidArgument("no layer has a linear layer '" + target + "'");
  return adapters;
}

static std::string adapterOf(const AdapterModule &module, uint64_t layer,
                             std::string_view suffix) {
  return withoutWeight(weightOf(module.target, layer)) + std::string(suffix);
}

/// The module of each target. InvalidArgument where the family joins it, or has
/// its rows in another order.
static StatusOr<std::vector<AdapterModule>> modulesOf(const NameTable &table,
                                                      const LoraDims &lora) {
  std::vector<AdapterModule> all = adapterModulesOf(table), found;
  for (const std::string &target : lora.targets) {
    auto at = std::ranges::find(all, target, &AdapterModule::target);
    if (at == all.end())
      return invalidArgument(std::string("the family ") + table.family +
                             " joins " + target +
                             " with others in one module or parameter, or has "
                             "its rows in another order, so that an adapter of "
                             "it alone cannot be written; merge it: --format "
                             "huggingface");
    found.push_back(*at);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// `matrix` in `file`, if it is as it should be.
static StatusOr<const TensorInfo *> findMatrix(const SafetensorsFile &file,
                                               const AdapterMatrix &matrix) {
  std::string place = file.path() + ": tensor '" + matrix.key + "' ";
  const TensorInfo *info = file.find(matrix.key);
  if (!info)
    return invalidArgument(place + "is missing");
  if (info->shape != matrix.shape)
    return invalidArgument(place + "has shape " + shapeText(info->shape) +
                           ", expected " + shapeText(matrix.shape));
  if (!toFloats({}, info->type))
    return invalidArgument(place + "has type " +
                           std::string(elementName(info->type)) +
                           ", expected F32, F16, BF16 or F64");
  return info;
}

/// A tensor of ours that is to be made of matrices in `file`; those that are
/// not named are zero.
static StatusOr<CheckpointTensor>
tensorOf(const std::shared_ptr<const SafetensorsFile> &file,
         const TensorSpec &spec, std::vector<AdapterMatrix> matrices) {
  std::vector<std::pair<AdapterMatrix, const TensorInfo *>> sources;
  for (AdapterMatrix &matrix : matrices) {
    HOCKET_ASSIGN_OR_RETURN(const TensorInfo *info, findMatrix(*file, matrix));
    sources.emplace_back(std::move(matrix), info);
  }
  SliceBounds whole = wholeOf(spec.shape);
  auto bytes = [file, whole, sources](const ByteSink &sink) -> Status {
    std::vector<float> ours(elementsOf(whole));
    for (const auto &[matrix, info] : sources) {
      HOCKET_ASSIGN_OR_RETURN(std::vector<uint8_t> read, file->read(*info));
      std::vector<float> theirs = *toFloats(read, info->type);
      forEachElement(matrix, whole, [&](uint64_t to, uint64_t from) {
        ours[to] = theirs[from];
      });
    }
    return sink({reinterpret_cast<const uint8_t *>(ours.data()),
                 ours.size() * sizeof(float)});
  };
  return CheckpointTensor{spec, {{whole, bytes}}};
}

StatusOr<std::vector<CheckpointTensor>>
checkpoint::importAdapters(const std::string &dir, const std::string &family,
                           const ModelWeights &weights,
                           const AdapterConfig &config) {
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(family));
  HOCKET_ASSIGN_OR_RETURN(auto modules, modulesOf(*table, *weights.lora));
  for (const AdapterModule &module : modules)
    if (std::ranges::count(config.lora.targets, module.target) == 0)
      return invalidArgument(
          dir + adapterConfigFile + ": '" + module.theirs +
          "' has no adapter, but linear layers of the same role have: shared "
          "experts and dense layers are adapted together here");
  HOCKET_ASSIGN_OR_RETURN(auto adapters, adaptersOf(weights));
  HOCKET_ASSIGN_OR_RETURN(SafetensorsFile opened,
                          SafetensorsFile::open(dir + adapterWeightsFile));
  auto file = std::make_shared<const SafetensorsFile>(std::move(opened));
  auto specs = byName(adapters);
  std::vector<CheckpointTensor> tensors;
  std::set<std::string> used;
  for (uint64_t layer = 0; layer < weights.layers; ++layer)
    for (const AdapterModule &module : modules)
      for (std::string_view suffix : adapterSuffixes) {
        auto found = specs.find(adapterOf(module, layer, suffix));
        if (found == specs.end())
          continue;
        auto matrices = adapterMatricesOf(module, layer, suffix, found->second,
                                          *weights.lora, config.layout);
        for (const AdapterMatrix &matrix : matrices)
          used.insert(matrix.key);
        HOCKET_ASSIGN_OR_RETURN(
            CheckpointTensor tensor,
            tensorOf(file, found->second, std::move(matrices)));
        tensors.push_back(std::move(tensor));
      }
  for (const TensorInfo &info : file->tensors())
    if (!used.contains(info.name))
      return invalidArgument(file->path() + ": tensor '" + info.name +
                             "' is not part of these adapters");
  return tensors;
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

/// The whole tensor as f32.
static StatusOr<std::vector<float>> readFloats(const Checkpoint &checkpoint,
                                               const TensorSpec &spec,
                                               const SliceBounds &bounds) {
  std::vector<uint8_t> bytes(elementsOf(bounds) * elementBytes(spec.type));
  HOCKET_RETURN_IF_ERROR(checkpoint.read(spec, bounds, bytes));
  auto floats = toFloats(bytes, spec.type);
  if (!floats)
    return invalidArgument(checkpoint.path() + ": '" + spec.key.text() +
                           "' holds no floating-point numbers");
  return *std::move(floats);
}

namespace {
/// A matrix to write, and where its elements are in the checkpoint.
struct MatrixToWrite {
  std::vector<uint64_t> shape;
  std::vector<std::pair<AdapterMatrix, TensorSpec>> sources;
};
} // namespace

static TensorToWrite toWrite(const Checkpoint &checkpoint,
                             const std::string &key, MatrixToWrite matrix) {
  uint64_t elements = matrix.shape[0] * matrix.shape[1];
  std::vector<uint64_t> shape = matrix.shape;
  auto bytes = [&checkpoint, elements,
                matrix = std::move(matrix)](const ByteSink &sink) -> Status {
    std::vector<float> theirs(elements);
    for (const auto &[source, spec] : matrix.sources) {
      HOCKET_ASSIGN_OR_RETURN(auto ours,
                              readFloats(checkpoint, spec, source.part));
      forEachElement(source, source.part, [&](uint64_t from, uint64_t to) {
        theirs[to] = ours[from];
      });
    }
    return sink({reinterpret_cast<const uint8_t *>(theirs.data()),
                 theirs.size() * sizeof(float)});
  };
  return {key, ElementType::F32, shape, bytes};
}

/// PEFT maps what ends in gate_proj, up_proj or down_proj to experts, in a
/// model of a family whose experts' adapters it joins itself.
static Status checkPeftTellsApart(const std::string &family,
                                  const LoraDims &lora) {
  if (family != "qwen3_moe")
    return okStatus();
  for (const char *target : {"mlp.gate", "mlp.up", "mlp.down"})
    if (std::ranges::count(lora.targets, target) > 0)
      return invalidArgument(
          std::string("the family ") + family + ": PEFT takes " + target +
          " of a dense layer for one of experts where transformers has those "
          "joined; write --experts each for transformers before 5, or merge "
          "the adapters: --format huggingface");
  return okStatus();
}

/// Whether the experts' gates and ups have the same A in every layer, as those
/// that were read from joined ones do.
static StatusOr<bool>
shareInputs(const Checkpoint &checkpoint,
            const std::map<std::string, TensorSpec> &adapters,
            uint64_t layers) {
  for (uint64_t layer = 0; layer < layers; ++layer) {
    std::vector<float> read[2];
    for (int i : {0, 1}) {
      std::string target = i == 0 ? "mlp.experts.gate" : "mlp.experts.up";
      auto found = adapters.find(withoutWeight(weightOf(target, layer)) +
                                 std::string(adapterSuffixes[0]));
      if (found == adapters.end())
        continue;
      HOCKET_ASSIGN_OR_RETURN(
          read[i],
          readFloats(checkpoint, found->second, wholeOf(found->second.shape)));
    }
    if (read[0] != read[1])
      return false;
  }
  return true;
}

Status checkpoint::exportAdapters(const Checkpoint &checkpoint,
                                  const std::string &family,
                                  const ModelWeights &weights,
                                  const std::string &dir,
                                  const std::string &baseName,
                                  bool joinsExperts) {
  if (!weights.lora)
    return invalidArgument(checkpoint.path() +
                           ": has no adapters: training.lora is not in its "
                           "specification");
  const LoraDims &lora = *weights.lora;
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(family));
  HOCKET_ASSIGN_OR_RETURN(auto modules, modulesOf(*table, lora));
  HOCKET_ASSIGN_OR_RETURN(auto adapters, adaptersOf(weights));
  auto stored = byName(adapters);
  std::set<std::string> missing;
  for (const auto &[name, spec] : stored)
    missing.insert(name);
  for (const TensorSpec &tensor : checkpoint.tensors())
    if (tensor.key.slot.empty() && missing.erase(tensor.key.name) > 0)
      stored[tensor.key.name].type = tensor.type;
  if (!missing.empty())
    return invalidArgument(checkpoint.path() + ": tensor '" + *missing.begin() +
                           "' is missing");
  if (joinsExperts)
    HOCKET_RETURN_IF_ERROR(checkPeftTellsApart(family, lora));
  AdapterLayout layout{lora.rank, joinsExperts, lora.rank, false};
  if (joinsExperts &&
      std::ranges::count(lora.targets, "mlp.experts.gate") > 0 &&
      std::ranges::count(lora.targets, "mlp.experts.up") > 0) {
    HOCKET_ASSIGN_OR_RETURN(bool shares,
                            shareInputs(checkpoint, stored, weights.layers));
    layout.isApart = !shares;
    layout.firstRank = shares ? lora.rank : 2 * lora.rank;
  }
  std::map<std::string, MatrixToWrite> matrices;
  for (const AdapterModule &module : modules)
    for (uint64_t layer = 0; layer < weights.layers; ++layer)
      for (std::string_view suffix : adapterSuffixes) {
        auto spec = stored.find(adapterOf(module, layer, suffix));
        if (spec == stored.end())
          continue;
        for (AdapterMatrix &matrix : adapterMatricesOf(
                 module, layer, suffix, spec->second, lora, layout)) {
          MatrixToWrite &to = matrices[matrix.key];
          to.shape = matrix.shape;
          to.sources.emplace_back(std::move(matrix), spec->second);
        }
      }
  std::vector<TensorToWrite> tensors;
  for (auto &[key, matrix] : matrices)
    tensors.push_back(toWrite(checkpoint, key, std::move(matrix)));
  std::error_code error;
  if (fs::exists(dir + adapterWeightsFile, error))
    return invalidArgument(dir + ": holds adapter_model.safetensors already; "
                                 "remove it or name another folder");
  HOCKET_RETURN_IF_ERROR(makeDirectories(dir));
  HOCKET_RETURN_IF_ERROR(
      writeSafetensors(dir + adapterWeightsFile, std::move(tensors)).status());
  return writeFileAtomically(
      dir + adapterConfigFile,
      adapterConfigText(*table, lora, baseName, modules, layout));
}

Status checkpoint::mergeAdapter(const Checkpoint &checkpoint,
                                const LoraDims &lora, const TensorSpec &weight,
                                const SliceBounds &bounds,
                                std::span<float> rows) {
  if (weight.shape.size() == 3 && bounds.size[0] != 1) {
    uint64_t each = bounds.size[1] * bounds.size[2];
    for (uint64_t e = 0; e < bounds.size[0]; ++e) {
      SliceBounds one = bounds;
      one.offset[0] += e;
      one.size[0] = 1;
      HOCKET_RETURN_IF_ERROR(mergeAdapter(checkpoint, lora, weight, one,
                                          rows.subspan(e * each, each)));
    }
    return okStatus();
  }
  // All of A and rows of B, of one expert where there are several.
  std::vector<TensorSpec> matrices = matricesOf(weight, lora.rank);
  size_t last = weight.shape.size() - 1;
  uint64_t in = weight.shape[last], count = bounds.size[last - 1];
  SliceBounds ofA = bounds, ofB = bounds;
  ofA.offset[last - 1] = 0;
  ofA.size[last - 1] = lora.rank;
  ofB.size[last] = lora.rank;
  HOCKET_ASSIGN_OR_RETURN(auto a, readFloats(checkpoint, matrices[0], ofA));
  HOCKET_ASSIGN_OR_RETURN(auto b, readFloats(checkpoint, matrices[1], ofB));
  std::vector<double> sum(in);
  for (uint64_t row = 0; row < count; ++row) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (uint64_t r = 0; r < lora.rank; ++r) {
      double factor = double(b[row * lora.rank + r]);
      for (uint64_t column = 0; column < in; ++column)
        sum[column] += factor * double(a[r * in + column]);
    }
    for (uint64_t column = 0; column < in; ++column)
      rows[row * in + column] =
          float(double(rows[row * in + column]) + lora.scale() * sum[column]);
  }
  return okStatus();
}
