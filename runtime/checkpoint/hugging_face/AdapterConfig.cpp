//===- AdapterConfig.cpp - What PEFT says of adapters ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "base/json/JsonObject.h"
#include "runtime/checkpoint/hugging_face/AdapterNames.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

using namespace hocket;
using namespace hocket::checkpoint;
using nlohmann::json;
using nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// Names of modules and parameters
//===----------------------------------------------------------------------===//

/// Whether other parts of a model have linear layers of the same names.
static bool hasTower(const NameTable &table) {
  return std::ranges::any_of(table.rows, [](const NameRow &row) {
    return std::string_view(row.parts.front()).starts_with("vision.");
  });
}

/// Of such a model, an expression that modules of its layers alone are: PEFT
/// takes it in the place of a list of names.
static std::string expressionOf(const std::vector<std::string> &names,
                                const AdapterModule &one) {
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

static constexpr const char *firstParameter = "gate_up_proj";
static constexpr const char *lastParameter = "down_proj";

/// Whether `name` names a parameter of all layers' experts, by the ends of its
/// whole name.
static bool isParameter(const std::string &name, const char *parameter) {
  std::string_view all = joinedExperts;
  std::string path =
      std::string(all.substr(all.find("{i}.") + 4)) + "." + parameter;
  return path == name || path.ends_with("." + name);
}

/// ".*\\.gate_up_proj" without what stands for any name and for a point.
static std::string withoutExpression(std::string name) {
  std::erase(name, '\\');
  return name.starts_with(".*.") ? name.substr(3) : name;
}

//===----------------------------------------------------------------------===//
// Reading
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

  /// A list of names, or an expression that ends in some; none where `mayLack`
  /// and there are none.
  StatusOr<std::vector<std::string>> modules(bool mayLack) const {
    auto at = config.find("target_modules");
    if (at != config.end() && at->is_string()) {
      auto names = namesIn(at->get<std::string>());
      if (names.empty())
        return wrong("target_modules", "a list of modules, or an expression "
                                       "that ends in (one|another)");
      return names;
    }
    auto names = list("target_modules");
    if (!names || (names->empty() && !mayLack))
      return wrong("target_modules", "a list of modules");
    return *names;
  }

  /// Texts; empty where there is nothing, and nullopt for anything else.
  std::optional<std::vector<std::string>> list(const std::string &key) const {
    auto at = config.find(key);
    std::vector<std::string> names;
    if (at == config.end() || at->is_null())
      return names;
    if (!at->is_array())
      return std::nullopt;
    for (const json &name : *at) {
      if (!name.is_string())
        return std::nullopt;
      names.push_back(name.get<std::string>());
    }
    return names;
  }

  /// What a pattern gives gate_up_proj, `otherwise` where there is none.
  StatusOr<double> firstPattern(const std::string &key, double otherwise,
                                double least, double most) const {
    auto at = config.find(key);
    if (at == config.end() || at->is_null() || *at == json::object())
      return otherwise;
    double value = least - 1;
    if (at->is_object() && at->size() == 1 &&
        isParameter(withoutExpression(at->begin().key()), firstParameter) &&
        at->begin()->is_number())
      value = at->begin()->get<double>();
    if (!(value >= least && value <= most))
      return wrong(key, "{}, or a number for gate_up_proj alone,");
    return value;
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

/// What the tensors of a folder of PEFT's are of, as AdapterModule::pattern()
/// has it.
static StatusOr<std::set<std::string>> patternsIn(const std::string &dir) {
  HOCKET_ASSIGN_OR_RETURN(SafetensorsFile file,
                          SafetensorsFile::open(dir + adapterWeightsFile));
  std::set<std::string> patterns;
  for (const TensorInfo &info : file.tensors()) {
    std::string_view name = info.name;
    for (std::string_view suffix : adapterSuffixes)
      if (name.starts_with(adapterPrefix) && name.ends_with(suffix))
        patterns.insert(withoutNumbers(
            name.substr(adapterPrefix.size(),
                        name.size() - adapterPrefix.size() - suffix.size())));
  }
  return patterns;
}

/// The modules that end in `name`. Where several do, those that have adapters.
static StatusOr<std::vector<AdapterModule>>
modulesCalled(const std::string &name, const std::vector<AdapterModule> &all,
              const std::string &dir) {
  std::vector<AdapterModule> found;
  std::ranges::copy_if(
      all, std::back_inserter(found),
      [&](const AdapterModule &of) { return of.theirs.ends_with("." + name); });
  if (found.size() < 2)
    return found;
  HOCKET_ASSIGN_OR_RETURN(auto patterns, patternsIn(dir));
  std::erase_if(found, [&](const AdapterModule &module) {
    return !patterns.contains(module.pattern());
  });
  return found;
}

static constexpr double mostRank = 1 << 16, mostAlpha = 1e6;

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
                      {"layers_to_transform", json::array(), "null"},
                      {"layer_replication", json::array(), "null"},
                      {"exclude_modules", json::array(), "null"},
                      {"trainable_token_indices", json::array(), "null"}};
  for (const Key &key : keys)
    HOCKET_RETURN_IF_ERROR(
        reader.expectDefault(key.name, key.same, key.expected));
  return reader.expectNoVariants();
}

