//===- Defaults.cpp - What a spec leaves unsaid ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Defaults.h"

#include "frontends/spec/model/LayerPattern.h"
#include "frontends/spec/model/Retrieval.h"
#include "frontends/spec/model/Sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace google::protobuf;
using namespace hocket::spec;

/// Makes each default that the schema states explicit, here and in every
/// message that is present.
static void fillStated(Message &message) {
  const Reflection &reflection = *message.GetReflection();
  const Descriptor &type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor *field = type.field(i);
    if (field->is_repeated()) {
      if (!field->message_type())
        continue; // A list has no default.
      for (int j = 0; j < reflection.FieldSize(message, field); ++j)
        fillStated(*reflection.MutableRepeatedMessage(&message, field, j));
    } else if (field->message_type()) {
      if (reflection.HasField(message, field))
        fillStated(*reflection.MutableMessage(&message, field));
    } else if (field->has_default_value() &&
               !reflection.HasField(message, field)) {
      switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetInt64(&message, field, field->default_value_int64());
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection.SetUInt64(&message, field, field->default_value_uint64());
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection.SetDouble(&message, field, field->default_value_double());
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.SetBool(&message, field, field->default_value_bool());
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnum(&message, field, field->default_value_enum());
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(&message, field, field->default_value_string());
        break;
      default:
        break; // The schema states no other defaults.
      }
    }
  }
}

/// Adds the messages whose fields all have a meaning by default.
static void addMessages(Spec &spec) {
  Model &model = *spec.mutable_model();
  model.mutable_dropout();
  model.mutable_initializer();
  if (model.position() == Model::ROTARY)
    model.mutable_rope();
  if (model.position() == Model::RELATIVE)
    model.mutable_relative_position();
  Training &training = *spec.mutable_training();
  if (training.optimizer().kind_case() == Optimizer::KIND_NOT_SET)
    training.mutable_optimizer()->mutable_adamw();
  if (training.has_lora() && training.lora().targets().empty())
    for (auto role : {ParameterSelection::QUERY, ParameterSelection::VALUE})
      training.mutable_lora()->add_targets(role);
  if (tellsClasses(model))
    training.mutable_classification();
  if (model.attention_mask() == Model::PREFIX)
    training.mutable_prefix_lm();
  if (model.has_choices() && !training.has_micro_batch_size())
    training.set_micro_batch_size(model.choices());
  training.mutable_learning_rate();
  training.mutable_data();
  if (model.has_retrieval())
    training.mutable_data()->mutable_retrieved();
  training.mutable_validation();
  if (training.precision() == Training::FP16)
    training.mutable_loss_scale();
  spec.mutable_plan();
  spec.mutable_cluster();
}

/// Heads of two parts, where they are in range (S129).
static void deriveLatentHeads(Model &model) {
  const LatentAttention &latent = model.latent_attention();
  int64_t turned = latent.qk_rope_head_dim(), rest = latent.qk_nope_head_dim();
  if (turned >= 1 && turned < 512 && rest >= 1 && rest <= 512 - turned)
    model.set_head_dim(turned + rest);
}

/// Sizes that follow from others. A wrong size (0 heads) leaves what would
/// follow from it absent; the checks then name the wrong one.
static void deriveSizes(Model &model) {
  if (!attends(model) && !model.has_heads()) { // Sizes that nothing has.
    model.set_heads(1);
    model.set_head_dim(1);
  }
  StateSpace *space =
      model.has_state_space() ? model.mutable_state_space() : nullptr;
  if (space && !space->has_heads() && space->head_dim() > 0 &&
      model.hidden() > 0 && model.hidden() < (int64_t(1) << 60) &&
      2 * model.hidden() % space->head_dim() == 0)
    space->set_heads(2 * model.hidden() / space->head_dim());
  if (!model.has_kv_heads() && model.has_heads())
    model.set_kv_heads(model.heads());
  if (model.has_latent_attention() && !model.has_head_dim())
    deriveLatentHeads(model);
  if (!model.has_head_dim() && !model.has_latent_attention() &&
      model.hidden() > 0 && model.heads() > 0 &&
      model.hidden() % model.heads() == 0)
    model.set_head_dim(model.hidden() / model.heads());
  bool fits = model.hidden() <= std::numeric_limits<int64_t>::max() / 4;
  if (!model.has_ffn() && model.hidden() > 0 && fits)
    model.set_ffn(4 * model.hidden());
  Vision *vision = model.has_vision() ? model.mutable_vision() : nullptr;
  if (vision && !vision->has_ffn() && vision->hidden() > 0 &&
      vision->hidden() < (int64_t(1) << 60))
    vision->set_ffn(4 * vision->hidden());
  if (model.has_moe() && !model.moe().has_ffn() && model.has_ffn())
    model.mutable_moe()->set_ffn(model.ffn());
  if (model.has_moe() && !model.moe().has_topk_groups())
    model.mutable_moe()->set_topk_groups(model.moe().groups());
  if (!model.has_attention_scale() && model.head_dim() > 0)
    model.set_attention_scale(1.0 /
                              std::sqrt(static_cast<double>(model.head_dim())));
}

