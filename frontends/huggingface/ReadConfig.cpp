//===- ReadConfig.cpp - A spec from a Hugging Face folder -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ReadConfig.h"

#include "frontends/huggingface/ConfigJson.h"
#include "frontends/huggingface/Families.h"
#include "frontends/spec/FieldNames.h"
#include "frontends/spec/FieldPath.h"
#include "frontends/spec/SpecText.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <filesystem>

using namespace hocket;
using namespace hocket::huggingface;
using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;
using spec::FieldReference;
using spec::LoadedSpec;
using spec::Model;

namespace {
class ConfigReader {
public:
  ConfigReader(const ConfigJson &config, const Family &family)
      : config(config), family(family),
        loaded{spec::Spec(), spec::FieldLocations(config.fileName())} {}

  StatusOr<LoadedSpec> read();

private:
  Status readRow(const Row &row);
  Status readActivation();
  Status readRope(const std::string &key);
  Status readScaling(const std::string &key, const std::string &type);
  Status readWindow();
  Status readLayerTypes();
  Status readDenseLayers();
  Status readAttentionScale();
  Status refuseUnsupported();

  /// Sets the field `path` to the value of `key`, which is there.
  Status assign(const std::string &key, const std::string &path);

  Status error(int constraint, const std::string &key,
               const std::string &text) const {
    return invalidArgument(config.place(key).str() + ": H" +
                           std::to_string(constraint) + ": " + text);
  }
  Status wrongType(const std::string &key, const std::string &expected) const {
    return error(3, key,
                 key + " is " + describe(*config.find(key)) + "; write " +
                     expected);
  }
  /// Whether `key` is `true`; an error where it is no boolean.
  StatusOr<bool> flag(const std::string &key, bool absent) const;

  const ConfigJson &config;
  const Family &family;
  LoadedSpec loaded;
};
} // namespace

Status ConfigReader::assign(const std::string &key, const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(FieldReference at, findForWriting(loaded.spec, path));
  const Reflection &reflection = *at.message->GetReflection();
  const auto &value = config.find(key)->value;
  switch (at.field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT64:
    if (!std::holds_alternative<int64_t>(value))
      return wrongType(key, "a whole number");
    reflection.SetInt64(at.message, at.field, std::get<int64_t>(value));
    break;
  case FieldDescriptor::CPPTYPE_DOUBLE:
    if (std::holds_alternative<int64_t>(value))
      reflection.SetDouble(at.message, at.field,
                           static_cast<double>(std::get<int64_t>(value)));
    else if (std::holds_alternative<double>(value))
      reflection.SetDouble(at.message, at.field, std::get<double>(value));
    else
      return wrongType(key, "a number");
    break;
  case FieldDescriptor::CPPTYPE_BOOL:
    if (!std::holds_alternative<bool>(value))
      return wrongType(key, "true or false");
    reflection.SetBool(at.message, at.field, std::get<bool>(value));
    break;
  default:
    return internalError("no key of a config sets " + path);
  }
  loaded.locations.set(path, config.place(key));
  return okStatus();
}

StatusOr<bool> ConfigReader::flag(const std::string &key, bool absent) const {
  const ConfigValue *found = config.find(key);
  if (!found)
    return absent;
  if (!std::holds_alternative<bool>(found->value))
    return wrongType(key, "true or false");
  return std::get<bool>(found->value);
}

Status ConfigReader::readRow(const Row &row) {
  if (config.find(row.key))
    return assign(row.key, row.path);
  if (config.isNull(row.key) && !row.required) {
    // Not the family's usual value, but none.
    HOCKET_ASSIGN_OR_RETURN(FieldReference at,
                            findForWriting(loaded.spec, row.path));
    at.message->GetReflection()->ClearField(at.message, at.field);
    return okStatus();
  }
  if (!row.required)
    return okStatus();
  return invalidArgument(config.fileName() + ": H4: a " + family.modelType +
                         " config needs the key \"" + row.key + "\"");
}

Status ConfigReader::readActivation() {
  const ConfigValue *found = config.find(family.activationKey);
  if (!found)
    return okStatus();
  const auto *name = std::get_if<std::string>(&found->value);
  if (!name)
    return wrongType(family.activationKey, "a name");
  std::vector<std::string> known;
  for (const ActivationName &activation : family.activations) {
    known.push_back(activation.name);
    if (*name != activation.name)
      continue;
    Model::Activation value;
    if (!Model::Activation_Parse(activation.value, &value))
      return internalError(std::string("no activation ") + activation.value);
    loaded.spec.mutable_model()->set_activation(value);
    loaded.locations.set("model.activation", found->place);
    return okStatus();
  }
  return error(5, family.activationKey,
               std::string(family.activationKey) + " is " + describe(*found) +
                   "; supported for " + family.modelType + " are " +
                   spec::joinAlternatives(known));
}

