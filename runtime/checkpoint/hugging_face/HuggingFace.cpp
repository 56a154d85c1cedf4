//===- HuggingFace.cpp - Weights from and for Hugging Face ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/hugging_face/HuggingFace.h"

#include "runtime/checkpoint/WeightFit.h"
#include "runtime/checkpoint/hugging_face/HuggingFaceEntries.h"

#include <algorithm>
#include <charconv>
#include <cstring>
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
  for (const auto &[ours, other] : table.otherPrefixes)
    if (!found.file && theirs.starts_with(ours))
      found = folder.find(other + theirs.substr(std::string_view(ours).size()));
  return found;
}

static Status checkTheirs(const HuggingFaceFolder &folder,
                          const HuggingFaceEntry &entry,
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

/// Gives stored elements on as f32.
static Status giveFloats(std::span<const uint8_t> stored, ElementType type,
                         const ByteSink &sink) {
  auto floats = *toFloats(stored, type);
  return sink({reinterpret_cast<const uint8_t *>(floats.data()),
               floats.size() * sizeof(float)});
}

/// Of a tensor, in memory at once.
static constexpr uint64_t kImportBytes = uint64_t{4} << 20;

/// Rows [first, first + count) of an entry, as f32; rows past its end are zero.
/// Of a transposed one, the stored tensor is in memory. `paired` rows are whole
/// heads in pairs.
static Status produceRows(const HuggingFaceEntry &entry, uint64_t first,
                          uint64_t count, const HuggingFaceFolder::Found &found,
                          const ByteSink &sink, bool paired = false) {
  ElementType type = found.info->type;
  uint64_t bytes = elementBytes(type), rowBytes = entry.columns * bytes;
  uint64_t all = entry.rows * std::max<uint64_t>(1, entry.experts);
  uint64_t end = first + std::min(count, all - first);
  uint64_t most = std::max<uint64_t>(1, kImportBytes / rowBytes);
  if (uint64_t head = paired ? entry.pairedHead : 0)
    most = std::max<uint64_t>(1, most / head) * head;
  HOCKET_ASSIGN_OR_RETURN(TensorReader reader, found.file->reader(*found.info));
  std::vector<uint8_t> whole, stored;
  if (entry.transposed) {
    whole.resize(found.info->end - found.info->begin);
    HOCKET_RETURN_IF_ERROR(reader.read(0, whole));
  }
  for (uint64_t row = first; row < end; row += most) {
    uint64_t rows = std::min(most, end - row);
    stored.resize(rows * rowBytes);
    if (!entry.transposed)
      HOCKET_RETURN_IF_ERROR(
          reader.read((entry.skipped + row) * rowBytes, stored));
    for (uint64_t r = 0; entry.transposed && r < rows; ++r)
      for (uint64_t c = 0; c < entry.columns; ++c)
        std::memcpy(&stored[r * rowBytes + c * bytes],
                    &whole[(c * entry.rows + row + r) * bytes], bytes);
    if (paired)
      entry.halve(stored, rowBytes);
    HOCKET_RETURN_IF_ERROR(giveFloats(stored, type, sink));
  }
  std::vector<float> padding((first + count - end) * entry.columns);
  return sink({reinterpret_cast<const uint8_t *>(padding.data()),
               padding.size() * sizeof(float)});
}

/// Whether `name` is of the layer with the number `first` or a higher one.
static bool isOfLayerFrom(std::string_view name, uint64_t first) {
  constexpr std::string_view prefix = "model.layers.";
  if (!name.starts_with(prefix))
    return false;
  uint64_t layer = 0;
  const char *begin = name.data() + prefix.size();
  auto [end, error] = std::from_chars(begin, name.data() + name.size(), layer);
  return error == std::errc() && end != begin && layer >= first;
}

/// Whether a tensor of the folder that no entry uses may be passed over.
static bool isPassedOver(const std::string &name, const NameTable &table,
                         const ModelWeights &weights) {
  if (weights.tied && (name.ends_with("lm_head.weight") ||
                       name == "cls.predictions.decoder.weight"))
    return true;
  if (weights.classes && name.starts_with("cls."))
    return true;
  if (table.hasLayersBehind && isOfLayerFrom(name, weights.layers))
    return true;
  return std::any_of(
      table.ignored.begin(), table.ignored.end(),
      [&](const char *ending) { return name.ends_with(ending); });
}

/// The parts of an entry that has the rows of each group together.
static void addGroups(const HuggingFaceEntry &entry,
                      const HuggingFaceFolder::Found &found,
                      std::vector<CheckpointTensor> &tensors) {
  uint64_t before = 0; // Rows of a group, of the parts before.
  for (const TensorSpec &part : entry.parts) {
    uint64_t rows = part.shape[0] / entry.groups;
    tensors.push_back({part, {}});
    for (uint64_t at = 0; at < part.shape[0]; at += rows) {
      uint64_t first = at / rows * (entry.rows / entry.groups) + before;
      ByteProducer bytes = [=](const ByteSink &sink) {
        return produceRows(entry, first, rows, found, sink);
      };
      tensors.back().slices.push_back(
          {entry.rowsOf(part, at, rows), std::move(bytes)});
    }
    before += rows;
  }
}

/// The parts of an entry of all experts, which has those of each together.
static void addExperts(const HuggingFaceEntry &entry,
                       const HuggingFaceFolder::Found &found,
                       std::vector<CheckpointTensor> &tensors) {
  uint64_t before = 0;
  for (const TensorSpec &part : entry.parts) {
    uint64_t rows = part.shape[1];
    tensors.push_back({part, {}});
    for (uint64_t e = 0; e < entry.experts; ++e) {
      uint64_t first = e * entry.rows + before;
      ByteProducer bytes = [=](const ByteSink &sink) {
        return produceRows(entry, first, rows, found, sink);
      };
      tensors.back().slices.push_back(
          {entry.boundsOf(part, e), std::move(bytes)});
    }
    before += rows;
  }
}

StatusOr<std::vector<CheckpointTensor>> checkpoint::importHuggingFace(
    const HuggingFaceFolder &folder, const std::string &family,
    const ModelWeights &weights, std::vector<std::string> *fresh) {
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(family));
  HOCKET_ASSIGN_OR_RETURN(auto entries, huggingFaceEntries(*table, weights));
  std::vector<CheckpointTensor> tensors;
  std::set<std::string> used;
  for (const HuggingFaceEntry &entry : entries) {
    auto found = findTheirs(folder, *table, entry.theirs);
    if (const std::string &ours = entry.parts.front().key.name;
        !found.file && fresh && isOfClassHead(ours)) {
      fresh->push_back(ours);
      continue;
    }
    HOCKET_RETURN_IF_ERROR(checkTheirs(folder, entry, found));
    used.insert(found.info->name);
    if (entry.groups > 0 || entry.experts > 0) {
      (entry.experts > 0 ? addExperts : addGroups)(entry, found, tensors);
      continue;
    }
    uint64_t first = 0;
    for (size_t at = 0; at < entry.parts.size(); ++at) {
      const TensorSpec &part = entry.parts[at];
      uint64_t count = entry.expert ? entry.rows : part.shape[0];
      ByteProducer bytes = [=](const ByteSink &sink) {
        return produceRows(entry, first, count, found, sink,
                           entry.isPaired(at));
      };
      if (entry.expert.value_or(0) == 0)
        tensors.push_back({part, {}});
      tensors.back().slices.push_back({entry.boundsOf(part), std::move(bytes)});
      first += count;
    }
  }
  for (const std::string &name : folder.names())
    if (!used.count(name) && !isPassedOver(name, *table, weights))
      return invalidArgument(folder.path() + ": tensor '" + name +
                             "' is not part of this model");
  return tensors;
}
