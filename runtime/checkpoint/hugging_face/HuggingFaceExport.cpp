//===- HuggingFaceExport.cpp - A Hugging Face folder ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "base/Format.h"
#include "runtime/checkpoint/hugging_face/Adapters.h"
#include "runtime/checkpoint/hugging_face/HuggingFaceEntries.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::checkpoint;
using Entry = HuggingFaceEntry;
namespace fs = std::filesystem;

/// Of a tensor, in memory at once.
static constexpr uint64_t kExportBytes = uint64_t{4} << 20;

/// `weights` in the types that the checkpoint stores; fails if it holds others.
/// Optimizer state does not matter.
static StatusOr<ModelWeights> storedWeights(const Checkpoint &checkpoint,
                                            ModelWeights weights) {
  HOCKET_ASSIGN_OR_RETURN(std::vector<TensorSpec> expected,
                          adaptersOf(weights));
  std::map<TensorKey, ElementType> types;
  for (const TensorSpec &spec : checkpoint.tensors()) {
    types.emplace(spec.key, spec.type);
    if (!spec.key.slot.empty())
      expected.push_back(spec);
  }
  for (TensorSpec &weight : weights.tensors)
    if (auto stored = types.find(weight.key); stored != types.end())
      weight.type = stored->second;
  expected.insert(expected.begin(), weights.tensors.begin(),
                  weights.tensors.end());
  HOCKET_RETURN_IF_ERROR(checkpoint.expectTensors(expected));
  return weights;
}

//===----------------------------------------------------------------------===//
// One tensor
//===----------------------------------------------------------------------===//

/// State of the training stays as it is.
static ElementType typeOf(const HuggingFaceExport &to, const Entry &entry) {
  const TensorSpec &part = entry.parts.front();
  return part.key.slot.empty() ? to.type.value_or(part.type) : part.type;
}

namespace {
/// Gives an entry's elements as Hugging Face stores them, a few MiB at a time.
class EntryReader {
public:
  EntryReader(const Checkpoint &from, const ModelWeights &weights,
              const HuggingFaceExport &to, const Entry &entry)
      : from(from), weights(weights), to(to), entry(entry),
        isMerged(std::ranges::any_of(
            entry.parts,
            [&](const TensorSpec &part) { return hasAdapter(part); })),
        type(isMerged ? ElementType::F32 : entry.parts.front().type),
        each(elementBytes(type)) {}

  Status produce(const ByteSink &sink) const {
    return entry.groups > 0       ? produceGroups(sink)
           : entry.experts > 0    ? produceExperts(sink)
           : entry.pairedHead > 0 ? producePairs(sink)
           : entry.transposed     ? produceColumns(sink)
                                  : produceRows(sink);
  }

private:
  /// The parts one behind the other, without the rows that pad a vocabulary.
  Status produceRows(const ByteSink &sink) const;
  /// The rows of each group of all parts.
  Status produceGroups(const ByteSink &sink) const;
  /// The rows of each expert of all parts.
  Status produceExperts(const ByteSink &sink) const;
  /// Heads whose halves become pairs.
  Status producePairs(const ByteSink &sink) const;
  Status giveSlice(const TensorSpec &part, const SliceBounds &bounds,
                   const ByteSink &sink) const;
  /// Columns of all parts become rows.
  Status produceColumns(const ByteSink &sink) const;
  Status give(std::span<const uint8_t> stored, const ByteSink &sink) const;
  bool hasAdapter(const TensorSpec &part) const;
  /// Elements of a part in `type`, with what an adapter adds to them.
  Status read(const TensorSpec &part, const SliceBounds &bounds,
              std::span<uint8_t> out) const;

  const Checkpoint &from;
  const ModelWeights &weights;
  const HuggingFaceExport &to;
  const Entry &entry;
  bool isMerged;    ///< Some part has an adapter.
  ElementType type; ///< As the parts are stored, or F32 where adapters are.
  uint64_t each;    ///< Bytes of an element of it.
};
} // namespace

bool EntryReader::hasAdapter(const TensorSpec &part) const {
  const std::string &name = part.key.name;
  return weights.lora &&
         std::ranges::any_of(weights.lora->targets,
                             [&](const std::string &target) {
                               return name.starts_with("layers.") &&
                                      name.ends_with("." + target + ".weight");
                             });
}

Status EntryReader::read(const TensorSpec &part, const SliceBounds &bounds,
                         std::span<uint8_t> out) const {
  if (!isMerged)
    return from.read(part, bounds, out);
  // Whole rows, of which an adapter adds to each column.
  SliceBounds rows = bounds;
  rows.offset.back() = 0;
  rows.size.back() = part.shape.back();
  std::vector<uint8_t> stored(elementsOf(rows) * elementBytes(part.type));
  HOCKET_RETURN_IF_ERROR(from.read(part, rows, stored));
  auto floats = toFloats(stored, part.type);
  if (!floats)
    return invalidArgument(from.path() + ": '" + part.key.text() +
                           "' holds no floating-point numbers");
  if (hasAdapter(part))
    HOCKET_RETURN_IF_ERROR(
        mergeAdapter(from, *weights.lora, part, rows, *floats));
  copyShared(rows,
             {reinterpret_cast<const uint8_t *>(floats->data()),
              floats->size() * sizeof(float)},
             bounds, out, each);
  return okStatus();
}

