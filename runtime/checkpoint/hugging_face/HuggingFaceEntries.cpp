//===- HuggingFaceEntries.cpp - The tensors of one model ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/hugging_face/HuggingFaceEntries.h"

#include <cstring>
#include <set>

using namespace hocket;
using namespace hocket::checkpoint;

/// Moves row `from(r)` of each head to its row r.
template <typename From>
static void moveRows(std::span<uint8_t> heads, uint64_t headBytes,
                     uint64_t rowBytes, uint64_t rows, From from) {
  std::vector<uint8_t> old(rows * rowBytes);
  for (uint64_t at = 0; at + headBytes <= heads.size(); at += headBytes) {
    std::memcpy(old.data(), &heads[at], old.size());
    for (uint64_t r = 0; r < rows; ++r)
      std::memcpy(&heads[at + r * rowBytes], &old[from(r) * rowBytes],
                  rowBytes);
  }
}

void HuggingFaceEntry::halve(std::span<uint8_t> heads,
                             uint64_t rowBytes) const {
  uint64_t half = rotated / 2, first = rotatesLast ? pairedHead - rotated : 0;
  moveRows(heads, pairedHead * rowBytes, rowBytes,
           rotatesLast ? pairedHead : rotated, [=, this](uint64_t r) {
             return r < half      ? first + 2 * r
                    : r < rotated ? first + 2 * (r - half) + 1
                                  : r - rotated;
           });
}

void HuggingFaceEntry::pair(std::span<uint8_t> heads, uint64_t rowBytes) const {
  uint64_t half = rotated / 2, first = rotatesLast ? pairedHead - rotated : 0;
  moveRows(heads, pairedHead * rowBytes, rowBytes,
           rotatesLast ? pairedHead : rotated, [=, this](uint64_t r) {
             if (r < first)
               return r + rotated;
             return (r - first) / 2 + (r - first) % 2 * half;
           });
}

/// The row for one layer; nullopt if the model has none of its tensors.
static std::optional<HuggingFaceEntry>
entryOf(const NameRow &row, uint64_t layer, const ModelWeights &model,
        const std::map<std::string, TensorSpec> &weights) {
  auto isThere = [&](const char *name) {
    return weights.contains(nameOfLayer(name, layer));
  };
  if (row.gated.value_or(model.gated) != model.gated ||
      (row.beside && !isThere(row.beside)) ||
      (row.inPlaceOf && isThere(row.inPlaceOf)))
    return std::nullopt;
  HuggingFaceEntry entry;
  entry.pairedHead = row.paired ? model.headDim : 0;
  entry.rotated = model.rotatedDim;
  entry.rotatesLast = row.rotatesLast;
  entry.skipped = row.skipped;
  entry.theirs = nameOfLayer(row.theirs, layer);
  entry.transposed = row.transposed;
  entry.depthwise = row.depthwise;
  entry.patches = row.patches;
  for (const char *part : row.parts) {
    auto found = weights.find(nameOfLayer(part, layer));
    if (found == weights.end())
      return std::nullopt;
    const TensorSpec &spec = found->second;
    if (row.pairedPart && std::strcmp(part, row.pairedPart) == 0) {
      entry.pairedPart = entry.parts.size();
      entry.pairedHead = spec.shape[0];
    }
    if (spec.shape.size() == 3) { // A matrix for each expert.
      entry.parts.push_back(spec);
      entry.rows += spec.shape[1];
      entry.columns = spec.shape[2];
      if (std::strstr(row.theirs, "{e}") == nullptr)
        entry.experts = spec.shape[0];
      continue;
    }
    bool isTable = spec.key.name == "embedding.weight" ||
                   spec.key.name == "head.weight" ||
                   spec.key.name == "head.bias";
    entry.parts.push_back(spec);
    entry.rows += isTable ? model.vocabulary : spec.shape[0];
    entry.vector = spec.shape.size() == 1;
    entry.columns = entry.vector ? 1 : spec.shape[1];
  }
  if (row.byHead) // The last part is that of values.
    entry.groups = entry.parts.back().shape[0] /
                   (model.valueDim > 0 ? model.valueDim : model.headDim);
  return entry;
}

/// The entry, or one for each expert.
static void addEntries(HuggingFaceEntry entry,
                       std::vector<HuggingFaceEntry> &entries) {
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

StatusOr<std::vector<HuggingFaceEntry>>
checkpoint::huggingFaceEntries(const NameTable &table,
                               const ModelWeights &weights) {
  std::map<std::string, TensorSpec> byName;
  for (const TensorSpec &weight : weights.tensors)
    byName.emplace(weight.key.name, weight);
  for (const TensorSpec &bias : weights.routerBiases)
    byName.emplace("state." + bias.key.slot, bias);
  std::vector<HuggingFaceEntry> entries;
  std::set<std::string> placed;
  for (const NameRow &row : table.rows) {
    bool perLayer = std::strstr(row.theirs, "{i}") != nullptr;
    for (uint64_t layer = 0; layer < (perLayer ? weights.layers : 1); ++layer) {
      auto entry = entryOf(row, layer, weights, byName);
      if (!entry)
        continue;
      for (const TensorSpec &part : entry->parts)
        placed.insert(part.key.name);
      addEntries(*std::move(entry), entries);
    }
  }
  for (const TensorSpec &weight : weights.tensors)
    if (!placed.count(weight.key.name))
      return invalidArgument("the family " + std::string(table.family) +
                             " has no place for tensor '" + weight.key.name +
                             "'");
  return entries;
}
