//===- WriteConfig.cpp - A config.json from a spec ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/WriteConfig.h"

#include "frontends/huggingface/Families.h"
#include "frontends/huggingface/ReadConfig.h"
#include "frontends/spec/model/LayerPattern.h"
#include "frontends/spec/model/ListedLayers.h"
#include "frontends/spec/model/RopeFrequencies.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"
#include "frontends/spec/text/FieldNames.h"
#include "frontends/spec/text/FieldPath.h"

#include <google/protobuf/text_format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

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

static void writeYarn(const spec::Rope::Yarn &yarn, ordered_json &config) {
  ordered_json &scaling = config["rope_scaling"];
  scaling = {
      {"rope_type", "yarn"},
      {"factor", yarn.factor()},
      {"beta_fast", yarn.beta_fast()},
      {"beta_slow", yarn.beta_slow()},
      {"original_max_position_embeddings", yarn.original_max_positions()}};
  if (yarn.has_attention_factor())
    scaling["attention_factor"] = yarn.attention_factor();
}

/// Of latent attention: the scale of scores as that of a scaled rope.
static void writeScoreScale(const Model &model, ordered_json &config) {
  ordered_json &scaling = config["rope_scaling"];
  scaling.erase("attention_factor");
  double factor = model.rope().scaling().yarn().factor();
  double scale = model.attention_scale() *
                 std::sqrt(static_cast<double>(model.head_dim()));
  double all = factor > 1 ? 10 * (std::sqrt(scale) - 1) / std::log(factor) : 0;
  all = std::round(all * 1e9) / 1e9; // As many digits as one writes.
  if (all == 0) {
    scaling["attention_factor"] = 1.0;
    return;
  }
  scaling["mscale"] = all;
  scaling["mscale_all_dim"] = all;
}

