//===- ReadConfig.cpp - A spec from a Hugging Face folder -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ReadConfig.h"

#include "frontends/huggingface/ConfigReader.h"
#include "frontends/huggingface/Families.h"
#include "frontends/huggingface/SpecialTokens.h"
#include "frontends/spec/model/ListedLayers.h"
#include "frontends/spec/model/RopeFrequencies.h"
#include "frontends/spec/text/ConstraintErrors.h"
#include "frontends/spec/text/FieldNames.h"
#include "frontends/spec/text/FieldPath.h"
#include "frontends/spec/text/SpecText.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

using namespace hocket;
using namespace hocket::huggingface;
using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;
using spec::FieldReference;
using spec::LoadedSpec;
using spec::Model;

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

StatusOr<StringList> ConfigReader::architectures() const {
  const ConfigValue *found = config.find("architectures");
  if (!found)
    return StringList();
  const auto *names = std::get_if<StringList>(&found->value);
  if (!names)
    return wrongType("architectures", "a list of names");
  return *names;
}

Status ConfigReader::refuseDecoder() const {
  HOCKET_ASSIGN_OR_RETURN(bool decodes, flag("is_decoder", false));
  if (decodes)
    return error(5, "is_decoder",
                 "is_decoder is true; only false is supported");
  return okStatus();
}

Status ConfigReader::readRow(const Row &row) {
  if (const ConfigValue *found = config.find(row.key)) {
    const auto *word = std::get_if<std::string>(&found->value);
    return row.automatic && word && *word == "auto" ? okStatus()
                                                    : assign(row.key, row.path);
  }
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
                                 const std::string &type,
                                 const std::string &within) {
  if (type == "default")
    return okStatus();
  if (family.has(Trait::PlainRope))
    return error(5, key,
                 key + " is of type \"" + spec::elide(type) +
                     "\"; supported for " + family.modelType + " is default");
  auto require = [&](const char *inner, const std::string &path) -> Status {
    std::string full = key + "." + inner;
    if (config.find(full))
      return assign(full, path);
    return error(4, key,
                 key + " of type " + type + " needs the key \"" + inner + "\"");
  };
  auto accept = [&](const char *inner, const std::string &path) {
    std::string full = key + "." + inner;
    return config.find(full) ? assign(full, path) : okStatus();
  };
  const std::string scaling = within + "scaling.";
  loaded.locations.set(within + "scaling", config.place(key));
  if (type == "linear")
    return require("factor", scaling + "linear.factor");
  if (type == "dynamic") {
    // The context that the model was trained with is that of the config.
    HOCKET_RETURN_IF_ERROR(require("factor", scaling + "dynamic.factor"));
    return assign("max_position_embeddings",
                  scaling + "dynamic.original_max_positions");
  }
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
  if (type == "yarn") {
    const std::string yarn = scaling + "yarn.";
    for (const char *other : {"mscale", "mscale_all_dim"}) // DeepSeek's
      if (config.find(key + "." + other) && !family.has(Trait::LatentAttention))
        return error(5, key,
                     key + "." + other +
                         " is not supported; write "
                         "attention_factor, or leave it out");
    HOCKET_ASSIGN_OR_RETURN(bool rounded, flag(key + ".truncate", true));
    if (!rounded)
      return error(5, key,
                   key + ".truncate is false; bounds of the ramp are rounded "
                         "here, as without it");
    HOCKET_RETURN_IF_ERROR(require("factor", yarn + "factor"));
    HOCKET_RETURN_IF_ERROR(accept("beta_fast", yarn + "beta_fast"));
    HOCKET_RETURN_IF_ERROR(accept("beta_slow", yarn + "beta_slow"));
    HOCKET_RETURN_IF_ERROR(
        accept("attention_factor", yarn + "attention_factor"));
    HOCKET_RETURN_IF_ERROR(readScoreScale(key));
    const char *original = "original_max_position_embeddings";
    if (config.find(key + "." + original))
      return assign(key + "." + original, yarn + "original_max_positions");
    return assign("max_position_embeddings", yarn + "original_max_positions");
  }
  return error(
      5, key,
      key + " is of type \"" + spec::elide(type) +
          "\"; supported are default, linear, dynamic, llama3 or yarn");
}