Status EntryReader::give(std::span<const uint8_t> stored,
                         const ByteSink &sink) const {
  to.progress(stored.size());
  ElementType wanted = typeOf(to, entry);
  if (wanted == type)
    return sink(stored);
  auto converted = fromFloats(*toFloats(stored, type), wanted);
  if (!converted)
    return invalidArgument(from.path() + ": '" + entry.theirs +
                           "' holds a number that " +
                           std::string(elementName(wanted)) +
                           " cannot hold; export it as BF16 or F32");
  return sink(*converted);
}

Status EntryReader::giveSlice(const TensorSpec &part, const SliceBounds &bounds,
                              const ByteSink &sink) const {
  std::vector<uint8_t> bytes;
  for (const SliceBounds &window : windowsOf(bounds, each, kExportBytes)) {
    bytes.resize(elementsOf(window) * each);
    HOCKET_RETURN_IF_ERROR(read(part, window, bytes));
    HOCKET_RETURN_IF_ERROR(give(bytes, sink));
  }
  return okStatus();
}

Status EntryReader::produceGroups(const ByteSink &sink) const {
  for (uint64_t group = 0; group < entry.groups; ++group)
    for (const TensorSpec &part : entry.parts) {
      uint64_t rows = part.shape[0] / entry.groups;
      HOCKET_RETURN_IF_ERROR(
          giveSlice(part, entry.rowsOf(part, group * rows, rows), sink));
    }
  return okStatus();
}

Status EntryReader::produceExperts(const ByteSink &sink) const {
  for (uint64_t e = 0; e < entry.experts; ++e)
    for (const TensorSpec &part : entry.parts)
      HOCKET_RETURN_IF_ERROR(giveSlice(part, entry.boundsOf(part, e), sink));
  return okStatus();
}

Status EntryReader::producePairs(const ByteSink &sink) const {
  std::vector<uint8_t> bytes(entry.pairedHead * entry.columns * each);
  for (size_t i = 0; i < entry.parts.size(); ++i) {
    const TensorSpec &part = entry.parts[i];
    if (!entry.isPaired(i)) {
      HOCKET_RETURN_IF_ERROR(giveSlice(part, wholeOf(part.shape), sink));
      continue;
    }
    for (uint64_t at = 0; at < part.shape[0]; at += entry.pairedHead) {
      HOCKET_RETURN_IF_ERROR(
          read(part, entry.rowsOf(part, at, entry.pairedHead), bytes));
      entry.pair(bytes, entry.columns * each);
      HOCKET_RETURN_IF_ERROR(give(bytes, sink));
    }
  }
  return okStatus();
}

Status EntryReader::produceRows(const ByteSink &sink) const {
  if (entry.skipped > 0)
    HOCKET_RETURN_IF_ERROR(
        give(std::vector<uint8_t>(entry.skipped * entry.columns * each), sink));
  uint64_t left = entry.rows;
  for (const TensorSpec &part : entry.parts) {
    SliceBounds bounds = entry.boundsOf(part);
    uint64_t &rows = bounds.size[bounds.size.size() > 2 ? 1 : 0];
    rows = std::min(rows, left);
    left -= rows;
    HOCKET_RETURN_IF_ERROR(giveSlice(part, bounds, sink));
  }
  return okStatus();
}

Status EntryReader::produceColumns(const ByteSink &sink) const {
  uint64_t most = std::max<uint64_t>(1, kExportBytes / (entry.rows * each));
  std::vector<uint8_t> stored, turned;
  for (uint64_t first = 0; first < entry.columns; first += most) {
    uint64_t columns = std::min(most, entry.columns - first), row = 0;
    turned.resize(columns * entry.rows * each);
    for (const TensorSpec &part : entry.parts) {
      SliceBounds bounds{{0, first}, {part.shape[0], columns}};
      stored.resize(elementsOf(bounds) * each);
      HOCKET_RETURN_IF_ERROR(read(part, bounds, stored));
      for (uint64_t r = 0; r < part.shape[0]; ++r, ++row)
        for (uint64_t c = 0; c < columns; ++c)
          std::memcpy(&turned[(c * entry.rows + row) * each],
                      &stored[(r * columns + c) * each], each);
    }
    HOCKET_RETURN_IF_ERROR(give(turned, sink));
  }
  return okStatus();
}

