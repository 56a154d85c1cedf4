//===- WriteConfig.cpp - A config.json from a spec ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/WriteConfig.h"

#include "frontends/huggingface/Families.h"
#include "frontends/huggingface/ReadConfig.h"
#include "frontends/spec/FieldNames.h"
#include "frontends/spec/FieldPath.h"

#include <google/protobuf/text_format.h>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::huggingface;
using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;
using nlohmann::ordered_json;
using spec::Model;

/// The value of the field `path` of `spec`; null where it is absent.
static ordered_json fieldValue(const spec::Spec &spec, const char *path) {
  spec::ConstFieldReference at = findWritten(spec, path);
  if (!at.message)
    return nullptr;
  const Reflection &reflection = *at.message->GetReflection();
  switch (at.field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT64:
    return reflection.GetInt64(*at.message, at.field);
  case FieldDescriptor::CPPTYPE_DOUBLE:
    return reflection.GetDouble(*at.message, at.field);
  case FieldDescriptor::CPPTYPE_BOOL:
    return reflection.GetBool(*at.message, at.field);
  default:
    return nullptr; // No row holds another type.
  }
}

static void writeScaling(const Model &model, ordered_json &config) {
  if (!model.rope().has_scaling())
    return;
  const spec::Rope::Scaling &scaling = model.rope().scaling();
  if (scaling.has_linear()) {
    config["rope_scaling"] = {{"rope_type", "linear"},
                              {"factor", scaling.linear().factor()}};
    return;
  }
  const spec::Rope::Llama3 &llama3 = scaling.llama3();
  config["rope_scaling"] = {
      {"rope_type", "llama3"},
      {"factor", llama3.factor()},
      {"low_freq_factor", llama3.low_freq_factor()},
      {"high_freq_factor", llama3.high_freq_factor()},
      {"original_max_position_embeddings", llama3.original_max_positions()}};
}

/// What `family` can say of `model`, right or not.
static std::string draftConfig(const Family &family, const Model &model,
                               const std::string &dtype = "float32") {
  spec::Spec spec;
  *spec.mutable_model() = model;
  ordered_json config;
  config["architectures"] = {family.architecture};
  config["model_type"] = family.modelType;
  for (const Row &row : family.rows)
    config[row.key] = fieldValue(spec, row.path);
  for (const ActivationName &activation : family.activations)
    if (!config.contains(family.activationKey) &&
        Model::Activation_Name(model.activation()) == activation.value)
      config[family.activationKey] = activation.name;
  if (model.position() == Model::ROTARY)
    writeScaling(model, config);
  if (std::string_view(family.modelType) == "gpt2")
    config["scale_attn_weights"] = model.attention_scale() != 1;
  if (family.mixedWindows) {
    config["use_sliding_window"] = model.has_sliding_window();
    if (model.has_sliding_window()) {
      config["sliding_window"] = model.sliding_window();
      config["max_window_layers"] = 0;
    }
  }
  if (std::string_view(family.modelType) == "qwen3_moe") {
    config["mlp_only_layers"] = ordered_json::array();
    for (int64_t i = 0; i < model.moe().first_dense_layers(); ++i)
      config["mlp_only_layers"].push_back(i);
  }
  config["torch_dtype"] = dtype;
  return config.dump(2) + "\n";
}

/// What of a model counts for what it computes.
static Model essence(Model model, bool learnedPositions) {
  model.clear_bias();
  model.clear_initializer();
  model.clear_dropout();
  model.clear_vocab_padding();
  if (model.has_moe()) { // What only training adds.
    model.mutable_moe()->clear_aux_loss();
    model.mutable_moe()->clear_z_loss();
  }
  if (!learnedPositions)
    model.clear_max_positions(); // A limit, not a size.
  return model;
}

/// The text of `field` in `model`, "" where it is absent.
static std::string printField(const Model &model,
                              const FieldDescriptor &field) {
  std::string text;
  if (model.GetReflection()->HasField(model, &field))
    google::protobuf::TextFormat::PrintFieldValueToString(model, &field, -1,
                                                          &text);
  return text;
}

/// The fields in which what is read back differs from `model`; where
/// it cannot be read at all, why.
static std::vector<std::string> differences(const Model &model,
                                            const std::string &config) {
  StatusOr<spec::LoadedSpec> loaded = parseConfig(config, "config.json");
  if (!loaded.ok())
    return {"all of it (" + loaded.status().message() + ")"};
  bool learned = model.position() == Model::LEARNED;
  Model wanted = essence(model, learned);
  Model got = essence(loaded->spec.model(), learned);
  std::vector<std::string> names;
  for (int i = 0; i < Model::descriptor()->field_count(); ++i) {
    const FieldDescriptor *field = Model::descriptor()->field(i);
    if (printField(wanted, *field) != printField(got, *field))
      names.push_back("model." + field->name());
  }
  return names;
}

StatusOr<std::string> huggingface::familyOf(const Model &model) {
  std::vector<std::string> fewest;
  const Family *nearest = nullptr;
  for (const Family &family : families()) {
    if (family.experts != model.has_moe())
      continue;
    std::vector<std::string> names =
        differences(model, draftConfig(family, model));
    if (names.empty())
      return std::string(family.modelType);
    if (!nearest || names.size() < fewest.size()) {
      nearest = &family;
      fewest = std::move(names);
    }
  }
  return invalidArgument("H6: no family of Hugging Face that is supported (" +
                         supportedFamilies() +
                         ") expresses this model; the nearest, " +
                         nearest->modelType + ", cannot express " +
                         spec::joinAlternatives(fewest));
}

StatusOr<std::string> huggingface::writeConfig(const Model &model,
                                               const std::string &dtype) {
  HOCKET_ASSIGN_OR_RETURN(std::string family, familyOf(model));
  return draftConfig(*findFamily(family), model, dtype);
}