/// `rope_scaling`, or `rope_parameters` as newer versions write it.
Status ConfigReader::readRope(const std::string &key,
                              const std::string &within) {
  const ConfigValue *found = config.find(key);
  if (!found || loaded.spec.model().position() != Model::ROTARY)
    return okStatus();
  if (!std::holds_alternative<Other>(found->value))
    return wrongType(key, "an object");
  if (config.find(key + ".rope_theta"))
    HOCKET_RETURN_IF_ERROR(assign(key + ".rope_theta", within + "theta"));
  if (config.find(key + ".partial_rotary_factor") &&
      family.has(Trait::PartialRotary))
    HOCKET_RETURN_IF_ERROR(
        assign(key + ".partial_rotary_factor", within + "rotary_percent"));
  for (const char *inner : {".rope_type", ".type"}) {
    const ConfigValue *type = config.find(key + inner);
    if (!type)
      continue;
    if (!std::holds_alternative<std::string>(type->value))
      return wrongType(key + inner, "a name");
    return readScaling(key, std::get<std::string>(type->value), within);
  }
  if (key == "rope_scaling")
    return error(4, key, "rope_scaling needs the key \"rope_type\"");
  return okStatus();
}

/// Of layers with a window: a theta of their own, or, in newer configs, all of
/// a rope beside that of the others. It is read as if it were the model's.
Status ConfigReader::readLocalRope() {
  spec::LoadedSpec whole = std::move(loaded);
  loaded = {spec::Spec(), spec::FieldLocations(config.fileName())};
  loaded.spec.mutable_model()->set_position(Model::ROTARY);
  spec::Rope &rope = *loaded.spec.mutable_model()->mutable_rope();
  rope.set_theta(10000);
  if (family.has(Trait::TwoRopes)) // That of the family.
    rope.set_theta(500000);
  Status status =
      config.find("rope_local_base_freq")
          ? assign("rope_local_base_freq", "model.rope.theta")
          : readRope("rope_parameters.sliding_attention", "model.rope.");
  localRope = rope;
  loaded = std::move(whole);
  return status;
}

/// Of a head's elements; the specification has their share.
Status ConfigReader::readRotaryDim() {
  if (!family.has(Trait::RotaryDim))
    return okStatus();
  const std::string key = "rotary_dim";
  const Model &model = loaded.spec.model();
  int64_t headDim = model.heads() > 0 ? model.hidden() / model.heads() : 0;
  int64_t rotated = 64;
  if (const ConfigValue *found = config.find(key)) {
    const auto *number = std::get_if<int64_t>(&found->value);
    if (!number)
      return wrongType(key, "a whole number");
    rotated = *number;
  } else if (config.isNull(key)) {
    return error(5, key, key + " is null; only numbers are supported");
  }
  if (headDim < 1)
    return okStatus(); // S4 says what is wrong.
  if (rotated < 2 || rotated > headDim)
    return error(5, key,
                 key + " is " + std::to_string(rotated) +
                     "; supported are even numbers from 2 to " +
                     std::to_string(headDim) + ", the size of a head");
  spec::Rope &rope = *loaded.spec.mutable_model()->mutable_rope();
  double share = static_cast<double>(rotated) / static_cast<double>(headDim);
  rope.set_rotary_percent(share);
  if (spec::rotatedDim(rope, headDim) < rotated) // Rounded the wrong way.
    rope.set_rotary_percent(std::nextafter(share, 1.0));
  loaded.locations.set("model.rope.rotary_percent", config.place(key));
  return okStatus();
}