/// The name that a matrix of a module's parameter has where PEFT adapts another
/// one of the module too.
static std::string withBase(std::string name) {
  size_t suffix = name.size() - adapterSuffixes[1].size();
  return name.insert(suffix, ".base_layer");
}

/// Whether in every matrix B of a gate_up_proj the gate's rows have nothing to
/// do with the second half of the rank, and those of up nothing with the first.
static StatusOr<bool> holdsApart(const std::string &dir, uint64_t rank) {
  HOCKET_ASSIGN_OR_RETURN(SafetensorsFile file,
                          SafetensorsFile::open(dir + adapterWeightsFile));
  const std::string experts = std::string(adapterPrefix) +
                              withoutNumbers(nameOfLayer(joinedExperts, 0));
  for (const TensorInfo &info : file.tensors()) {
    std::string name = withoutNumbers(info.name);
    if (name != experts + ".base_layer" + std::string(adapterSuffixes[1]) &&
        name != experts + std::string(adapterSuffixes[1]))
      continue;
    bool isLast = name.find("base_layer") == name.npos &&
                  file.find(withBase(info.name)) != nullptr;
    if (isLast)
      continue; // Of down_proj.
    uint64_t count = info.shape.size() == 2 ? info.shape[1] / (2 * rank) : 0;
    if (count == 0 || info.shape[0] % 2 != 0 || !toFloats({}, info.type))
      return false; // It will be told of.
    HOCKET_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, file.read(info));
    std::vector<float> values = *toFloats(bytes, info.type);
    for (size_t at = 0; at < values.size(); ++at) {
      bool isUp = at / info.shape[1] >= info.shape[0] / 2;
      bool isSecond = at % info.shape[1] / count >= rank;
      if (values[at] != 0 && isUp != isSecond)
        return false;
    }
  }
  return true;
}

/// The targets that "target_parameters" names, and how wide they are.
static StatusOr<std::set<std::string>>
readParameters(const ConfigReader &reader, const std::string &dir,
               const NameTable &table, AdapterConfig &config) {
  std::set<std::string> targets;
  LoraDims &lora = config.lora;
  AdapterLayout &layout = config.layout;
  layout = {lora.rank, false, lora.rank, false};
  auto names = reader.list("target_parameters");
  if (!names)
    return reader.wrong("target_parameters", "a list of parameters");
  for (const std::string &name : *names) {
    if (isParameter(name, firstParameter))
      targets.insert({"mlp.experts.gate", "mlp.experts.up"});
    else if (isParameter(name, lastParameter))
      targets.insert("mlp.experts.down");
    else
      return reader.wrong("target_parameters",
                          "mlp.experts.gate_up_proj and mlp.experts.down_proj "
                          "of all layers, not '" +
                              name + "',");
  }
  layout.isJoined = !targets.empty();
  if (layout.isJoined && std::ranges::none_of(adapterModulesOf(table),
                                              &AdapterModule::isOfExperts))
    return reader.wrong("target_parameters",
                        std::string("nothing of a ") + table.family + " model");
  if (!targets.contains("mlp.experts.up")) {
    HOCKET_RETURN_IF_ERROR(
        reader.expectDefault("rank_pattern", json::object(), "{}"));
    HOCKET_RETURN_IF_ERROR(
        reader.expectDefault("alpha_pattern", json::object(), "{}"));
    return targets;
  }
  HOCKET_ASSIGN_OR_RETURN(
      double rank,
      reader.firstPattern("rank_pattern", double(lora.rank), 1, mostRank));
  HOCKET_ASSIGN_OR_RETURN(
      double alpha,
      reader.firstPattern("alpha_pattern", lora.alpha, 1e-6, mostAlpha));
  layout.firstRank = uint64_t(rank);
  if (double(layout.firstRank) != rank)
    return reader.wrong("rank_pattern", "a whole number");
  if (alpha * double(lora.rank) != lora.alpha * double(layout.firstRank))
    return reader.wrong("alpha_pattern",
                        "as much for gate_up_proj, by its rank, as "
                        "'lora_alpha' is by 'r'");
  if (layout.firstRank == 2 * lora.rank) {
    HOCKET_ASSIGN_OR_RETURN(layout.isApart, holdsApart(dir, lora.rank));
  }
  if (!layout.isApart && layout.firstRank > lora.rank) {
    lora.rank = layout.firstRank;
    lora.alpha = alpha;
  }
  return targets;
}