Status ConfigReader::readScaling(const std::string &key,
                                 const std::string &type) {
  if (type == "default")
    return okStatus();
  auto require = [&](const char *inner, const std::string &path) -> Status {
    std::string full = key + "." + inner;
    if (config.find(full))
      return assign(full, path);
    return error(4, key,
                 key + " of type " + type + " needs the key \"" + inner + "\"");
  };
  const std::string scaling = "model.rope.scaling.";
  loaded.locations.set("model.rope.scaling", config.place(key));
  if (type == "linear")
    return require("factor", scaling + "linear.factor");
  if (type == "llama3") {
    const std::string llama3 = scaling + "llama3.";
    HOCKET_RETURN_IF_ERROR(require("factor", llama3 + "factor"));
    HOCKET_RETURN_IF_ERROR(
        require("low_freq_factor", llama3 + "low_freq_factor"));
    HOCKET_RETURN_IF_ERROR(
        require("high_freq_factor", llama3 + "high_freq_factor"));
    return require("original_max_position_embeddings",
                   llama3 + "original_max_positions");
  }
  return error(5, key,
               key + " is of type \"" + spec::elide(type) +
                   "\"; supported are default, linear or llama3");
}

/// `rope_scaling`, or `rope_parameters` as newer versions write it.
Status ConfigReader::readRope(const std::string &key) {
  const ConfigValue *found = config.find(key);
  if (!found || loaded.spec.model().position() != Model::ROTARY)
    return okStatus();
  if (!std::holds_alternative<Other>(found->value))
    return wrongType(key, "an object");
  if (config.find(key + ".rope_theta"))
    HOCKET_RETURN_IF_ERROR(assign(key + ".rope_theta", "model.rope.theta"));
  for (const char *inner : {".rope_type", ".type"}) {
    const ConfigValue *type = config.find(key + inner);
    if (!type)
      continue;
    if (!std::holds_alternative<std::string>(type->value))
      return wrongType(key + inner, "a name");
    return readScaling(key, std::get<std::string>(type->value));
  }
  if (key == "rope_scaling")
    return error(4, key, "rope_scaling needs the key \"rope_type\"");
  return okStatus();
}

/// Qwen's windows: on or off, and on from a layer onwards.
Status ConfigReader::readWindow() {
  if (!family.mixedWindows)
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(bool used, flag("use_sliding_window", false));
  if (!used || !config.find("sliding_window"))
    return okStatus();
  const ConfigValue *first = config.find("max_window_layers");
  const int64_t *layer = first ? std::get_if<int64_t>(&first->value) : nullptr;
  if (!layer)
    return error(4, "use_sliding_window",
                 "use_sliding_window needs the key \"max_window_layers\", a "
                 "whole number");
  if (*layer >= loaded.spec.model().layers())
    return okStatus();
  if (*layer > 0)
    return error(5, "max_window_layers",
                 "max_window_layers is " + std::to_string(*layer) +
                     ", so that layers differ in their window; write 0 for a "
                     "window in every layer, or use_sliding_window: false");
  return assign("sliding_window", "model.sliding_window");
}

/// Newer configs name each layer's kind of attention.
Status ConfigReader::readLayerTypes() {
  const ConfigValue *found = config.find("layer_types");
  if (!found)
    return okStatus();
  const auto *types = std::get_if<StringList>(&found->value);
  if (!types)
    return wrongType("layer_types", "a list of names");
  bool windowed = loaded.spec.model().has_sliding_window();
  const char *wanted = windowed ? "sliding_attention" : "full_attention";
  for (const std::string &type : *types)
    if (type != wanted)
      return error(5, "layer_types",
                   "layer_types has \"" + spec::elide(type) +
                       "\", but every layer of this config must be \"" +
                       wanted + "\"");
  return okStatus();
}

/// Layers without experts, by number: only the first few may be.
Status ConfigReader::readDenseLayers() {
  const ConfigValue *found = config.find("mlp_only_layers");
  if (!family.experts || !found)
    return okStatus();
  if (const auto *names = std::get_if<StringList>(&found->value))
    if (names->empty())
      return okStatus();
  const auto *layers = std::get_if<IntegerList>(&found->value);
  if (!layers)
    return wrongType("mlp_only_layers", "a list of whole numbers");
  for (size_t i = 0; i < layers->size(); ++i)
    if ((*layers)[i] != static_cast<int64_t>(i))
      return error(5, "mlp_only_layers",
                   "mlp_only_layers has " + std::to_string((*layers)[i]) +
                       "; only the first layers can be without experts: 0, "
                       "1, ...");
  spec::Moe &moe = *loaded.spec.mutable_model()->mutable_moe();
  if (moe.interval() != 1)
    return error(5, "mlp_only_layers",
                 "mlp_only_layers and a decoder_sparse_step of " +
                     std::to_string(moe.interval()) +
                     " are not supported together");
  moe.set_first_dense_layers(static_cast<int64_t>(layers->size()));
  loaded.locations.set("model.moe.first_dense_layers",
                       config.place("mlp_only_layers"));
  return okStatus();
}