static void writeScaling(const Model &model, ordered_json &config) {
  if (!model.rope().has_scaling())
    return;
  if (model.rope().scaling().has_yarn())
    return writeYarn(model.rope().scaling().yarn(), config);
  const spec::Rope::Scaling &scaling = model.rope().scaling();
  if (scaling.has_linear()) {
    config["rope_scaling"] = {{"rope_type", "linear"},
                              {"factor", scaling.linear().factor()}};
    return;
  }
  if (scaling.has_dynamic()) {
    // What is longer than the config's context is scaled.
    config["max_position_embeddings"] =
        scaling.dynamic().original_max_positions();
    config["rope_scaling"] = {{"rope_type", "dynamic"},
                              {"factor", scaling.dynamic().factor()}};
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

/// 1 / scale^2, whole where rounding alone keeps it from being so.
static ordered_json headScalar(double scale) {
  double scalar = 1 / (scale * scale), whole = std::round(scalar);
  if (std::abs(scalar - whole) < 1e-9 * scalar)
    return static_cast<int64_t>(whole);
  return scalar;
}

/// The whole rope as newer versions have it. Beside it, older keys would count
/// for more.
static void writeRopeObject(const spec::Rope &rope, ordered_json &config) {
  ordered_json parameters = {{"rope_type", "default"}};
  if (config.contains("rope_scaling"))
    parameters = config["rope_scaling"];
  parameters["rope_theta"] = rope.theta();
  parameters["partial_rotary_factor"] = rope.rotary_percent();
  config.erase("rope_scaling");
  config["rope_parameters"] = std::move(parameters);
}

/// What a layer with a rope of its own has, or another.
static ordered_json ropeObject(const Model &model) {
  ordered_json config = ordered_json::object();
  writeScaling(model, config);
  writeRopeObject(model.rope(), config);
  config["rope_parameters"].erase("partial_rotary_factor");
  return config["rope_parameters"];
}

/// Of the families that say the width twice, and how far steps go: a whole
/// number where the hidden size divides the width, as it must.
static void writeStateSpace(const Family &family, const Model &model,
                            ordered_json &config) {
  const spec::StateSpace &space = model.state_space();
  if (!family.has(Trait::ExpandedWidth))
    return;
  int64_t inner = space.heads() * space.head_dim();
  ordered_json &expand =
      config[family.has(Trait::AttentionLayers) ? "mamba_expand" : "expand"];
  expand = inner / model.hidden();
  if (inner % model.hidden() != 0)
    expand = static_cast<double>(inner) / static_cast<double>(model.hidden());
  ordered_json most = {{"__float__", "Infinity"}};
  if (space.has_step_most())
    most = space.step_most();
  // Without bounds, which is usual, no version needs a word for infinity.
  if (space.has_step_most() || space.step_least() > 0)
    config["time_step_limit"] = {space.step_least(), most};
}

/// How DeepSeek's models rotate and choose experts.
static void writeLatentAttention(const Family &family, const Model &model,
                                 ordered_json &config) {
  if (model.position() == Model::ROTARY && model.rope().scaling().has_yarn())
    writeScoreScale(model, config);
  bool hasBias = family.has(Trait::ScoreBias),
       grouped = model.moe().groups() > 1;
  config["topk_method"] = hasBias   ? "noaux_tc"
                          : grouped ? "group_limited_greedy"
                                    : "greedy";
  config["scoring_func"] = hasBias ? "sigmoid" : "softmax";
  config["attention_bias"] = false;
  if (!hasBias)
    return;
  config["rope_interleave"] = true;
  config["num_nextn_predict_layers"] = 0;
}

/// In what layers differ, where the family has words for it.
static void writeLayers(const Family &family, const Model &model,
                        ordered_json &config) {
  std::vector<spec::ListedLayer> layers = spec::layersOf(model);
  ordered_json types = ordered_json::array(), rotates = ordered_json::array(),
               dense = ordered_json::array(), attending = ordered_json::array();
  int64_t window = 0;
  spec::LayerPattern pattern(model);
  for (size_t i = 0; i < layers.size(); ++i) {
    const spec::ResolvedKind &kind = pattern[static_cast<int64_t>(i)];
    types.push_back(layers[i].windowed ? "sliding_attention"
                                       : "full_attention");
    rotates.push_back(layers[i].rotary ? 1 : 0);
    if (!layers[i].experts)
      dense.push_back(i);
    if (layers[i].mixer == spec::LayerKind::ATTENTION)
      attending.push_back(i);
    if (!layers[i].windowed)
      continue;
    window = kind.window();
    if (family.has(Trait::TwoRopes))
      config["rope_parameters"]["sliding_attention"] = ropeObject(kind.model);
    else if (family.has(Trait::LocalRope))
      config["rope_local_base_freq"] = kind.model.rope().theta();
  }
  if (family.has(Trait::WindowSwitch))
    config["use_sliding_window"] = window > 0;
  if (family.has(Trait::MixedWindows) && window > 0) {
    config["sliding_window"] = window;
    if (family.has(Trait::WindowSwitch))
      config["max_window_layers"] =
          std::find_if(layers.begin(), layers.end(),
                       [](const spec::ListedLayer &l) { return l.windowed; }) -
          layers.begin();
  }
  if (window == 0 && family.windowsByPattern())
    config["sliding_window"] = nullptr;
  if (family.has(Trait::MixedWindows))
    config["layer_types"] = types;
  if (family.has(Trait::MixedRope))
    config["no_rope_layers"] = rotates;
  if (family.has(Trait::AttentionLayers))
    config["attn_layer_indices"] = attending;
  if (family.has(Trait::LayerLetters)) {
    std::string letters;
    for (const spec::ListedLayer &layer : layers)
      letters += spec::letterOf(layer);
    config["num_hidden_layers"] = layers.size();
    config["hybrid_override_pattern"] = letters;
  }
  if (!family.has(Trait::DenseLayers))
    return;
  bool everySo = model.moe().interval() > 1;
  config["mlp_only_layers"] = everySo ? ordered_json::array() : dense;
}

/// Of the families of two stacks. transformers ties the head as this says
/// until version 5, and from then on where the weights have no other.
static void writeTwoStacks(const Model &model,
                           const spec::SpanCorruption &spans,
                           ordered_json &config) {
  config["is_encoder_decoder"] = true;
  config["tie_word_embeddings"] = model.tied_embeddings();
  config["scale_decoder_outputs"] = model.tied_embeddings();
  config["eos_token_id"] = spans.end_token();
  config["pad_token_id"] = spans.pad_token();
  config["decoder_start_token_id"] = spans.pad_token();
}

static ordered_json draftOf(const Family &family, const Model &model,
                            const spec::SpanCorruption &spans,
                            const std::string &dtype);

/// Of a family that sees images: the configs of the parts, and how they meet.
static ordered_json draftVision(const Family &family, const Model &model,
                                const std::string &dtype) {
  const spec::Vision &vision = model.vision();
  spec::Spec spec;
  *spec.mutable_model() = model;
  Model language = model;
  language.clear_vision();
  language.clear_image_token();
  auto nameOf = [&](Model::Activation wanted) {
    for (const ActivationName &activation : family.activations)
      if (Model::Activation_Name(wanted) == activation.value)
        return activation.name;
    return "";
  };
  ordered_json config;
  config["architectures"] = {family.architecture};
  config["model_type"] = family.modelType;
  config["text_config"] = draftOf(languageFamily(), language, {}, dtype);
  config["text_config"].erase("torch_dtype");
  config["vision_config"]["model_type"] = "clip_vision_model";
  config["vision_config"]["hidden_act"] = nameOf(vision.activation());
  for (const Row &row : family.rows) {
    const std::string key = row.key;
    size_t dot = key.find('.');
    (dot == std::string::npos
         ? config[key]
         : config[key.substr(0, dot)][key.substr(dot + 1)]) =
        fieldValue(spec, row.path);
  }
  config["projector_hidden_act"] = nameOf(vision.projector_activation());
  config["vision_feature_select_strategy"] =
      vision.select() == spec::Vision::ALL ? "full" : "default";
  config["image_seq_length"] = spec::placedRows(vision);
  config["tie_word_embeddings"] = model.tied_embeddings();
  config["torch_dtype"] = dtype;
  return config;
}

static ordered_json draftOf(const Family &family, const Model &model,
                            const spec::SpanCorruption &spans,
                            const std::string &dtype) {
  if (family.has(Trait::Vision))
    return draftVision(family, model, dtype);
  spec::Spec spec;
  *spec.mutable_model() = model;
  if (family.has(Trait::AttentionLayers) && !spec::attends(model)) {
    // Its sizes are asked for even so, and rotate by halves of whole pairs.
    spec.mutable_model()->set_heads(1);
    spec.mutable_model()->set_kv_heads(1);
    spec.mutable_model()->set_head_dim(4);
  }
  ordered_json config;
  bool pretrains = family.has(Trait::Encoder) && model.sentence_head();
  bool tellsClasses = family.has(Trait::Encoder) && spec::tellsClasses(model);
  config["architectures"] = {!tellsClasses         ? pretrains ? bertPretraining
                                                               : family.architecture
                             : model.has_choices() ? bertMultipleChoice
                                                   : bertClassification};
  config["model_type"] = family.modelType;
  for (const Row &row : family.rows)
    config[row.key] = fieldValue(spec, row.path);
  for (const ActivationName &activation : family.activations)
    if (!config.contains(family.activationKey) &&
        Model::Activation_Name(model.activation()) == activation.value)
      config[family.activationKey] = activation.name;
  if (model.position() == Model::ROTARY)
    writeScaling(model, config);
  if (family.has(Trait::LatentAttention))
    writeLatentAttention(family, model, config);
  if (family.has(Trait::RopeObject) && model.position() == Model::ROTARY)
    writeRopeObject(model.rope(), config);
  if (family.has(Trait::TwoRopes) && model.position() == Model::ROTARY) {
    config.erase("rope_theta");
    config.erase("rope_scaling");
    config["rope_parameters"]["full_attention"] = ropeObject(model);
  }
  if (family.has(Trait::StateSpace))
    writeStateSpace(family, model, config);
  if (family.has(Trait::FalconHeads)) {
    bool hasTwo = model.branches() == Model::PARALLEL;
    bool sharesAll = model.kv_heads() == 1,
         sharesNone = model.kv_heads() == model.heads();
    config["new_decoder_architecture"] = hasTwo || !(sharesAll || sharesNone);
    config["multi_query"] = sharesAll;
    config["num_kv_heads"] = model.kv_heads();
    config["parallel_attn"] = true;
    config["alibi"] = false;
    config["num_ln_in_parallel_attn"] = hasTwo ? 2 : 1;
  }
  if (family.has(Trait::RotaryDim))
    config["rotary_dim"] = spec::rotatedDim(model.rope(), model.head_dim());
  if (family.has(Trait::ScaleSwitch))
    config["scale_attn_weights"] = model.attention_scale() != 1;
  if (family.has(Trait::HeadScalar))
    config["query_pre_attn_scalar"] = headScalar(model.attention_scale());
  if (family.has(Trait::LogitsScaling))
    config["logits_scaling"] = 1 / model.logit_scale();
  if (family.has(Trait::SharedExpert))
    config["shared_expert_intermediate_size"] =
        model.moe().shared_experts() * model.moe().ffn();
  if (family.has(Trait::Parallel) || family.has(Trait::ParallelOneNorm))
    config["use_parallel_residual"] = model.branches() != Model::SEQUENTIAL;
  writeLayers(family, model, config);
  for (int64_t i = 0; model.has_classes() && i < model.classes(); ++i) {
    std::string number = std::to_string(i);
    config["id2label"][number] = "LABEL_" + number;
    config["label2id"]["LABEL_" + number] = i;
  }
  config["pad_token_id"] = nullptr; // No row of the embedding is padding.
  if (family.has(Trait::TwoStacks))
    writeTwoStacks(model, spans, config);
  config["torch_dtype"] = dtype;
  return config;
}

/// What `family` can say of `model`, right or not.
static std::string draftConfig(const Family &family, const Model &model,
                               const spec::SpanCorruption &spans,
                               const std::string &dtype = "float32") {
  return draftOf(family, model, spans, dtype).dump(2) + "\n";
}

/// Without the sizes of what no layer has.
static void dropUnused(Model &model) {
  std::vector<spec::ListedLayer> layers = spec::layersOf(model);
  auto noLayer = [&](auto property) {
    return std::none_of(layers.begin(), layers.end(), property);
  };
  if (noLayer([](const spec::ListedLayer &l) {
        return l.mixer == spec::LayerKind::ATTENTION;
      })) {
    for (const char *name :
         {"heads", "kv_heads", "head_dim", "attention_qkv_bias",
          "attention_out_bias", "attention_scale", "qk_norm", "qk_norm_scope",
          "sliding_window", "rope"})
      model.GetReflection()->ClearField(
          &model, Model::descriptor()->FindFieldByName(name));
    if (model.position() == Model::ROTARY)
      model.set_position(Model::NONE);
  }
  if (noLayer([](const spec::ListedLayer &l) { return l.feedForward; }) &&
      !model.head_transform())
    for (const char *name : {"ffn", "activation", "mlp_bias"})
      model.GetReflection()->ClearField(
          &model, Model::descriptor()->FindFieldByName(name));
}

/// What of a model counts for what it computes.
static Model essence(Model model, bool learnedPositions) {
  model.clear_bias();
  model.clear_initializer();
  model.clear_dropout();
  model.clear_vocab_padding();
  if (model.has_choices()) // Of how many, no weight and no config says.
    model.set_choices(2);
  if (model.has_moe()) { // What only training adds, or makes room for.
    model.mutable_moe()->clear_aux_loss();
    model.mutable_moe()->clear_aux_loss_scope();
    model.mutable_moe()->clear_z_loss();
    model.mutable_moe()->clear_expert_capacity_bound();
    model.mutable_moe()->clear_beyond_bound();
    model.mutable_moe()->clear_router_dtype();
    model.mutable_moe()->clear_input_jitter();
    model.mutable_moe()->clear_choice();
    if (model.moe().bias_rate() > 0) // There is a bias; how it moves is apart.
      model.mutable_moe()->set_bias_rate(1);
  }
  if (!learnedPositions)
    model.clear_max_positions(); // A limit, not a size.
  // As many digits as one writes.
  double scale = std::pow(static_cast<double>(model.hidden()), -0.5);
  if (model.has_encoder() && std::abs(model.logit_scale() / scale - 1) < 1e-9)
    model.set_logit_scale(scale);
  return model;
}

/// The text of `field` in `model`, "" where it is absent.
static std::string printField(const Model &model,
                              const FieldDescriptor &field) {
  using google::protobuf::TextFormat;
  const Reflection &reflection = *model.GetReflection();
  std::string text;
  if (!field.is_repeated()) {
    if (reflection.HasField(model, &field))
      TextFormat::PrintFieldValueToString(model, &field, -1, &text);
    return text;
  }
  for (int i = 0; i < reflection.FieldSize(model, &field); ++i) {
    std::string entry;
    TextFormat::PrintFieldValueToString(model, &field, i, &entry);
    text += entry + "\n";
  }
  return text;
}

/// The fields in which what is read back differs from `model`; why it cannot be
/// read at all, where it cannot.
static StatusOr<std::vector<std::string>>
differences(const Model &model, const std::string &config) {
  // A config says nothing of what an encoder is trained on.
  spec::LoadOptions options;
  if (spec::tellsClasses(model))
    options.overrides = {"training.classification={cls_token: 0 sep_token: 1 "
                         "pad_token: 2}"};
  else if (model.attention_mask() == Model::BIDIRECTIONAL)
    options.overrides = {"training.masked_lm={cls_token: 0 sep_token: 1 "
                         "mask_token: 2 pad_token: 3}"};
  if (model.has_encoder())
    options.overrides = {"training.span_corruption={end_token: 0 "
                         "first_sentinel: 0}",
                         "training.encoder_sequence_length=4"};
  StatusOr<spec::LoadedSpec> loaded =
      parseConfig(config, "config.json", options);
  HOCKET_RETURN_IF_ERROR(loaded.status());
  bool learned = model.position() == Model::LEARNED;
  Model wanted = essence(model, learned);
  Model got = essence(loaded->spec.model(), learned);
  if (wanted.layer_kinds_size() > 0 || got.layer_kinds_size() > 0) {
    dropUnused(wanted);
    dropUnused(got);
    wanted = spec::spelledOut(wanted);
    got = spec::spelledOut(got);
  }
  std::vector<std::string> names;
  for (int i = 0; i < Model::descriptor()->field_count(); ++i) {
    const FieldDescriptor *field = Model::descriptor()->field(i);
    if (printField(wanted, *field) != printField(got, *field))
      names.push_back("model." + field->name());
  }
  return names;
}

/// Whether `family` has models of the kind of `model` and writes them by its
/// own name.
static bool isOfItsKind(const Family &family, const Model &model) {
  bool seesAll = model.attention_mask() == Model::BIDIRECTIONAL;
  bool hasSpace = model.has_state_space();
  if (family.has(Trait::OtherName) ||
      family.has(Trait::Vision) != model.has_vision() ||
      family.has(Trait::LatentAttention) != model.has_latent_attention())
    return false;
  return model.has_vision() ||
         (family.has(Trait::TwoStacks) == model.has_encoder() &&
          family.has(Trait::Encoder) == seesAll &&
          family.has(Trait::StateSpace) == hasSpace &&
          (seesAll || hasSpace ||
           family.has(Trait::Experts) == model.has_moe()));
}

StatusOr<std::string> huggingface::familyOf(const Model &model,
                                            const std::string &preferred) {
  if (const Family *family = findFamily(preferred);
      family && isOfItsKind(*family, model)) {
    StatusOr<std::vector<std::string>> names =
        differences(model, draftConfig(*family, model, {}));
    if (names.ok() && names->empty())
      return preferred;
  }
  std::string lacks;
  const Family *nearest = nullptr;
  size_t fewest = 0;
  for (const Family &family : families()) {
    if (!isOfItsKind(family, model))
      continue;
    StatusOr<std::vector<std::string>> names =
        differences(model, draftConfig(family, model, {}));
    if (names.ok() && names->empty())
      return std::string(family.modelType);
    size_t count =
        names.ok() ? names->size()
                   : static_cast<size_t>(Model::descriptor()->field_count());
    if (!nearest || count < fewest) {
      nearest = &family;
      fewest = count;
      lacks = names.ok() ? spec::joinAlternatives(*names)
                         : "all of it (" + names.status().message() + ")";
    }
  }
  return invalidArgument("H6: no family of Hugging Face that is supported (" +
                         supportedFamilies() +
                         ") expresses this model; the nearest, " +
                         nearest->modelType + ", cannot express " + lacks);
}

StatusOr<std::string>
huggingface::writeConfig(const Model &model, const std::string &dtype,
                         const spec::SpanCorruption &spans,
                         const std::string &preferred) {
  HOCKET_ASSIGN_OR_RETURN(std::string family, familyOf(model, preferred));
  return draftConfig(*findFamily(family), model, spans, dtype);
}
