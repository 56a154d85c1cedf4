//===- ReadVision.cpp - A model that sees images of a config.json ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A config of three: `text_config` is one of the family of the language model,
/// `vision_config` one of a tower, and around them stands how both meet.
///
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ConfigReader.h"
#include "frontends/spec/text/FieldNames.h"
#include "frontends/spec/text/SpecText.h"

#include <google/protobuf/text_format.h>

#include <utility>

using namespace hocket;
using namespace hocket::huggingface;
using spec::LoadedSpec;
using spec::Model;
using spec::Vision;

/// What `key` says where it is there must be `wanted`.
Status ConfigReader::expectName(const std::string &key,
                                const std::string &wanted) const {
  const ConfigValue *found = config.find(key);
  const auto *name = found ? std::get_if<std::string>(&found->value) : nullptr;
  if (!found || (name && *name == wanted))
    return okStatus();
  return error(5, key,
               key + " is " + describe(*found) + "; only \"" + wanted +
                   "\" is supported");
}

StatusOr<Model::Activation>
ConfigReader::activationAt(const std::string &key,
                           Model::Activation absent) const {
  const ConfigValue *found = config.find(key);
  if (!found)
    return absent;
  const auto *name = std::get_if<std::string>(&found->value);
  if (!name)
    return wrongType(key, "a name");
  std::vector<std::string> known;
  for (const ActivationName &activation : family.activations) {
    known.push_back(activation.name);
    Model::Activation value;
    if (*name == activation.name &&
        Model::Activation_Parse(activation.value, &value))
      return value;
  }
  return error(5, key,
               key + " is " + describe(*found) + "; supported for " +
                   family.modelType + " are " + spec::joinAlternatives(known));
}

Status ConfigReader::refuseOtherTowers() const {
  HOCKET_RETURN_IF_ERROR(
      expectName("vision_config.model_type", "clip_vision_model"));
  HOCKET_RETURN_IF_ERROR(expectName("text_config.model_type", "llama"));
  HOCKET_RETURN_IF_ERROR(expectNumber("vision_config.num_channels", 3));
  HOCKET_RETURN_IF_ERROR(expectNumber("vision_config.attention_dropout", 0));
  const std::string tied = "tie_word_embeddings";
  HOCKET_ASSIGN_OR_RETURN(bool inText, flag("text_config." + tied, false));
  HOCKET_ASSIGN_OR_RETURN(bool around, flag(tied, inText));
  if (around != inText)
    return error(5, tied,
                 tied + " is " + (around ? "true" : "false") +
                     ", and that of text_config is not; write the same in "
                     "both");
  const std::string key = "architectures";
  HOCKET_ASSIGN_OR_RETURN(StringList names, architectures());
  for (const std::string &name : names)
    if (name != family.architecture)
      return error(5, key,
                   key + " has \"" + spec::elide(name) + "\"; supported is " +
                       family.architecture);
  return okStatus();
}

Status ConfigReader::readTower() {
  Vision &vision = *loaded.spec.mutable_model()->mutable_vision();
  const std::string acts[] = {"vision_config.hidden_act",
                              "projector_hidden_act"};
  HOCKET_ASSIGN_OR_RETURN(Model::Activation tower,
                          activationAt(acts[0], Model::QUICK_GELU));
  HOCKET_ASSIGN_OR_RETURN(Model::Activation projector,
                          activationAt(acts[1], Model::GELU));
  vision.set_activation(tower);
  vision.set_projector_activation(projector);
  loaded.locations.set("model.vision.activation", config.place(acts[0]));
  loaded.locations.set("model.vision.projector_activation",
                       config.place(acts[1]));
  const std::string select = "vision_feature_select_strategy";
  const ConfigValue *found = config.find(select);
  const auto *name = found ? std::get_if<std::string>(&found->value) : nullptr;
  if (found && (!name || (*name != "default" && *name != "full")))
    return error(5, select,
                 select + " is " + describe(*found) +
                     "; supported are \"default\" and \"full\"");
  vision.set_select(name && *name == "full" ? Vision::ALL : Vision::PATCHES);
  return okStatus();
}

StatusOr<LoadedSpec> ConfigReader::readWithVision() {
  HOCKET_RETURN_IF_ERROR(refuseUnsupported());
  HOCKET_RETURN_IF_ERROR(refuseOtherTowers());
  ConfigJson text = config.within("text_config");
  ConfigReader language(text, languageFamily());
  HOCKET_ASSIGN_OR_RETURN(loaded, language.read());
  Model base;
  if (!google::protobuf::TextFormat::ParseFromString(family.base, &base))
    return internalError(std::string("the base of ") + family.modelType +
                         " does not parse");
  loaded.spec.mutable_model()->MergeFrom(base);
  loaded.locations.set("model.vision", config.place("vision_config"));
  for (const Row &row : family.rows)
    HOCKET_RETURN_IF_ERROR(readRow(row));
  HOCKET_RETURN_IF_ERROR(readTower());
  // How many images a text has at most, no config says.
  loaded.spec.mutable_training()->set_images_per_sequence(1);
  return std::move(loaded);
}
