//===- Distributed.cpp - Checkpoints of torch.distributed.checkpoint ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// .metadata is a pickle that says of each tensor its shape, the shards that it
/// is in, and where in which file each of them is. A shard is a file of
/// torch.save by itself. Layers that are alike, and experts, are one tensor
/// with leading dims.
///
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "runtime/checkpoint/ManifestReader.h"
#include "runtime/megatron/Formats.h"
#include "runtime/megatron/Names.h"

#include <utility>

using namespace hocket;
using namespace hocket::megatron;
using checkpoint::SliceBounds;
using Kind = PickleValue::Kind;
using Sizes = std::vector<uint64_t>;

#define HOCKET_METADATA "torch.distributed.checkpoint.metadata "

namespace {

class DistributedReader {
public:
  explicit DistributedReader(std::string dir)
      : dir(std::move(dir)), metadata(this->dir + "/.metadata") {}
  StatusOr<Model> read();

private:
  Status readPlaces(const PickleValue &places);
  Status readTensor(const std::string &name, const PickleValue &said);
  Status readShard(const std::string &name, const WeightName &weight,
                   const SliceBounds &bounds, const Sizes &shape);
  Status addShards(const WeightName &weight, SliceBounds bounds, Sizes shape,
                   const TorchTensor &tensor);
  StatusOr<FileRange> fileOf(const std::string &name);
  Status wrong(const std::string &name, const std::string &what) const {
    return dataLoss(metadata + ": tensor '" + name + "': " + what);
  }

  std::string dir, metadata;
  Model model;
  /// Where each shard is, by name and offset.
  std::map<std::pair<std::string, Sizes>, const PickleValue *> places;
  std::map<std::string, FileRange> files;
};

} // namespace

StatusOr<FileRange> DistributedReader::fileOf(const std::string &name) {
  auto found = files.find(name);
  if (found != files.end())
    return found->second;
  if (!checkpoint::isPlainFileName(name))
    return dataLoss(metadata +
                    ": expected a file name without folders, found '" +
                    name.substr(0, 80) + "'");
  auto range = FileRange::open(dir + "/" + name);
  if (!range.ok())
    return range.status();
  return files.emplace(name, *std::move(range)).first->second;
}

Status DistributedReader::readPlaces(const PickleValue &said) {
  for (size_t i = 0; i + 1 < said.items.size(); i += 2) {
    const PickleValue &index = *said.items[i];
    const PickleValue *name = index.attribute("fqn");
    const PickleValue *offset = index.attribute("offset");
    if (!index.calls(HOCKET_METADATA "MetadataIndex") || !name)
      return dataLoss(metadata + ": storage_data has " + describe(index) +
                      " for a shard");
    std::optional<Sizes> sizes;
    if (offset)
      sizes = sizesOf(*offset);
    if (sizes)
      places[{name->text, *std::move(sizes)}] = said.items[i + 1];
  }
  return okStatus();
}

StatusOr<Model> DistributedReader::read() {
  {
    HOCKET_ASSIGN_OR_RETURN(FileRange range,
                            FileRange::open(dir + "/common.pt"));
    HOCKET_ASSIGN_OR_RETURN(TorchFile common, TorchFile::open(range));
    HOCKET_RETURN_IF_ERROR(readSettings(common, model));
  }
  HOCKET_ASSIGN_OR_RETURN(std::string bytes,
                          readFile(metadata, Pickle::kMostBytes));
  auto pickle = Pickle::parse(bytes);
  if (!pickle.ok())
    return pickle.status().withContext(metadata);
  const PickleValue &root = pickle->root();
  const PickleValue *tensors = root.attribute("state_dict_metadata");
  const PickleValue *stored = root.attribute("storage_data");
  if (!root.calls(HOCKET_METADATA "Metadata") || !tensors ||
      !tensors->isMap() || !stored || !stored->isMap())
    return dataLoss(metadata + ": is " + describe(root) +
                    ", expected the metadata of torch.distributed.checkpoint "
                    "with state_dict_metadata and storage_data");
  HOCKET_RETURN_IF_ERROR(readPlaces(*stored));
  for (size_t i = 0; i + 1 < tensors->items.size(); i += 2)
    if (tensors->items[i + 1]->calls(HOCKET_METADATA "TensorStorageMetadata"))
      HOCKET_RETURN_IF_ERROR(
          readTensor(tensors->items[i]->text, *tensors->items[i + 1]));
  return std::move(model);
}

Status DistributedReader::readTensor(const std::string &name,
                                     const PickleValue &said) {
  auto weight = parseWeightName(name);
  if (!weight)
    return okStatus();
  const PickleValue *size = said.attribute("size");
  const PickleValue *chunks = said.attribute("chunks");
  auto shape = size ? sizesOf(*size) : std::nullopt;
  if (!shape || !chunks || !chunks->is(Kind::List))
    return wrong(name, "its size or its shards are damaged");
  for (const PickleValue *chunk : chunks->items) {
    const PickleValue *offsets = chunk->attribute("offsets");
    const PickleValue *sizes = chunk->attribute("sizes");
    auto from = offsets ? sizesOf(*offsets) : std::nullopt;
    auto of = sizes ? sizesOf(*sizes) : std::nullopt;
    if (!from || !of)
      return wrong(name, "a shard is damaged");
    SliceBounds bounds{*std::move(from), *std::move(of)};
    if (!checkpoint::isInside(bounds, *shape))
      return wrong(name, "a shard is not inside of shape " +
                             checkpoint::shapeText(*shape));
    HOCKET_RETURN_IF_ERROR(readShard(name, *weight, bounds, *shape));
  }
  return okStatus();
}

