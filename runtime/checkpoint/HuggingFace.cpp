//===- HuggingFace.cpp - Weights from and for Hugging Face ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/HuggingFace.h"

#include "runtime/checkpoint/HuggingFaceNames.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

using namespace hocket;
using namespace hocket::checkpoint;

std::vector<std::string> checkpoint::huggingFaceFamilies() {
  std::vector<std::string> names;
  for (const NameTable &table : nameTables())
    names.emplace_back(table.family);
  return names;
}

//===----------------------------------------------------------------------===//
// The table of one model
//===----------------------------------------------------------------------===//

namespace {

/// A row of the table for one layer of one model.
struct Entry {
  std::string theirs;
  std::vector<TensorSpec> parts;
  bool transposed = false;
  uint64_t rows = 0;    ///< Of all parts, without padding of a vocabulary.
  uint64_t columns = 1; ///< Elements of a row.
  bool vector = false;  ///< Rank 1.
  /// Which expert's matrix it is, where the part has one for each.
  std::optional<uint64_t> expert;

  /// Of the part, which is all of it but for experts.
  SliceBounds boundsOf(const TensorSpec &part) const {
    if (!expert)
      return wholeOf(part.shape);
    return {{*expert, 0, 0}, {1, rows, columns}};
  }

  /// As Hugging Face stores it.
  std::vector<uint64_t> theirShape() const {
    if (vector)
      return {rows};
    return transposed ? std::vector<uint64_t>{columns, rows}
                      : std::vector<uint64_t>{rows, columns};
  }
};

} // namespace

/// The row for one layer; nullopt if the model has none of its tensors.
static std::optional<Entry>
entryOf(const NameRow &row, uint64_t layer, const ModelDims &dims,
        const std::map<std::string, TensorSpec> &weights) {
  Entry entry;
  entry.theirs = nameOfLayer(row.theirs, layer);
  entry.transposed = row.transposed;
  for (const char *part : row.parts) {
    auto found = weights.find(nameOfLayer(part, layer));
    if (found == weights.end())
      return std::nullopt;
    const TensorSpec &spec = found->second;
    if (spec.shape.size() == 3) { // A matrix for each expert.
      entry.parts.push_back(spec);
      entry.rows = spec.shape[1];
      entry.columns = spec.shape[2];
      continue;
    }
    bool vocabulary =
        spec.key.name == "embedding.weight" || spec.key.name == "head.weight";
    entry.parts.push_back(spec);
    entry.rows += vocabulary ? dims.vocabulary : spec.shape[0];
    entry.vector = spec.shape.size() == 1;
    entry.columns = entry.vector ? 1 : spec.shape[1];
  }
  return entry;
}

/// The entry, or one for each expert.
static void addEntries(Entry entry, std::vector<Entry> &entries) {
  if (entry.theirs.find("{e}") == std::string::npos) {
    entries.push_back(std::move(entry));
    return;
  }
  for (uint64_t e = 0; e < entry.parts.front().shape[0]; ++e) {
    entries.push_back(entry);
    entries.back().theirs = nameOfExpert(entry.theirs, e);
    entries.back().expert = e;
  }
}

/// Every tensor of a model, in `table`'s names. `weights` is all of it.
static StatusOr<std::vector<Entry>>
entriesOf(const NameTable &table, const ModelDims &dims,
          const std::vector<TensorSpec> &weights) {
  std::map<std::string, TensorSpec> byName;
  for (const TensorSpec &weight : weights)
    byName.emplace(weight.key.name, weight);
  std::vector<Entry> entries;
  std::set<std::string> placed;
  for (const NameRow &row : table.rows) {
    bool perLayer = std::strstr(row.theirs, "{i}") != nullptr;
    for (uint64_t layer = 0; layer < (perLayer ? dims.layers : 1); ++layer) {
      auto entry = entryOf(row, layer, dims, byName);
      if (!entry)
        continue;
      for (const TensorSpec &part : entry->parts)
        placed.insert(part.key.name);
      addEntries(*std::move(entry), entries);
    }
  }
  for (const TensorSpec &weight : weights)
    if (!placed.count(weight.key.name))
      return invalidArgument("the family " + std::string(table.family) +
                             " has no place for tensor '" + weight.key.name +
                             "'");
  return entries;
}

