//===- Adapters.cpp - Low-rank adapters from and for PEFT -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/hugging_face/Adapters.h"

#include "base/File.h"
#include "base/json/JsonObject.h"
#include "runtime/checkpoint/hugging_face/HuggingFaceNames.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

using namespace hocket;
using namespace hocket::checkpoint;
using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

static constexpr std::string_view suffixes[] = {".lora_A.weight",
                                                ".lora_B.weight"};
static constexpr std::string_view weightSuffix = ".weight";
static constexpr const char *weightsFile = "/adapter_model.safetensors";
static constexpr const char *configFile = "/adapter_config.json";

//===----------------------------------------------------------------------===//
// Names and shapes
//===----------------------------------------------------------------------===//

bool checkpoint::isAdapter(std::string_view name) {
  return std::ranges::any_of(suffixes, [&](std::string_view suffix) {
    return name.ends_with(suffix);
  });
}

static std::string withoutWeight(std::string name) {
  if (name.ends_with(weightSuffix))
    name.resize(name.size() - weightSuffix.size());
  return name;
}

/// A and B of the linear layer whose weight is `weight`, or of each expert's.
static std::vector<TensorSpec> matricesOf(const TensorSpec &weight,
                                          uint64_t rank) {
  std::string base = withoutWeight(weight.key.name);
  size_t dims = weight.shape.size();
  std::vector<uint64_t> a = weight.shape, b = weight.shape;
  a[dims - 2] = rank;
  b[dims - 1] = rank;
  return {{{base + std::string(suffixes[0]), ""}, ElementType::F32, a},
          {{base + std::string(suffixes[1]), ""}, ElementType::F32, b}};
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

namespace {
/// A linear layer that an adapter can have, and its module there.
struct Module {
  std::string target; ///< "attention.q"
  std::string theirs; ///< "model.layers.{i}.self_attn.q_proj"

  bool isOfExperts() const { return target.starts_with(experts); }
  /// "*.experts.*.w1", which tells of no layer and no expert.
  std::string pattern() const;

  static constexpr std::string_view experts = "mlp.experts.";
};

/// One matrix of PEFT's: a part of a tensor of Hocket's.
struct Matrix {
  std::string key;
  std::vector<uint64_t> shape;
  SliceBounds part;
};
} // namespace

/// `name` with an asterisk for each part that is a number.
static std::string withoutNumbers(std::string_view name) {
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

std::string Module::pattern() const {
  return withoutNumbers(nameOfExpert(nameOfLayer(theirs.c_str(), 0), 0));
}

/// Those of a family that stand alone in their tensor. Of experts, those that
/// have a tensor each.
static std::vector<Module> modulesOf(const NameTable &table) {
  constexpr std::string_view layer = "layers.{i}.";
  static const std::set<std::string> linear = {
      "attention.q",     "attention.k",     "attention.v",
      "attention.o",     "mlp.gate",        "mlp.up",
      "mlp.down",        "mlp.shared.gate", "mlp.shared.up",
      "mlp.shared.down", "mlp.experts.up",  "mlp.experts.gate",
      "mlp.experts.down"};
  std::vector<Module> modules;
  for (const NameRow &row : table.rows) {
    std::string name = withoutWeight(row.parts.front());
    if (row.parts.size() != 1 || name == row.parts.front() ||
        !name.starts_with(layer))
      continue;
    std::string target = name.substr(layer.size());
    Module module{target, withoutWeight(row.theirs)};
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

/// The last part of a module's name, or as many of them as no other one ends
/// in. Of experts always the last: PEFT looks for that where a model has all of
/// them in one parameter, and adapters that are not in the file are zero.
static std::string shortName(const Module &module,
                             const std::vector<Module> &all) {
  size_t dot = module.theirs.rfind('.');
  if (module.isOfExperts())
    return module.theirs.substr(dot + 1);
  while (dot != std::string::npos) {
    std::string name = module.theirs.substr(dot + 1);
    auto count = std::ranges::count_if(all, [&](const Module &other) {
      return other.theirs.ends_with("." + name);
    });
    if (count == 1)
      return name;
    dot = module.theirs.rfind('.', dot - 1);
  }
  return module.theirs;
}

static std::string adapterOf(const Module &module, uint64_t layer,
                             std::string_view suffix) {
  return withoutWeight(weightOf(module.target, layer)) + std::string(suffix);
}

static constexpr std::string_view keyPrefix = "base_model.model.";

/// What PEFT has of an adapter's matrix `spec`.
static std::vector<Matrix> matricesOf(const Module &module, uint64_t layer,
                                      std::string_view suffix,
                                      const TensorSpec &spec) {
  std::string key = std::string(keyPrefix) +
                    nameOfLayer(module.theirs.c_str(), layer) +
                    std::string(suffix);
  SliceBounds part = wholeOf(spec.shape);
  if (!module.isOfExperts())
    return {{key, spec.shape, part}};
  std::vector<Matrix> matrices;
  part.size[0] = 1;
  for (uint64_t e = 0; e < spec.shape[0]; ++e) {
    part.offset[0] = e;
    matrices.push_back(
        {nameOfExpert(key, e), {spec.shape[1], spec.shape[2]}, part});
  }
  return matrices;
}

/// Whether other parts of a model have linear layers of the same names.
static bool hasTower(const NameTable &table) {
  return std::ranges::any_of(table.rows, [](const NameRow &row) {
    return std::string_view(row.parts.front()).starts_with("vision.");
  });
}

/// Of such a model, an expression that modules of its layers alone are: PEFT
/// takes it in the place of a list of names.
static std::string expressionOf(const std::vector<std::string> &names,
                                const Module &one) {
  std::string layers = one.theirs.substr(0, one.theirs.find(".{i}")), text;
  auto add = [&](const std::string &name) {
    for (char c : name)
      text += c == '.' ? "\\." : std::string(1, c);
  };
  add(layers);
  text += "\\..*\\.(";
  for (size_t i = 0; i < names.size(); ++i) {
    text += i > 0 ? "|" : "";
    add(names[i]);
  }
  return text + ")";
}

/// The names in such an expression; none where it is another.
static std::vector<std::string> namesIn(const std::string &expression) {
  size_t open = expression.rfind('(');
  std::vector<std::string> names;
  if (open == std::string::npos || !expression.ends_with(")"))
    return names;
  std::string name;
  for (char c : expression.substr(open + 1)) {
    if (c == '|' || c == ')') {
      names.push_back(std::exchange(name, ""));
    } else if (c != '\\') {
      name += c;
    }
  }
  return names;
}

/// The module of each target. InvalidArgument where the family joins it.
static StatusOr<std::vector<Module>> modulesOf(const NameTable &table,
                                               const LoraDims &lora) {
  std::vector<Module> all = modulesOf(table), found;
  for (const std::string &target : lora.targets) {
    auto at = std::ranges::find(all, target, &Module::target);
    if (at == all.end())
      return invalidArgument(std::string("the family ") + table.family +
                             " joins " + target +
                             " with others in one module or parameter, so that "
                             "an adapter of it alone cannot be written; merge "
                             "it: --format huggingface");
    found.push_back(*at);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The config
//===----------------------------------------------------------------------===//

namespace {
/// Reads the keys of an adapter_config.json.
class ConfigReader {
public:
  ConfigReader(std::string path, const json &config)
      : path(std::move(path)), config(config) {}

  Status wrong(const std::string &key, const std::string &expected) const {
    auto at = config.find(key);
    std::string found = at == config.end() ? "nothing" : at->dump();
    return invalidArgument(path + ": expected " + expected + " under '" + key +
                           "', found " + found);
  }

  /// Fails unless `key` is absent, null, or one of `same`.
  Status expectDefault(const std::string &key, const json &same,
                       const std::string &expected) const {
    auto at = config.find(key);
    if (at == config.end() || at->is_null() || *at == same)
      return okStatus();
    return wrong(key, expected);
  }

  StatusOr<double> number(const std::string &key, double least,
                          double most) const {
    auto at = config.find(key);
    double value =
        at != config.end() && at->is_number() ? at->get<double>() : least - 1;
    if (!(value >= least && value <= most))
      return wrong(key, "a number");
    return value;
  }

  StatusOr<std::vector<std::string>> modules() const {
    auto at = config.find("target_modules");
    std::vector<std::string> names;
    if (at != config.end() && at->is_array())
      for (const json &name : *at)
        if (name.is_string())
          names.push_back(name.get<std::string>());
    if (at != config.end() && at->is_string()) {
      names = namesIn(at->get<std::string>());
      if (names.empty())
        return wrong("target_modules", "a list of modules, or an expression "
                                       "that ends in (one|another)");
      return names;
    }
    if (names.empty() || names.size() != at->size())
      return wrong("target_modules", "a list of modules");
    return names;
  }

  /// What variants of LoRA are configured by: each empty.
  Status expectNoVariants() const {
    for (const auto &[key, value] : config.items())
      if (key.ends_with("_config") && !value.is_null() &&
          !(value.is_object() && value.empty()))
        return wrong(key, "null");
    return okStatus();
  }

  std::string text(const std::string &key) const {
    auto at = config.find(key);
    return at != config.end() && at->is_string() ? at->get<std::string>() : "";
  }

private:
  std::string path;
  const json &config;
};
} // namespace

/// What the tensors of a folder of PEFT's are of, as Module::pattern() has it.
static StatusOr<std::set<std::string>> patternsIn(const std::string &dir) {
  HOCKET_ASSIGN_OR_RETURN(SafetensorsFile file,
                          SafetensorsFile::open(dir + weightsFile));
  std::set<std::string> patterns;
  for (const TensorInfo &info : file.tensors()) {
    std::string_view name = info.name;
    for (std::string_view suffix : suffixes)
      if (name.starts_with(keyPrefix) && name.ends_with(suffix))
        patterns.insert(withoutNumbers(name.substr(
            keyPrefix.size(), name.size() - keyPrefix.size() - suffix.size())));
  }
  return patterns;
}

/// The modules that end in `name`. Where several do, those that have adapters.
static StatusOr<std::vector<Module>>
modulesCalled(const std::string &name, const std::vector<Module> &all,
              const std::string &dir) {
  std::vector<Module> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const Module &of) {
    return of.theirs.ends_with("." + name);
  });
  if (found.size() < 2)
    return found;
  HOCKET_ASSIGN_OR_RETURN(auto patterns, patternsIn(dir));
  std::erase_if(found, [&](const Module &module) {
    return !patterns.contains(module.pattern());
  });
  return found;
}

/// What changes the mathematics, or trains more than adapters.
static Status expectPlain(const ConfigReader &reader) {
  if (reader.text("peft_type") != "LORA")
    return reader.wrong("peft_type", "\"LORA\"");
  struct Key {
    const char *name;
    json same;
    const char *expected;
  };
  const Key keys[] = {{"use_dora", false, "false"},
                      {"use_rslora", false, "false"},
                      {"use_qalora", false, "false"},
                      {"use_bdlora", false, "false"},
                      {"alora_invocation_tokens", json::array(), "null"},
                      {"bias", "none", "\"none\""},
                      {"lora_bias", false, "false"},
                      {"modules_to_save", json::array(), "null"},
                      {"rank_pattern", json::object(), "{}"},
                      {"alpha_pattern", json::object(), "{}"},
                      {"layers_to_transform", json::array(), "null"},
                      {"layer_replication", json::array(), "null"},
                      {"exclude_modules", json::array(), "null"},
                      {"target_parameters", json::array(), "null"},
                      {"trainable_token_indices", json::array(), "null"}};
  for (const Key &key : keys)
    HOCKET_RETURN_IF_ERROR(
        reader.expectDefault(key.name, key.same, key.expected));
  return reader.expectNoVariants();
}

StatusOr<AdapterConfig>
checkpoint::readAdapterConfig(const std::string &dir,
                              const std::string &family) {
  constexpr uint64_t mostBytes = uint64_t{1} << 20;
  constexpr double mostRank = 1 << 16, mostAlpha = 1e6;
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(family));
  std::string path = dir + configFile;
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(path, mostBytes));
  HOCKET_ASSIGN_OR_RETURN(json object, parseJsonObject(text, path, 1));
  ConfigReader reader(path, object);
  HOCKET_RETURN_IF_ERROR(expectPlain(reader));
  AdapterConfig config;
  config.baseName = reader.text("base_model_name_or_path");
  HOCKET_ASSIGN_OR_RETURN(double rank, reader.number("r", 1, mostRank));
  config.lora.rank = uint64_t(rank);
  HOCKET_ASSIGN_OR_RETURN(config.lora.alpha,
                          reader.number("lora_alpha", 1e-6, mostAlpha));
  if (object.contains("lora_dropout")) {
    HOCKET_ASSIGN_OR_RETURN(config.lora.dropout,
                            reader.number("lora_dropout", 0, 0.999999));
  }
  HOCKET_ASSIGN_OR_RETURN(auto names, reader.modules());
  const std::vector<Module> all = modulesOf(*table);
  std::set<std::string> targets;
  for (const std::string &name : names) {
    HOCKET_ASSIGN_OR_RETURN(auto found, modulesCalled(name, all, dir));
    if (found.empty())
      return reader.wrong("target_modules", "linear layers of a " + family +
                                                " model, not '" + name + "',");
    for (const Module &module : found)
      targets.insert(module.target);
  }
  for (const Module &module : all) // In the order of a layer.
    if (targets.erase(module.target) > 0)
      config.lora.targets.push_back(module.target);
  return config;
}

static std::string configText(const LoraDims &lora, const std::string &baseName,
                              const ordered_json &modules, bool transposed) {
  ordered_json config = {
      {"alpha_pattern", ordered_json::object()},
      {"auto_mapping", nullptr},
      {"base_model_name_or_path", baseName},
      {"bias", "none"},
      {"fan_in_fan_out", transposed},
      {"inference_mode", true},
      {"init_lora_weights", true},
      {"layers_pattern", nullptr},
      {"layers_to_transform", nullptr},
      {"lora_alpha", lora.alpha},
      {"lora_dropout", lora.dropout},
      {"modules_to_save", nullptr},
      {"peft_type", "LORA"},
      {"r", lora.rank},
      {"rank_pattern", ordered_json::object()},
      {"revision", nullptr},
      {"target_modules", modules},
      {"task_type", "CAUSAL_LM"},
      {"use_dora", false},
      {"use_rslora", false},
  };
  if (lora.alpha == double(int64_t(lora.alpha)))
    config["lora_alpha"] = int64_t(lora.alpha);
  return config.dump(2) + "\n";
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// `matrix` in `file`, if it is as it should be.
static StatusOr<const TensorInfo *> findMatrix(const SafetensorsFile &file,
                                               const Matrix &matrix) {
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

StatusOr<std::vector<CheckpointTensor>>
checkpoint::importAdapters(const std::string &dir, const std::string &family,
                           const ModelWeights &weights) {
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(family));
  HOCKET_ASSIGN_OR_RETURN(auto modules, modulesOf(*table, *weights.lora));
  HOCKET_ASSIGN_OR_RETURN(auto adapters, adaptersOf(weights));
  HOCKET_ASSIGN_OR_RETURN(SafetensorsFile opened,
                          SafetensorsFile::open(dir + weightsFile));
  auto file = std::make_shared<SafetensorsFile>(std::move(opened));
  auto specs = byName(adapters);
  std::vector<CheckpointTensor> tensors;
  std::set<std::string> used;
  for (uint64_t layer = 0; layer < weights.layers; ++layer)
    for (const Module &module : modules)
      for (std::string_view suffix : suffixes) {
        auto found = specs.find(adapterOf(module, layer, suffix));
        if (found == specs.end())
          continue;
        CheckpointTensor &tensor = tensors.emplace_back();
        tensor.spec = found->second;
        for (const Matrix &matrix :
             matricesOf(module, layer, suffix, found->second)) {
          HOCKET_ASSIGN_OR_RETURN(const TensorInfo *info,
                                  findMatrix(*file, matrix));
          used.insert(matrix.key);
          tensor.slices.push_back(
              {matrix.part, [file, info](const ByteSink &sink) {
                 auto bytes = file->read(*info);
                 if (!bytes.ok())
                   return bytes.status();
                 auto floats = *toFloats(*bytes, info->type);
                 return sink({reinterpret_cast<const uint8_t *>(floats.data()),
                              floats.size() * sizeof(float)});
               }});
        }
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

static bool isTransposed(const NameTable &table) {
  return std::ranges::any_of(table.rows,
                             [](const NameRow &row) { return row.transposed; });
}

Status checkpoint::exportAdapters(const Checkpoint &checkpoint,
                                  const std::string &family,
                                  const ModelWeights &weights,
                                  const std::string &dir,
                                  const std::string &baseName) {
  if (!weights.lora)
    return invalidArgument(checkpoint.path() +
                           ": has no adapters: training.lora is not in its "
                           "specification");
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(family));
  HOCKET_ASSIGN_OR_RETURN(auto modules, modulesOf(*table, *weights.lora));
  HOCKET_ASSIGN_OR_RETURN(auto adapters, adaptersOf(weights));
  auto expected = byName(adapters);
  std::vector<Module> all = modulesOf(*table);
  const auto stored = checkpoint.tensors();
  std::vector<std::string> names;
  std::vector<TensorToWrite> tensors;
  for (const Module &module : modules) {
    if (std::string name = shortName(module, all);
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
    for (uint64_t layer = 0; layer < weights.layers; ++layer)
      for (std::string_view suffix : suffixes) {
        std::string name = adapterOf(module, layer, suffix);
        if (!expected.contains(name))
          continue;
        auto spec = std::ranges::find_if(stored, [&](const TensorSpec &tensor) {
          return tensor.key == TensorKey{name, ""};
        });
        if (spec == stored.end())
          return invalidArgument(checkpoint.path() + ": tensor '" + name +
                                 "' is missing");
        for (const Matrix &matrix : matricesOf(module, layer, suffix, *spec))
          tensors.push_back(
              {matrix.key, ElementType::F32, matrix.shape,
               [&checkpoint, spec = *spec,
                part = matrix.part](const ByteSink &sink) -> Status {
                 HOCKET_ASSIGN_OR_RETURN(auto floats,
                                         readFloats(checkpoint, spec, part));
                 return sink({reinterpret_cast<const uint8_t *>(floats.data()),
                              floats.size() * sizeof(float)});
               }});
      }
  }
  std::error_code error;
  if (fs::exists(dir + weightsFile, error))
    return invalidArgument(dir + ": holds adapter_model.safetensors already; "
                                 "remove it or name another folder");
  HOCKET_RETURN_IF_ERROR(makeDirectories(dir));
  HOCKET_RETURN_IF_ERROR(
      writeSafetensors(dir + weightsFile, std::move(tensors)).status());
  ordered_json told = names;
  if (hasTower(*table))
    told = expressionOf(names, all.front());
  return writeFileAtomically(
      dir + configFile,
      configText(*weights.lora, baseName, told, isTransposed(*table)));
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