/// A shape without the leading dims of one element.
static Sizes withoutOnes(const Sizes &shape) {
  size_t ones = 0;
  while (ones < shape.size() && shape[ones] == 1)
    ++ones;
  return {shape.begin() + ptrdiff_t(ones), shape.end()};
}

Status DistributedReader::readShard(const std::string &name,
                                    const WeightName &weight,
                                    const SliceBounds &bounds,
                                    const Sizes &shape) {
  auto found = places.find({name, bounds.offset});
  if (found == places.end())
    return wrong(name, "storage_data does not say where shard " +
                           checkpoint::sliceText(bounds) + " is");
  const PickleValue *path = found->second->attribute("relative_path");
  const PickleValue *offset = found->second->attribute("offset");
  const PickleValue *length = found->second->attribute("length");
  const PickleValue *how = found->second->attribute("transform_descriptors");
  if (how && !how->is(Kind::None) && !how->items.empty())
    return invalidArgument(metadata + ": tensor '" + name +
                           "' is compressed; save it without");
  if (!path || !offset || !length || !offset->is(Kind::Int) ||
      !length->is(Kind::Int) || offset->integer < 0 || length->integer < 0)
    return wrong(name, "the place of shard " + checkpoint::sliceText(bounds) +
                           " is damaged");
  HOCKET_ASSIGN_OR_RETURN(FileRange file, fileOf(path->text));
  HOCKET_ASSIGN_OR_RETURN(
      FileRange range,
      file.part(uint64_t(offset->integer), uint64_t(length->integer)));
  HOCKET_ASSIGN_OR_RETURN(TorchFile saved, TorchFile::open(range));
  HOCKET_ASSIGN_OR_RETURN(TorchTensor tensor, saved.tensor(saved.root(), name));
  if (withoutOnes(tensor.shape) != withoutOnes(bounds.size))
    return dataLoss(saved.path() + ": tensor '" + name + "' has shape " +
                    checkpoint::shapeText(tensor.shape) +
                    " where .metadata "
                    "says " +
                    checkpoint::shapeText(bounds.size));
  if (!toFloats({}, tensor.type))
    return invalidArgument(saved.path() + ": tensor '" + name + "' has type " +
                           std::string(elementName(tensor.type)) +
                           ", expected F32, F16, BF16 or F64");
  return addShards(weight, bounds, shape, tensor);
}

/// Cuts a shard along the leading dims of layers and of experts.
Status DistributedReader::addShards(const WeightName &weight,
                                    SliceBounds bounds, Sizes shape,
                                    const TorchTensor &tensor) {
  size_t leading = size_t(weight.stacksLayers()) + weight.stacksExperts();
  if (weight.isDepthwise() && shape.size() == leading + 3 &&
      shape[leading + 1] == 1)
    for (Sizes *sizes : {&shape, &bounds.offset, &bounds.size})
      sizes->erase(sizes->begin() + ptrdiff_t(leading) + 1);
  std::string name =
      weight.text(weight.layer.value_or(0), weight.expert.value_or(0));
  if (shape.size() != leading + 1 && shape.size() != leading + 2)
    return wrong(name, "shape " + checkpoint::shapeText(shape) +
                           " has other than " + std::to_string(leading) +
                           " leading dims");
  Sizes rest(shape.begin() + ptrdiff_t(leading), shape.end());
  SliceBounds matrix{{bounds.offset[leading], 0}, {bounds.size[leading], 1}};
  if (rest.size() == 2)
    matrix = {{bounds.offset[leading], bounds.offset[leading + 1]},
              {bounds.size[leading], bounds.size[leading + 1]}};
  uint64_t bytes = *checkpoint::tensorBytes(matrix.size, tensor.type);
  uint64_t layers = weight.stacksLayers() ? bounds.size[0] : 1;
  uint64_t experts = weight.stacksExperts() ? bounds.size[leading - 1] : 1;
  if (bytes == 0)
    return wrong(name, "a shard is empty");
  for (uint64_t i = 0; i < layers * experts; ++i) {
    uint64_t layer = weight.stacksLayers() ? bounds.offset[0] + i / experts
                                           : weight.layer.value_or(0);
    uint64_t expert = weight.stacksExperts()
                          ? bounds.offset[leading - 1] + i % experts
                          : weight.expert.value_or(0);
    std::string whole = weight.text(layer, expert);
    HOCKET_ASSIGN_OR_RETURN(FileRange part,
                            tensor.bytes.part(i * bytes, bytes));
    ModelTensor &to = model.tensors[whole];
    if (!to.shards.empty() && (to.shape != rest || to.type != tensor.type))
      return wrong(whole, "its shards are of other shapes or types");
    to.shape = rest;
    to.type = tensor.type;
    to.shards.push_back({matrix, std::move(part)});
  }
  return okStatus();
}

StatusOr<Model> megatron::openDistributed(const std::string &dir) {
  return DistributedReader(dir).read();
}