Status ConfigReader::readAttentionScale() {
  HOCKET_ASSIGN_OR_RETURN(bool scaled, flag("scale_attn_weights", true));
  if (scaled)
    return okStatus();
  loaded.spec.mutable_model()->set_attention_scale(1);
  loaded.locations.set("model.attention_scale",
                       config.place("scale_attn_weights"));
  return okStatus();
}

Status ConfigReader::refuseUnsupported() {
  if (config.find("quantization_config"))
    return error(5, "quantization_config",
                 "a quantized model cannot be trained; use the config of the "
                 "model it was made from");
  if (const ConfigValue *part = config.find("partial_rotary_factor")) {
    const auto *whole = std::get_if<int64_t>(&part->value);
    const auto *real = std::get_if<double>(&part->value);
    if (!(whole && *whole == 1) && !(real && *real == 1.0))
      return error(5, "partial_rotary_factor",
                   "partial_rotary_factor is " + describe(*part) +
                       "; only 1 is supported");
  }
  if (const ConfigValue *jitter = config.find("router_jitter_noise")) {
    const auto *real = std::get_if<double>(&jitter->value);
    const auto *whole = std::get_if<int64_t>(&jitter->value);
    if (!(real && *real == 0) && !(whole && *whole == 0))
      return error(5, "router_jitter_noise",
                   "router_jitter_noise is " + describe(*jitter) +
                       "; only 0 is supported");
  }
  for (const char *key :
       {"scale_attn_by_inverse_layer_idx", "add_cross_attention"}) {
    HOCKET_ASSIGN_OR_RETURN(bool set, flag(key, false));
    if (set)
      return error(5, key,
                   std::string(key) + " is true; only false is "
                                      "supported");
  }
  return okStatus();
}

StatusOr<LoadedSpec> ConfigReader::read() {
  if (!google::protobuf::TextFormat::ParseFromString(
          family.base, loaded.spec.mutable_model()))
    return internalError(std::string("the base of ") + family.modelType +
                         " does not parse");
  HOCKET_RETURN_IF_ERROR(refuseUnsupported());
  for (const Row &row : family.rows)
    HOCKET_RETURN_IF_ERROR(readRow(row));
  HOCKET_RETURN_IF_ERROR(readActivation());
  HOCKET_RETURN_IF_ERROR(readRope("rope_scaling"));
  HOCKET_RETURN_IF_ERROR(readRope("rope_parameters"));
  HOCKET_RETURN_IF_ERROR(readWindow());
  HOCKET_RETURN_IF_ERROR(readLayerTypes());
  HOCKET_RETURN_IF_ERROR(readDenseLayers());
  HOCKET_RETURN_IF_ERROR(readAttentionScale());
  return std::move(loaded);
}

static StatusOr<LoadedSpec> readConfig(const std::string &text,
                                       const std::string &file) {
  HOCKET_ASSIGN_OR_RETURN(ConfigJson config, ConfigJson::parse(text, file));
  const ConfigValue *type = config.find("model_type");
  if (!type)
    return invalidArgument(file +
                           ": H2: there is no \"model_type\"; "
                           "supported are " +
                           supportedFamilies());
  const auto *name = std::get_if<std::string>(&type->value);
  const Family *family = name ? findFamily(*name) : nullptr;
  if (!family)
    return invalidArgument(type->place.str() + ": H2: model_type is " +
                           describe(*type) + "; supported are " +
                           supportedFamilies());
  HOCKET_ASSIGN_OR_RETURN(LoadedSpec loaded,
                          ConfigReader(config, *family).read());
  loaded.spec.set_name(family->modelType);
  return loaded;
}

StatusOr<LoadedSpec>
huggingface::parseConfig(const std::string &text, const std::string &file,
                         const spec::LoadOptions &options) {
  HOCKET_ASSIGN_OR_RETURN(LoadedSpec loaded, readConfig(text, file));
  return finishSpec(std::move(loaded), options);
}

/// Of what is no Hugging Face model: the specification that lies in it, the
/// first by name; empty if there is none.
static std::string specificationIn(const std::string &folder) {
  std::string first;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".textproto" &&
        (first.empty() || entry.path().string() < first))
      first = entry.path().string();
  return first;
}

StatusOr<LoadedSpec> huggingface::loadConfig(const std::string &folder,
                                             const spec::LoadOptions &options) {
  std::string file = (std::filesystem::path(folder) / "config.json").string();
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    if (std::string meant = specificationIn(folder); !meant.empty())
      return invalidArgument(file + ": there is no such file; is it " + meant +
                             " that you mean?");
  HOCKET_ASSIGN_OR_RETURN(std::string text, spec::readInput(file));
  return parseConfig(text, file, options);
}