/// Adds the targets that "target_modules" names.
static Status addModules(const ConfigReader &reader, const std::string &dir,
                         const NameTable &table,
                         std::set<std::string> &targets) {
  const std::vector<AdapterModule> all = adapterModulesOf(table);
  bool isJoined = !targets.empty();
  HOCKET_ASSIGN_OR_RETURN(auto names, reader.modules(isJoined));
  for (const std::string &name : names) {
    HOCKET_ASSIGN_OR_RETURN(auto found, modulesCalled(name, all, dir));
    if (found.empty())
      return reader.wrong("target_modules", std::string("linear layers of a ") +
                                                table.family + " model, not '" +
                                                name + "',");
    for (const AdapterModule &module : found) {
      if (isJoined && module.isOfExperts())
        return reader.wrong("target_modules",
                            "experts here or under 'target_parameters', but "
                            "not both,");
      targets.insert(module.target);
    }
  }
  return okStatus();
}

StatusOr<AdapterConfig>
checkpoint::readAdapterConfig(const std::string &dir,
                              const std::string &family) {
  constexpr uint64_t mostBytes = uint64_t{1} << 20;
  HOCKET_ASSIGN_OR_RETURN(const NameTable *table, findNameTable(family));
  std::string path = dir + adapterConfigFile;
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
  HOCKET_ASSIGN_OR_RETURN(std::set<std::string> targets,
                          readParameters(reader, dir, *table, config));
  HOCKET_RETURN_IF_ERROR(addModules(reader, dir, *table, targets));
  for (const AdapterModule &module : adapterModulesOf(*table))
    if (targets.erase(module.target) > 0) // In the order of a layer.
      config.lora.targets.push_back(module.target);
  return config;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static bool isTransposed(const NameTable &table) {
  return std::ranges::any_of(table.rows,
                             [](const NameRow &row) { return row.transposed; });
}

/// Whole, where it is a whole number.
static ordered_json numberOf(double value) {
  return value == double(int64_t(value)) ? ordered_json(int64_t(value))
                                         : ordered_json(value);
}

/// Adds to `config` what it says of joined experts.
static void addParameters(const LoraDims &lora, const AdapterLayout &layout,
                          ordered_json &config) {
  std::vector<std::string> names;
  auto has = [&](const char *target) {
    return std::ranges::count(lora.targets, target) > 0;
  };
  if (has("mlp.experts.gate") || has("mlp.experts.up"))
    names.push_back(std::string("mlp.experts.") + firstParameter);
  if (has("mlp.experts.down"))
    names.push_back(std::string("mlp.experts.") + lastParameter);
  if (!layout.isJoined || names.empty())
    return;
  config["target_parameters"] = names;
  if (!layout.isApart)
    return;
  // As PEFT writes it.
  std::string pattern = std::string(".*\\.") + firstParameter;
  config["rank_pattern"] = {{pattern, layout.firstRank}};
  config["alpha_pattern"] = {
      {pattern, numberOf(lora.scale() * double(layout.firstRank))}};
}

std::string checkpoint::adapterConfigText(
    const NameTable &table, const LoraDims &lora, const std::string &baseName,
    const std::vector<AdapterModule> &modules, const AdapterLayout &layout) {
  const std::vector<AdapterModule> all = adapterModulesOf(table);
  std::vector<std::string> names;
  for (const AdapterModule &module : modules) {
    std::string name = shortName(module, all);
    if (!(layout.isJoined && module.isOfExperts()) &&
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  ordered_json told = names;
  if (hasTower(table))
    told = expressionOf(names, all.front());
  ordered_json config = {
      {"alpha_pattern", ordered_json::object()},
      {"auto_mapping", nullptr},
      {"base_model_name_or_path", baseName},
      {"bias", "none"},
      {"fan_in_fan_out", isTransposed(table)},
      {"inference_mode", true},
      {"init_lora_weights", true},
      {"layers_pattern", nullptr},
      {"layers_to_transform", nullptr},
      {"lora_alpha", numberOf(lora.alpha)},
      {"lora_dropout", lora.dropout},
      {"modules_to_save", nullptr},
      {"peft_type", "LORA"},
      {"r", lora.rank},
      {"rank_pattern", ordered_json::object()},
      {"revision", nullptr},
      {"target_modules", told},

      {"task_type", "CAUSAL_LM"},
      {"use_dora", false},
      {"use_rslora", false},
  };
  addParameters(lora, layout, config);
  return config.dump(2) + "\n";
}