/// rows x columns elements of `bytes` bytes become columns x rows.
static std::vector<uint8_t> transpose(std::span<const uint8_t> matrix,
                                      uint64_t rows, uint64_t columns,
                                      uint64_t bytes) {
  std::vector<uint8_t> result(matrix.size());
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t c = 0; c < columns; ++c)
      std::memcpy(result.data() + (c * rows + r) * bytes,
                  matrix.data() + (r * columns + c) * bytes, bytes);
  return result;
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// The tensor of `folder` for an entry, by its name with or without prefix.
static HuggingFaceFolder::Found findTheirs(const HuggingFaceFolder &folder,
                                           const NameTable &table,
                                           const std::string &theirs) {
  auto found = folder.find(theirs);
  std::string_view prefix = table.optionalPrefix;
  if (!found.file && !prefix.empty() && theirs.starts_with(prefix))
    found = folder.find(theirs.substr(prefix.size()));
  return found;
}

static Status checkTheirs(const HuggingFaceFolder &folder, const Entry &entry,
                          const HuggingFaceFolder::Found &found) {
  std::string place = folder.path() + ": tensor '" + entry.theirs + "' ";
  if (!found.file)
    return invalidArgument(place + "is missing");
  if (found.info->shape != entry.theirShape())
    return invalidArgument(place + "has shape " + shapeText(found.info->shape) +
                           ", expected " + shapeText(entry.theirShape()));
  if (!toFloats({}, found.info->type))
    return invalidArgument(place + "has type " +
                           std::string(elementName(found.info->type)) +
                           ", expected F32, F16, BF16 or F64");
  return okStatus();
}

/// Rows [first, first + count) of an entry, as f32; rows past its end are zero.
static Status produceRows(const Entry &entry, uint64_t first, uint64_t count,
                          const HuggingFaceFolder::Found &found,
                          const ByteSink &sink) {
  uint64_t bytes = elementBytes(found.info->type);
  uint64_t rowBytes = entry.columns * bytes;
  uint64_t rows = std::min(count, entry.rows - first);
  std::vector<uint8_t> stored(rows * rowBytes);
  if (entry.transposed) {
    HOCKET_ASSIGN_OR_RETURN(auto all, found.file->read(*found.info));
    auto turned = transpose(all, entry.columns, entry.rows, bytes);
    std::copy_n(turned.begin() + ptrdiff_t(first * rowBytes), stored.size(),
                stored.begin());
  } else {
    HOCKET_ASSIGN_OR_RETURN(TensorReader reader,
                            found.file->reader(*found.info));
    HOCKET_RETURN_IF_ERROR(reader.read(first * rowBytes, stored));
  }
  auto floats = *toFloats(stored, found.info->type);
  floats.resize(count * entry.columns);
  return sink({reinterpret_cast<const uint8_t *>(floats.data()),
               floats.size() * sizeof(float)});
}

/// Whether a tensor of the folder that no entry uses may be passed over.
static bool isPassedOver(const std::string &name, const NameTable &table,
                         const ModelDims &dims) {
  if (dims.tied && name == "lm_head.weight")
    return true;
  return std::any_of(
      table.ignored.begin(), table.ignored.end(),
      [&](const char *ending) { return name.ends_with(ending); });
}

StatusOr<std::vector<CheckpointTensor>>
checkpoint::importHuggingFace(const HuggingFaceFolder &folder,
                              const std::string &family,
                              const ModelDims &dims) {
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(family));
  HOCKET_ASSIGN_OR_RETURN(auto weights, weightsOf(dims));
  HOCKET_ASSIGN_OR_RETURN(auto entries, entriesOf(*table, dims, weights));
  std::vector<CheckpointTensor> tensors;
  std::set<std::string> used;
  for (const Entry &entry : entries) {
    auto found = findTheirs(folder, *table, entry.theirs);
    HOCKET_RETURN_IF_ERROR(checkTheirs(folder, entry, found));
    used.insert(found.info->name);
    uint64_t first = 0;
    for (const TensorSpec &part : entry.parts) {
      uint64_t count = entry.expert ? entry.rows : part.shape[0];
      ByteProducer bytes = [=](const ByteSink &sink) {
        return produceRows(entry, first, count, found, sink);
      };
      if (entry.expert.value_or(0) == 0)
        tensors.push_back({part, {}});
      tensors.back().slices.push_back({entry.boundsOf(part), std::move(bytes)});
      first += count;
    }
  }
  for (const std::string &name : folder.names())
    if (!used.count(name) && !isPassedOver(name, *table, dims))
      return invalidArgument(folder.path() + ": tensor '" + name +
                             "' is not part of this model");
  return tensors;
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