/// What few models have is left out where it says what is usual, so that two
/// specifications of one model are alike.
static void dropUsual(Model &model) {
  if (model.attention_mask() == Model::CAUSAL)
    model.clear_attention_mask();
  if (model.branches() == Model::SEQUENTIAL)
    model.clear_branches();
  if (model.token_types() == 0)
    model.clear_token_types();
  if (!model.embedding_norm())
    model.clear_embedding_norm();
  if (model.final_norm())
    model.clear_final_norm();
  if (!model.head_transform())
    model.clear_head_transform();
  if (!model.head_bias())
    model.clear_head_bias();
  if (!model.sentence_head())
    model.clear_sentence_head();
}

static void deriveBiases(Model &model) {
  bool bias = model.bias();
  if (!model.has_attention_qkv_bias())
    model.set_attention_qkv_bias(bias);
  if (!model.has_attention_out_bias())
    model.set_attention_out_bias(bias);
  if (!model.has_mlp_bias())
    model.set_mlp_bias(bias);
  if (!model.has_norm_bias())
    model.set_norm_bias(bias && model.norm() == Model::LAYER_NORM);
}

/// `a * b`. A factor that is no size counts as 1, and one that would make it
/// too large not at all: the checks name the factor, and nothing else.
static int64_t productOr(int64_t a, int64_t b) {
  a = std::max<int64_t>(a, 1);
  int64_t product;
  return __builtin_mul_overflow(a, std::max<int64_t>(b, 1), &product) ? a
                                                                      : product;
}

static void derivePlan(Spec &spec) {
  Plan &plan = *spec.mutable_plan();
  if (!plan.has_schedule())
    plan.set_schedule(plan.virtual_stages() > 1 ? "interleaved-1f1b" : "1f1b");
  if (plan.schedule() == "interleaved") // Its short name.
    plan.set_schedule("interleaved-1f1b");
  if (!plan.has_schedule_group())
    plan.set_schedule_group(plan.pipeline_parallel());
  if (!spec.cluster().has_devices())
    spec.mutable_cluster()->set_devices(
        productOr(productOr(plan.pipeline_parallel(), plan.data_parallel()),
                  productOr(plan.context_parallel(), plan.tensor_parallel())));
}

/// How many steps there are, the data alone knows.
static void leaveToData(Training &training) {
  training.clear_steps();
  if (training.learning_rate().has_warmup_fraction())
    training.mutable_learning_rate()->clear_warmup_steps();
}

static void deriveTraining(Training &training, const Plan &plan) {
  if (!training.has_global_batch_size())
    training.set_global_batch_size(
        productOr(training.micro_batch_size(), plan.data_parallel()));
  if (training.has_epochs())
    return leaveToData(training);
  LearningRate &rate = *training.mutable_learning_rate();
  if (rate.has_decay_samples()) { // What is in samples has no use for steps.
    rate.clear_warmup_steps();
    return;
  }
  if (!rate.has_decay_steps())
    rate.set_decay_steps(std::max(training.steps(), rate.warmup_steps()));
  if (rate.schedule() == LearningRate::WSD && !rate.has_wsd_decay_steps())
    rate.set_wsd_decay_steps(std::min(
        rate.decay_steps() / 10,
        std::max<int64_t>(0, rate.decay_steps()) -
            std::clamp<int64_t>(rate.warmup_steps(), 0,
                                std::max<int64_t>(0, rate.decay_steps()))));
}

/// Sentinels from the end of the vocabulary, and a decoder that is as long as
/// its labels. What is out of range stays as it is, and is told of.
static void deriveSpans(const Model &model, Training &training) {
  if (!training.has_span_corruption())
    return;
  SpanCorruption &spans = *training.mutable_span_corruption();
  if (!spans.has_first_sentinel() && model.vocab_size() > 0)
    spans.set_first_sentinel(model.vocab_size() - 1);
  if (!training.has_sequence_length() && hasSpanLengths(training))
    training.set_sequence_length(
        static_cast<int64_t>(spanLengthsOf(training).labels()));
}

/// An encoder that drops what the model drops, and Megatron-LM's layers.
static void deriveRetrieval(Model &model) {
  if (!model.has_retrieval())
    return;
  Retrieval &retrieval = *model.mutable_retrieval();
  if (!retrieval.has_encoder_dropout())
    retrieval.set_encoder_dropout(model.dropout().residual());
  if (!retrieval.has_encoder_attention_dropout())
    retrieval.set_encoder_attention_dropout(model.dropout().attention());
  if (retrieval.layers().empty())
    for (int64_t layer :
         usualRetrievalLayers(std::min<int64_t>(model.layers(), 1 << 16)))
      retrieval.add_layers(layer);
}

/// What fills up neighbours ends documents, as in Megatron-LM.
static void deriveRetrieved(Training &training) {
  Data &data = *training.mutable_data();
  if (data.has_retrieved() && !data.retrieved().has_pad_token())
    data.mutable_retrieved()->set_pad_token(data.eod_token());
}

void hocket::spec::fillDefaults(Spec &spec) {
  addMessages(spec);
  fillStated(spec);
  Model &model = *spec.mutable_model();
  Training &training = *spec.mutable_training();
  deriveSizes(model);
  deriveBiases(model);
  dropUsual(model);
  derivePlan(spec);
  deriveTraining(training, spec.plan());
  deriveSpans(model, training);
  deriveRetrieval(model);
  deriveRetrieved(training);
  if (!training.has_sequence_length() && model.has_max_positions())
    training.set_sequence_length(model.max_positions());
  if (!model.has_max_positions() && training.has_sequence_length())
    model.set_max_positions(training.sequence_length());
}