static StatusOr<std::vector<TensorToWrite>>
tensorsOf(const Checkpoint &checkpoint, const ModelWeights &weights,
          const HuggingFaceExport &to, const std::vector<Entry> &entries) {
  std::vector<TensorToWrite> tensors;
  for (const Entry &entry : entries) {
    ElementType type = entry.parts.front().type;
    for (const TensorSpec &part : entry.parts)
      if (part.type != type)
        return invalidArgument(checkpoint.path() + ": the parts of '" +
                               entry.theirs + "' differ in type");
    if (to.type && !fromFloats({}, type))
      return invalidArgument(checkpoint.path() + ": '" + entry.theirs +
                             "' is of " + std::string(elementName(type)) +
                             ", which is not converted");
    tensors.push_back(
        {entry.theirs, typeOf(to, entry), entry.theirShape(),
         [&checkpoint, &weights, &to, &entry](const ByteSink &sink) {
           return EntryReader(checkpoint, weights, to, entry).produce(sink);
         }});
  }
  return tensors;
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

namespace {
/// Removes what was not there when it was told of it, unless it is to stay.
class NewFiles {
public:
  ~NewFiles() {
    std::error_code ignored; // A folder that holds something stays.
    for (; !paths.empty(); paths.pop_back())
      fs::remove(paths.back(), ignored);
  }
  void add(const std::string &path) {
    std::error_code error;
    if (!fs::exists(path, error))
      paths.push_back(path);
  }
  void keep() { paths.clear(); }

private:
  std::vector<std::string> paths;
};
} // namespace

/// Readers would take weights that stood here before for those of this model,
/// or mix them.
static Status refuseOtherWeights(const std::string &dir) {
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.starts_with("model") &&
        name.find(".safetensors") != std::string::npos)
      return invalidArgument(dir + ": holds " + name +
                             " already; remove it or name another folder");
  }
  return okStatus();
}

static uint64_t bytesOf(const TensorToWrite &tensor) {
  return *tensorBytes(tensor.shape, tensor.type);
}

/// Tensors in their order, as many in each file as it may hold, at least one.
static std::vector<std::vector<TensorToWrite>>
dealOut(std::vector<TensorToWrite> tensors, uint64_t most) {
  std::vector<std::vector<TensorToWrite>> files(1);
  uint64_t bytes = 0;
  for (TensorToWrite &tensor : tensors) {
    uint64_t size = bytesOf(tensor);
    if (!files.back().empty() && size > most - std::min(most, bytes)) {
      files.emplace_back();
      bytes = 0;
    }
    bytes += size;
    files.back().push_back(std::move(tensor));
  }
  return files;
}

/// One model.safetensors, or several files and their index.
static Status writeWeights(const HuggingFaceExport &to,
                           std::vector<TensorToWrite> tensors,
                           NewFiles &written) {
  uint64_t total = 0;
  for (const TensorToWrite &tensor : tensors)
    total += bytesOf(tensor);
  auto files = dealOut(std::move(tensors), to.mostFileBytes);
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (size_t i = 0; i < files.size(); ++i) {
    std::string name = files.size() == 1
                           ? "model.safetensors"
                           : formatText("model-%05zu-of-%05zu.safetensors",
                                        i + 1, files.size());
    for (const TensorToWrite &tensor : files[i])
      map[tensor.name] = name;
    written.add(to.dir + "/" + name);
    auto file = writeSafetensors(to.dir + "/" + name, std::move(files[i]));
    HOCKET_RETURN_IF_ERROR(file.status());
  }
  if (files.size() == 1)
    return okStatus();
  nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}},
                                  {"weight_map", std::move(map)}};
  std::string path = to.dir + "/model.safetensors.index.json";
  written.add(path);
  return writeFileAtomically(path, index.dump(2) + "\n");
}

Status checkpoint::exportHuggingFace(const Checkpoint &checkpoint,
                                     const ModelWeights &weights,
                                     const HuggingFaceExport &to) {
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(to.family));
  HOCKET_ASSIGN_OR_RETURN(auto stored, storedWeights(checkpoint, weights));
  HOCKET_ASSIGN_OR_RETURN(auto entries, huggingFaceEntries(*table, stored));
  HOCKET_ASSIGN_OR_RETURN(auto tensors,
                          tensorsOf(checkpoint, weights, to, entries));
  HOCKET_RETURN_IF_ERROR(refuseOtherWeights(to.dir));
  NewFiles written;
  written.add(to.dir);
  HOCKET_RETURN_IF_ERROR(makeDirectories(to.dir));
  HOCKET_RETURN_IF_ERROR(writeWeights(to, std::move(tensors), written));
  auto texts = to.otherFiles;
  texts["config.json"] = to.configText;
  for (const auto &[name, text] : texts) {
    written.add(to.dir + "/" + name);
    HOCKET_RETURN_IF_ERROR(writeFileAtomically(to.dir + "/" + name, text));
  }
  written.keep();
  return okStatus();
}