/// The weights of `dims` in the types that the checkpoint stores; fails if it
/// holds other weights. Optimizer state does not matter.
static StatusOr<std::vector<TensorSpec>>
storedWeights(const Checkpoint &checkpoint, const ModelDims &dims) {
  HOCKET_ASSIGN_OR_RETURN(auto weights, weightsOf(dims));
  std::map<TensorKey, ElementType> types;
  std::vector<TensorSpec> expected;
  for (const TensorSpec &spec : checkpoint.tensors()) {
    types.emplace(spec.key, spec.type);
    if (!spec.key.slot.empty())
      expected.push_back(spec);
  }
  for (TensorSpec &weight : weights)
    if (auto stored = types.find(weight.key); stored != types.end())
      weight.type = stored->second;
  expected.insert(expected.begin(), weights.begin(), weights.end());
  HOCKET_RETURN_IF_ERROR(checkpoint.expectTensors(expected));
  return weights;
}

/// All parts of an entry as Hugging Face stores them.
static Status produceTheirs(const Checkpoint &checkpoint, const Entry &entry,
                            const ByteSink &sink) {
  std::vector<uint8_t> stacked;
  for (const TensorSpec &part : entry.parts) {
    SliceBounds bounds = entry.boundsOf(part);
    std::vector<uint8_t> bytes(*tensorBytes(bounds.size, part.type));
    HOCKET_RETURN_IF_ERROR(checkpoint.read(part, bounds, bytes));
    stacked.insert(stacked.end(), bytes.begin(), bytes.end());
  }
  uint64_t bytes = elementBytes(entry.parts.front().type);
  stacked.resize(entry.rows * entry.columns * bytes);
  return sink(entry.transposed
                  ? transpose(stacked, entry.rows, entry.columns, bytes)
                  : stacked);
}

static StatusOr<std::vector<TensorToWrite>>
tensorsOf(const Checkpoint &checkpoint, const std::vector<Entry> &entries) {
  std::vector<TensorToWrite> tensors;
  for (const Entry &entry : entries) {
    ElementType type = entry.parts.front().type;
    for (const TensorSpec &part : entry.parts)
      if (part.type != type)
        return invalidArgument(checkpoint.path() + ": the parts of '" +
                               entry.theirs + "' differ in type");
    tensors.push_back({entry.theirs, type, entry.theirShape(),
                       [&checkpoint, entry](const ByteSink &sink) {
                         return produceTheirs(checkpoint, entry, sink);
                       }});
  }
  return tensors;
}

Status checkpoint::exportHuggingFace(const Checkpoint &checkpoint,
                                     const ModelDims &dims,
                                     const HuggingFaceExport &to) {
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(to.family));
  HOCKET_ASSIGN_OR_RETURN(auto weights, storedWeights(checkpoint, dims));
  HOCKET_ASSIGN_OR_RETURN(auto entries, entriesOf(*table, dims, weights));
  HOCKET_ASSIGN_OR_RETURN(auto tensors, tensorsOf(checkpoint, entries));
  HOCKET_RETURN_IF_ERROR(makeDirectories(to.dir));
  auto written =
      writeSafetensors(to.dir + "/model.safetensors", std::move(tensors));
  HOCKET_RETURN_IF_ERROR(written.status());
  Status status = writeFileAtomically(to.dir + "/config.json", to.configText);
  std::error_code ignored;
  if (!status.ok())
    std::filesystem::remove(to.dir + "/model.safetensors", ignored);
  return status;
}
