//===- AdapterNames.cpp - Adapters by the names of PEFT -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/hugging_face/AdapterNames.h"

#include <algorithm>
#include <set>

using namespace hocket;
using namespace hocket::checkpoint;

std::string checkpoint::withoutWeight(std::string name) {
  constexpr std::string_view weight = ".weight";
  if (name.ends_with(weight))
    name.resize(name.size() - weight.size());
  return name;
}

std::string checkpoint::withoutNumbers(std::string_view name) {
  std::string text;
  for (size_t at = 0; at <= name.size();) {
    size_t end = std::min(name.find('.', at), name.size());
    std::string_view part = name.substr(at, end - at);
    bool isNumber = !part.empty() && std::ranges::all_of(part, [](char digit) {
      return digit >= '0' && digit <= '9';
    });
    text += (at == 0 ? "" : ".") + std::string(isNumber ? "*" : part);
    at = end + 1;
  }
  return text;
}

std::string AdapterModule::pattern() const {
  return withoutNumbers(nameOfExpert(nameOfLayer(theirs.c_str(), 0), 0));
}

std::vector<AdapterModule>
checkpoint::adapterModulesOf(const NameTable &table) {
  constexpr std::string_view layer = "layers.{i}.";
  static const std::set<std::string> linear = {
      "attention.q",     "attention.k",     "attention.v",
      "attention.o",     "mlp.gate",        "mlp.up",
      "mlp.down",        "mlp.shared.gate", "mlp.shared.up",
      "mlp.shared.down", "mlp.experts.up",  "mlp.experts.gate",
      "mlp.experts.down"};
  std::vector<AdapterModule> modules;
  for (const NameRow &row : table.rows) {
    std::string name = withoutWeight(row.parts.front());
    if (row.parts.size() != 1 || row.paired || name == row.parts.front() ||
        !name.starts_with(layer))
      continue;
    std::string target = name.substr(layer.size());
    AdapterModule module{target, withoutWeight(row.theirs)};
    bool isOfEach = module.theirs.find("{e}") != std::string::npos;
    if (!linear.contains(target) || module.isOfExperts() != isOfEach)
      continue;
    auto [file, loaded] = table.modulePrefix;
    if (std::string_view begin(file); module.theirs.starts_with(begin))
      module.theirs.replace(0, begin.size(), loaded);
    modules.push_back(std::move(module));
  }
  return modules;
}

std::string checkpoint::shortName(const AdapterModule &module,
                                  const std::vector<AdapterModule> &all) {
  size_t dot = module.theirs.rfind('.');
  if (module.isOfExperts())
    return module.theirs.substr(dot + 1);
  while (dot != std::string::npos) {
    std::string name = module.theirs.substr(dot + 1);
    auto count = std::ranges::count_if(all, [&](const AdapterModule &other) {
      return other.theirs.ends_with("." + name);
    });
    if (count == 1)
      return name;
    dot = module.theirs.rfind('.', dot - 1);
  }
  return module.theirs;
}

/// Those of all experts of a layer in PEFT's matrix for one parameter, of
/// [experts rank, in] or [out, rank experts].
static AdapterMatrix joinedMatrixOf(const AdapterModule &module, uint64_t layer,
                                    std::string_view suffix,
                                    const TensorSpec &spec,
                                    const LoraDims &lora,
                                    const AdapterLayout &layout) {
  bool isA = suffix == adapterSuffixes[0];
  bool isDown = module.target == "mlp.experts.down";
  bool isUp = module.target == "mlp.experts.up";
  bool hasDown = std::ranges::count(lora.targets, "mlp.experts.down") > 0;
  uint64_t experts = spec.shape[0];
  uint64_t rank = isDown ? layout.rank : layout.firstRank;
  uint64_t own = layout.isApart ? layout.rank : rank;
  uint64_t first = isUp && layout.isApart ? layout.rank : 0;
  AdapterMatrix matrix;
  matrix.key = std::string(adapterPrefix) + nameOfLayer(joinedExperts, layer) +
               (hasDown && !isDown ? ".base_layer" : "") + std::string(suffix);
  matrix.part = wholeOf(spec.shape);
  matrix.part.size[isA ? 1 : 2] = own;
  if (isA) {
    uint64_t in = spec.shape[2];
    matrix.shape = {experts * rank, in};
    matrix.begin = first * in;
    matrix.steps = {rank * in, in, 1};
  } else {
    uint64_t out = spec.shape[1], columns = rank * experts;
    matrix.shape = {isDown ? out : 2 * out, columns};
    matrix.begin = (isUp ? out * columns : 0) + first * experts;
    matrix.steps = {1, columns, experts};
  }
  return matrix;
}

std::vector<AdapterMatrix> checkpoint::adapterMatricesOf(
    const AdapterModule &module, uint64_t layer, std::string_view suffix,
    const TensorSpec &spec, const LoraDims &lora, const AdapterLayout &layout) {
  if (module.isOfExperts() && layout.isJoined)
    return {joinedMatrixOf(module, layer, suffix, spec, lora, layout)};
  size_t dims = spec.shape.size();
  AdapterMatrix matrix;
  matrix.key = std::string(adapterPrefix) +
               nameOfLayer(module.theirs.c_str(), layer) + std::string(suffix);
  matrix.part = wholeOf(spec.shape);
  matrix.part.size[suffix == adapterSuffixes[0] ? dims - 2 : dims - 1] =
      layout.rank;
  matrix.shape.assign(matrix.part.size.end() - 2, matrix.part.size.end());
  matrix.steps = {0, matrix.shape[1], 1};
  if (!module.isOfExperts())
    return {matrix};
  std::vector<AdapterMatrix> matrices;
  for (uint64_t e = 0; e < spec.shape[0]; ++e) {
    AdapterMatrix &each = matrices.emplace_back(matrix);
    each.key = nameOfExpert(matrix.key, e);
    each.part.offset[0] = e;
    each.part.size[0] = 1;
  }
  return matrices;
}

void checkpoint::forEachElement(
    const AdapterMatrix &matrix, const SliceBounds &held,
    const std::function<void(uint64_t ours, uint64_t theirs)> &visit) {
  const SliceBounds &part = matrix.part;
  size_t row = part.size.size() - 2, column = row + 1;
  uint64_t experts = row == 0 ? 1 : part.size[0];
  for (uint64_t e = 0; e < experts; ++e)
    for (uint64_t i = 0; i < part.size[row]; ++i)
      for (uint64_t j = 0; j < part.size[column]; ++j) {
        uint64_t ours = row == 0 ? 0 : part.offset[0] + e - held.offset[0];
        ours = ours * held.size[row] + part.offset[row] + i - held.offset[row];
        ours = ours * held.size[column] + part.offset[column] + j -
               held.offset[column];
        visit(ours, matrix.begin + e * matrix.steps[0] + i * matrix.steps[1] +
                        j * matrix.steps[2]);
      }
}