Status ConfigReader::readRopes() {
  HOCKET_RETURN_IF_ERROR(readRotaryDim());
  if (family.has(Trait::LocalRope)) {
    HOCKET_RETURN_IF_ERROR(readLocalRope());
    if (config.find("rope_parameters.full_attention"))
      return readRope("rope_parameters.full_attention", "model.rope.");
    if (family.has(Trait::TwoRopes) && config.find("rope_parameters") &&
        !config.find("rope_parameters.sliding_attention"))
      return error(5, "rope_parameters",
                   "rope_parameters has neither full_attention nor "
                   "sliding_attention; write the rope of each");
  }
  HOCKET_RETURN_IF_ERROR(readRope("rope_scaling", "model.rope."));
  return readRope("rope_parameters", "model.rope.");
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

Status ConfigReader::readScales() {
  Model &model = *loaded.spec.mutable_model();
  auto number = [&](const std::string &key, double absent) -> StatusOr<double> {
    const ConfigValue *found = config.find(key);
    if (!found)
      return absent;
    double value = 0;
    if (const auto *whole = std::get_if<int64_t>(&found->value))
      value = static_cast<double>(*whole);
    else if (const auto *real = std::get_if<double>(&found->value))
      value = *real;
    if (!(value > 0))
      return wrongType(key, "a number above 0");
    return value;
  };
  if (family.has(Trait::ScaleSwitch)) {
    const std::string key = "scale_attn_weights";
    HOCKET_ASSIGN_OR_RETURN(bool scaled, flag(key, true));
    if (!scaled) {
      model.set_attention_scale(1);
      loaded.locations.set("model.attention_scale", config.place(key));
    }
  }
  if (family.has(Trait::HeadScalar)) {
    const std::string key = "query_pre_attn_scalar";
    HOCKET_ASSIGN_OR_RETURN(double scalar, number(key, 256));
    model.set_attention_scale(1 / std::sqrt(scalar));
    loaded.locations.set("model.attention_scale", config.place(key));
  }
  if (family.has(Trait::RootEmbedding) && model.hidden() > 0)
    model.set_embedding_scale(std::sqrt(static_cast<double>(model.hidden())));
  if (family.has(Trait::LogitsScaling)) {
    const std::string key = "logits_scaling";
    HOCKET_ASSIGN_OR_RETURN(double scaling, number(key, 1));
    model.set_logit_scale(1 / scaling);
    loaded.locations.set("model.logit_scale", config.place(key));
  }
  return okStatus();
}

/// How many classes a config has: names by number, or the number alone; two
/// where it says neither.
StatusOr<int64_t> ConfigReader::classCount() {
  int64_t classes = 0;
  while (config.find("id2label." + std::to_string(classes)))
    ++classes;
  if (classes > 0)
    return classes;
  const std::string key = "num_labels";
  const ConfigValue *found = config.find(key);
  if (!found)
    return 2;
  const auto *count = std::get_if<int64_t>(&found->value);
  if (!count)
    return wrongType(key, "a whole number");
  return *count;
}

/// Of a question of RACE or SWAG.
static constexpr int64_t usualChoices = 4;

/// An encoder that tells classes, one each, or right choices, behind the
/// dropout that its layers have.
Status ConfigReader::readClasses(const std::string &key, bool areChoices) {
  const ConfigValue *problem = config.find("problem_type");
  const auto *text =
      problem ? std::get_if<std::string>(&problem->value) : nullptr;
  if (problem && (!text || *text != "single_label_classification"))
    return error(5, "problem_type",
                 "problem_type is " + describe(*problem) +
                     "; only \"single_label_classification\" is supported");
  const ConfigValue *rate = config.find("classifier_dropout");
  const auto *real = rate ? std::get_if<double>(&rate->value) : nullptr;
  double residual = loaded.spec.model().dropout().residual();
  if (rate && !(real && *real == residual) &&
      !(residual == 0 && rate->isNumber(0)))
    return error(5, "classifier_dropout",
                 "classifier_dropout is " + describe(*rate) +
                     ", and hidden_dropout_prob is " +
                     spec::formatReal(residual) +
                     "; only the same of both is supported");
  turnIntoClassifier(loaded.spec);
  if (areChoices) { // Of how many, no config says.
    loaded.spec.mutable_model()->set_choices(usualChoices);
    loaded.locations.set("model.choices", config.place(key));
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(int64_t classes, classCount());
  loaded.spec.mutable_model()->set_classes(classes);
  loaded.locations.set("model.classes", config.place(key));
  return okStatus();
}

void huggingface::turnIntoClassifier(spec::Spec &spec) {
  Model &model = *spec.mutable_model();
  model.clear_head_transform();
  model.clear_head_bias();
  model.clear_sentence_head();
  spec::Training &training = *spec.mutable_training();
  if (training.masked_lm().has_pad_token())
    training.mutable_classification()->set_pad_token(
        training.masked_lm().pad_token());
  training.clear_masked_lm();
  training.mutable_classification();
}

/// What an encoder has to learn is not in its config, but that it does is.
Status ConfigReader::readEncoder() {
  if (!family.has(Trait::Encoder))
    return okStatus();
  loaded.spec.mutable_training()->mutable_masked_lm();
  if (config.find("pad_token_id"))
    HOCKET_RETURN_IF_ERROR(
        assign("pad_token_id", "training.masked_lm.pad_token"));
  const std::string position = "position_embedding_type";
  if (const ConfigValue *found = config.find(position)) {
    const auto *kind = std::get_if<std::string>(&found->value);
    if (!kind || *kind != "absolute")
      return error(5, position,
                   position + " is " + describe(*found) +
                       "; only \"absolute\" is supported");
  }
  HOCKET_RETURN_IF_ERROR(refuseDecoder());
  const std::string key = "architectures";
  HOCKET_ASSIGN_OR_RETURN(StringList names, architectures());
  for (const std::string &name : names) {
    if (name == bertPretraining) {
      loaded.spec.mutable_model()->set_sentence_head(true);
      loaded.locations.set("model.sentence_head", config.place(key));
    } else if (name == bertClassification || name == bertMultipleChoice) {
      HOCKET_RETURN_IF_ERROR(readClasses(key, name == bertMultipleChoice));
    } else if (name != family.architecture && name != "BertModel") {
      return error(5, key,
                   key + " has \"" + spec::elide(name) + "\"; supported are " +
                       family.architecture + ", " + bertPretraining + ", " +
                       bertClassification + ", " + bertMultipleChoice +
                       " or BertModel");
    }
  }
  return okStatus();
}

/// Whether branches stand side by side.
Status ConfigReader::readBranches() {
  const std::string key = "use_parallel_residual";
  bool oneNorm = family.has(Trait::ParallelOneNorm);
  Model &model = *loaded.spec.mutable_model();
  if (!config.find(key))
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(bool parallel, flag(key, false));
  if (!oneNorm && !family.has(Trait::Parallel))
    return parallel ? error(5, key, key + " is true; only false is supported")
                    : okStatus();
  model.set_branches(!parallel ? Model::SEQUENTIAL
                     : oneNorm ? Model::PARALLEL_ONE_NORM
                               : Model::PARALLEL);
  loaded.locations.set("model.branches", config.place(key));
  return okStatus();
}

/// Falcon 7B's layers have one key head and one norm, those of 40B as many of
/// both as the config says.
Status ConfigReader::readFalconHeads() {
  if (!family.has(Trait::FalconHeads))
    return okStatus();
  Model &model = *loaded.spec.mutable_model();
  HOCKET_ASSIGN_OR_RETURN(bool isNew, flag("new_decoder_architecture", false));
  HOCKET_ASSIGN_OR_RETURN(bool sharesKeys, flag("multi_query", true));
  if (!isNew && sharesKeys)
    model.set_kv_heads(1);
  else if (isNew && config.find("num_kv_heads"))
    HOCKET_RETURN_IF_ERROR(assign("num_kv_heads", "model.kv_heads"));
  const std::string key = "num_ln_in_parallel_attn";
  const ConfigValue *norms = config.find(key);
  bool hasTwo = norms ? norms->isNumber(2) : isNew;
  if (norms && !norms->isNumber(1) && !(isNew && hasTwo))
    return error(5, key,
                 key + " is " + describe(*norms) + "; supported are 1" +
                     (isNew ? " and 2" : ""));
  model.set_branches(hasTwo ? Model::PARALLEL : Model::PARALLEL_ONE_NORM);
  loaded.locations.set("model.branches", config.place(key));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// What is not supported
//===----------------------------------------------------------------------===//

/// Where the family rotates whole heads.
Status ConfigReader::refusePartialRotary() {
  if (family.has(Trait::PartialRotary))
    return okStatus();
  for (const char *key :
       {"partial_rotary_factor", "rope_parameters.partial_rotary_factor"}) {
    const ConfigValue *part = config.find(key);
    if (part && !part->isNumber(1))
      return error(5, key,
                   std::string(key) + " is " + describe(*part) +
                       "; only 1 is supported");
  }
  return okStatus();
}

Status ConfigReader::refuseUnsupported() {
  if (config.find("quantization_config"))
    return error(5, "quantization_config",
                 "a quantized model cannot be trained; use the config of the "
                 "model it was made from");
  HOCKET_RETURN_IF_ERROR(refusePartialRotary());
  for (const OnlyValue &only : family.only)
    if (const ConfigValue *found = config.find(only.key);
        found && describe(*found) != only.value)
      return error(5, only.key,
                   std::string(only.key) + " is " + describe(*found) +
                       "; only " + only.value + " is supported");
  const ConfigValue *width = config.find("word_embed_proj_dim");
  const ConfigValue *hidden = config.find("hidden_size");
  if (width && hidden && describe(*width) != describe(*hidden))
    return error(5, "word_embed_proj_dim",
                 "word_embed_proj_dim is " + describe(*width) +
                     "; only hidden_size (" + describe(*hidden) +
                     ") is supported");
  const ConfigValue *jitter = config.find("router_jitter_noise");
  if (jitter && !jitter->isNumber(0))
    return error(5, "router_jitter_noise",
                 "router_jitter_noise is " + describe(*jitter) +
                     "; only 0 is supported");
  for (const char *key : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (const ConfigValue *cap = config.find(key); cap && !family.reads(key))
      return error(5, key,
                   std::string(key) + " is " + describe(*cap) +
                       "; only null is supported");
  for (const char *key :
       {"scale_attn_by_inverse_layer_idx", "add_cross_attention",
        "use_bidirectional_attention", "qk_layernorm",
        "apply_residual_connection_post_layernorm"}) {
    HOCKET_ASSIGN_OR_RETURN(bool set, flag(key, false));
    if (set)
      return error(5, key,
                   std::string(key) + " is true; only false is "
                                      "supported");
  }
  return okStatus();
}

StatusOr<LoadedSpec> ConfigReader::read() {
  if (family.has(Trait::Vision))
    return readWithVision();
  if (!google::protobuf::TextFormat::ParseFromString(
          family.base, loaded.spec.mutable_model()))
    return internalError(std::string("the base of ") + family.modelType +
                         " does not parse");
  HOCKET_RETURN_IF_ERROR(refuseUnsupported());
  for (const Row &row : family.rows)
    HOCKET_RETURN_IF_ERROR(readRow(row));
  HOCKET_RETURN_IF_ERROR(readActivation());
  HOCKET_RETURN_IF_ERROR(readRopes());
  HOCKET_RETURN_IF_ERROR(readLatentAttention());
  HOCKET_RETURN_IF_ERROR(readSharedExpert());
  HOCKET_RETURN_IF_ERROR(readStateSpace());
  HOCKET_RETURN_IF_ERROR(readLayers());
  HOCKET_RETURN_IF_ERROR(readScales());
  HOCKET_RETURN_IF_ERROR(readBranches());
  HOCKET_RETURN_IF_ERROR(readFalconHeads());
  HOCKET_RETURN_IF_ERROR(readEncoder());
  HOCKET_RETURN_IF_ERROR(readTwoStacks());
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

std::string huggingface::familyIn(const std::string &folder) {
  std::string file = (std::filesystem::path(folder) / "config.json").string();
  StatusOr<std::string> text = spec::readInput(file);
  if (!text.ok())
    return "";
  StatusOr<ConfigJson> config = ConfigJson::parse(*text, file);
  const ConfigValue *type = config.ok() ? config->find("model_type") : nullptr;
  const auto *name = type ? std::get_if<std::string>(&type->value) : nullptr;
  return name && findFamily(*name) ? *name : "";
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
  HOCKET_ASSIGN_OR_RETURN(LoadedSpec loaded, readConfig(text, file));
  bool asksClasses =
      std::any_of(options.overrides.begin(), options.overrides.end(),
                  [](const std::string &assignment) {
                    return assignment.starts_with("model.classes=") ||
                           assignment.starts_with("model.choices=");
                  });
  if (asksClasses && loaded.spec.training().has_masked_lm())
    turnIntoClassifier(loaded.spec); // In place of the head that it has.
  if (loaded.spec.training().has_masked_lm() ||
      loaded.spec.training().has_classification())
    HOCKET_RETURN_IF_ERROR(readSpecialTokens(folder, loaded));
  if (loaded.spec.training().has_span_corruption())
    HOCKET_RETURN_IF_ERROR(readFirstSentinel(folder, loaded));
  return finishSpec(std::move(loaded), options);
}
