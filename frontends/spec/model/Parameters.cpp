//===- Parameters.cpp - What a model trains -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Parameters.h"

#include "frontends/spec/model/Retrieval.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"

#include <cmath>
#include <utility>

using namespace hocket::spec;
using Role = Parameter::Role;

namespace {
/// Appends parameters with the initial values and decay that the spec gives
/// their kind.
class ParameterList {
public:
  explicit ParameterList(const Spec &spec)
      : ParameterList(spec, spec.model()) {}
  /// Of a part of the model that is a model of its own.
  ParameterList(const Spec &spec, const Model &part)
      : normWeight(part.norm_zero_centered() ? Parameter::Initial::Zeros
                                             : Parameter::Initial::Ones),
        stddev(part.initializer().stddev()), normBias(part.norm_bias()),
        decayVectors(spec.training().optimizer().decay_norms_and_biases()) {}

  /// A table or matrix [rows, columns].
  void matrix(const std::string &name, Role role, int64_t rows, int64_t columns,
              const char *field, double scale = 1) {
    list.push_back({name,
                    role,
                    {rows, columns},
                    Parameter::Initial::Normal,
                    stddev * scale,
                    true,
                    field});
  }

  /// A matrix of each expert: [experts, rows, columns].
  void matrices(const std::string &name, Role role, std::vector<int64_t> shape,
                double scale = 1) {
    list.push_back({name, role, std::move(shape), Parameter::Initial::Normal,
                    stddev * scale, true, "model.moe"});
  }

  void vector(const std::string &name, Role role, int64_t size,
              Parameter::Initial initial, const char *field, double value = 0) {
    list.push_back({name, role, {size}, initial, value, decayVectors, field});
  }

  void norm(const std::string &name, int64_t size) {
    vector(name + ".weight", Role::Norm, size, normWeight, "model.norm");
    if (normBias)
      vector(name + ".bias", Role::Norm, size, Parameter::Initial::Zeros,
             "model.norm_bias");
  }

  std::vector<Parameter> list;
  Parameter::Initial normWeight; ///< Of the weights of norms.

private:
  double stddev;
  bool normBias;
  bool decayVectors;
};

/// A linear layer: its name, its sizes, and where its bias is asked for.
struct Linear {
  std::string name;
  Role role;
  int64_t out;
  int64_t in;
  bool bias;
  const char *biasField;
};
} // namespace

static void addLinear(ParameterList &list, const Linear &linear,
                      const char *field, double scale = 1) {
  list.matrix(linear.name + ".weight", linear.role, linear.out, linear.in,
              field, scale);
  if (linear.bias)
    list.vector(linear.name + ".bias", linear.role, linear.out,
                Parameter::Initial::Zeros, linear.biasField);
}

/// GPT-2 (Radford et al., 2019, section 2.3): 1/sqrt(N) for N residual
/// branches.
static double residualScale(const ResolvedKind &kind) {
  if (!kind.model.initializer().depth_scaled())
    return 1;
  return 1 / std::sqrt(static_cast<double>(kind.branches));
}

/// DeepSeek-V2 (arXiv 2405.04434, section 2.1).
static void addLatentAttention(ParameterList &list, const ResolvedKind &kind) {
  const Model &model = kind.model;
  const LatentAttention &latent = model.latent_attention();
  const char *field = "model.latent_attention";
  int64_t hidden = model.hidden(), heads = model.heads();
  int64_t kv = latent.kv_lora_rank(), queriesOf = hidden;
  auto matrix = [&](const char *name, Role role, int64_t out, int64_t in) {
    list.matrix(std::string("attention.") + name + ".weight", role, out, in,
                field);
  };
  auto norm = [&](const char *name, int64_t size) {
    if (model.qk_norm())
      list.vector(std::string("attention.") + name + ".weight", Role::Norm,
                  size, list.normWeight, "model.qk_norm");
  };
  if (latent.has_q_lora_rank()) {
    queriesOf = latent.q_lora_rank();
    matrix("q_down", Role::Latent, queriesOf, hidden);
    norm("q_norm", queriesOf);
  }
  matrix("q", Role::Query, heads * model.head_dim(), queriesOf);
  matrix("kv_down", Role::Latent, kv, hidden);
  norm("kv_norm", kv);
  matrix("k_rope", Role::Latent, latent.qk_rope_head_dim(), hidden);
  matrix("k", Role::Key, heads * latent.qk_nope_head_dim(), kv);
  matrix("v", Role::Value, heads * latent.v_head_dim(), kv);
  addLinear(list,
            {"attention.o", Role::AttentionOutput, hidden,
             heads * latent.v_head_dim(), model.attention_out_bias(),
             "model.attention_out_bias"},
            field, residualScale(kind));
}

/// `branch` is "attention", or "cross_attention" of a decoder.
static void addAttention(ParameterList &list, const ResolvedKind &kind,
                         const std::string &branch = "attention") {
  const Model &model = kind.model;
  int64_t hidden = model.hidden();
  int64_t queries = model.heads() * model.head_dim();
  int64_t keys = model.kv_heads() * model.head_dim();
  bool bias = model.attention_qkv_bias();
  const char *biasField = "model.attention_qkv_bias";
  addLinear(list,
            {branch + ".q", Role::Query, queries, hidden, bias, biasField},
            "model.heads");
  addLinear(list, {branch + ".k", Role::Key, keys, hidden, bias, biasField},
            "model.kv_heads");
  addLinear(list, {branch + ".v", Role::Value, keys, hidden, bias, biasField},
            "model.kv_heads");
  bool together = model.qk_norm_scope() == Model::ALL_HEADS;
  for (auto [name, width] :
       {std::pair{"attention.q_norm", queries}, {"attention.k_norm", keys}})
    if (model.qk_norm())
      list.vector(std::string(name) + ".weight", Role::Norm,
                  together ? width : model.head_dim(), list.normWeight,
                  "model.qk_norm");
  addLinear(list,
            {branch + ".o", Role::AttentionOutput, hidden, queries,
             model.attention_out_bias(), "model.attention_out_bias"},
            "model.heads", residualScale(kind));
}

/// mamba_ssm's initial values: weights of the convolution as PyTorch's, decays
/// the logarithms of 1 to 16, and steps of 0.001 to 0.1.
static void addStateSpace(ParameterList &list, const ResolvedKind &kind) {
  const StateSpace &space = kind.model.state_space();
  using Initial = Parameter::Initial;
  const char *field = "model.state_space";
  int64_t hidden = kind.model.hidden(), heads = space.heads();
  int64_t inner = heads * space.head_dim();
  int64_t maps = space.groups() * space.state_size();
  bool bias = space.bias();
  struct Part {
    const char *name;
    Role role;
    int64_t width;
  };
  static constexpr Role input = Role::StateInput, group = Role::StateGroup;
  for (auto [name, role, width] : {Part{"z", input, inner},
                                   {"x", input, inner},
                                   {"b", group, maps},
                                   {"c", group, maps},
                                   {"dt", input, heads}})
    addLinear(list,
              {std::string("mixer.") + name, role, width, hidden, bias, field},
              field);
  double bound = 1 / std::sqrt(static_cast<double>(space.conv_width()));
  for (auto [name, role, width] :
       {Part{"x", input, inner}, {"b", group, maps}, {"c", group, maps}}) {
    std::string full = std::string("mixer.conv_") + name;
    list.list.push_back({full + ".weight",
                         role,
                         {width, space.conv_width()},
                         Initial::Uniform,
                         bound,
                         true,
                         field});
    if (space.conv_bias())
      list.vector(full + ".bias", role, width, Initial::Uniform, field, bound);
  }
  list.vector("mixer.decay", input, heads, Initial::LogUniform, field, 16);
  list.vector("mixer.step_bias", input, heads, Initial::TimeStep, field,
              mostInitialStep);
  list.vector("mixer.skip", input, heads, Initial::Ones, field);
  list.vector("mixer.gated_norm.weight",
              space.norm_groups() == 1 ? Role::Norm : input, inner,
              Initial::Ones, field);
  addLinear(list, {"mixer.out", Role::StateOutput, hidden, inner, bias, field},
            field, residualScale(kind));
}

static void addMlp(ParameterList &list, const ResolvedKind &kind) {
  const Model &model = kind.model;
  int64_t hidden = model.hidden(), ffn = model.ffn();
  bool bias = model.mlp_bias();
  const char *biasField = "model.mlp_bias";
  if (isGated(model.activation()))
    addLinear(list, {"mlp.gate", Role::Gate, ffn, hidden, bias, biasField},
              "model.ffn");
  addLinear(list, {"mlp.up", Role::Up, ffn, hidden, bias, biasField},
            "model.ffn");
  addLinear(list, {"mlp.down", Role::Down, hidden, ffn, bias, biasField},
            "model.ffn", residualScale(kind));
}

static void addExperts(ParameterList &list, const ResolvedKind &kind) {
  const Model &model = kind.model;
  const Moe &moe = model.moe();
  int64_t hidden = model.hidden(), ffn = moe.ffn(), experts = moe.experts();
  int64_t shared = moe.shared_experts() * ffn;
  bool gated = isGated(model.activation());
  list.matrix("mlp.router.weight", Role::Router, experts, hidden, "model.moe");
  if (gated)
    list.matrices("mlp.experts.gate.weight", Role::ExpertGate,
                  {experts, ffn, hidden});
  list.matrices("mlp.experts.up.weight", Role::ExpertUp,
                {experts, ffn, hidden});
  list.matrices("mlp.experts.down.weight", Role::ExpertDown,
                {experts, hidden, ffn}, residualScale(kind));
  if (shared == 0)
    return;
  if (gated)
    list.matrix("mlp.shared.gate.weight", Role::Gate, shared, hidden,
                "model.moe");
  list.matrix("mlp.shared.up.weight", Role::Up, shared, hidden, "model.moe");
  list.matrix("mlp.shared.down.weight", Role::Down, hidden, shared, "model.moe",
              residualScale(kind));
  if (moe.shared_expert_gate())
    list.matrix("mlp.shared_gate.weight", Role::Router, 1, hidden,
                "model.moe.shared_expert_gate");
}

/// The encoder of neighbours, in the layer that has it.
static void addRetriever(ParameterList &list, const Spec &spec,
                         const Model &model) {
  for (int64_t i = 0; i < model.retrieval().encoder_layers(); ++i)
    for (Parameter &parameter :
         layerParameters(spec, retrieverKind(model, i))) {
      parameter.name = retrieverPrefix + layerName(i, parameter.name);
      list.list.push_back(std::move(parameter));
    }
}

std::vector<Parameter> hocket::spec::layerParameters(const Spec &spec,
                                                     const ResolvedKind &kind) {
  ParameterList list(spec, kind.model);
  auto norms = [&](const std::string &branch) {
    if (hasNormBefore(kind.model))
      list.norm(branch + "_norm", kind.model.hidden());
    if (hasPostNorm(kind.model))
      list.norm(branch + "_post_norm", kind.model.hidden());
  };
  if (kind.attention) {
    norms("attention");
    if (kind.model.has_latent_attention())
      addLatentAttention(list, kind);
    else
      addAttention(list, kind);
    if (kind.model.has_encoder() || kind.retrieves) {
      norms("cross_attention");
      addAttention(list, kind, "cross_attention");
    }
    if (kind.encodes)
      addRetriever(list, spec, kind.model);
  }
  if (kind.stateSpace) {
    norms("mixer");
    addStateSpace(list, kind);
  }
  if (kind.feedForward != LayerKind::NO_FEED_FORWARD && !hasOneNorm(kind.model))
    norms("mlp");
  if (kind.hasExperts())
    addExperts(list, kind);
  else if (kind.isDense())
    addMlp(list, kind);
  return std::move(list.list);
}

/// Rows of the embedding and the head. checkSpec has made sure that they fit.
static int64_t vocabRows(const Model &model) {
  return paddedVocabSize(model).get().value_or(model.vocab_size());
}

/// Of a stack of layers.
static void addRelativePositions(ParameterList &list, const Model &model) {
  if (model.position() == Model::RELATIVE)
    list.matrix("relative_position.weight", Role::RelativePositions,
                model.relative_position().buckets(), model.heads(),
                "model.relative_position");
}

std::vector<Parameter> hocket::spec::encoderInputParameters(const Spec &spec) {
  ParameterList list(spec);
  addRelativePositions(list, spec.model());
  return std::move(list.list);
}

std::vector<Parameter> hocket::spec::encoderOutputParameters(const Spec &spec) {
  ParameterList list(spec);
  list.norm("final_norm", spec.model().hidden());
  return std::move(list.list);
}

std::vector<Parameter> hocket::spec::visionInputParameters(const Spec &spec) {
  const Vision &vision = spec.model().vision();
  ParameterList list(spec, towerOf(spec.model()));
  list.matrix("patch_embedding.weight", Role::Patches, vision.hidden(),
              patchElements(vision), "model.vision.patch_size");
  list.list.push_back(list.list.back()); // As the weight of the layer.
  list.list.back().name = "class_embedding.weight";
  list.list.back().shape = {vision.hidden()};
  list.matrix("position_embedding.weight", Role::Positions, towerRows(vision),
              vision.hidden(), "model.vision.image_size");
  list.norm("pre_norm", vision.hidden());
  return std::move(list.list);
}

std::vector<Parameter> hocket::spec::visionOutputParameters(const Spec &spec) {
  ParameterList list(spec, towerOf(spec.model()));
  list.norm("post_norm", spec.model().vision().hidden());
  return std::move(list.list);
}

std::vector<Parameter> hocket::spec::projectorParameters(const Spec &spec) {
  const Vision &vision = spec.model().vision();
  int64_t hidden = spec.model().hidden();
  ParameterList list(spec);
  const char *biasField = "model.vision.projector_bias";
  addLinear(list,
            {"projector.up", Role::Up, hidden, vision.hidden(),
             vision.projector_bias(), biasField},
            "model.vision");
  addLinear(list,
            {"projector.down", Role::Down, hidden, hidden,
             vision.projector_bias(), biasField},
            "model.vision");
  return std::move(list.list);
}

std::vector<Parameter> hocket::spec::inputParameters(const Spec &spec) {
  const Model &model = spec.model();
  ParameterList list(spec);
  list.matrix("embedding.weight", Role::Embedding, vocabRows(model),
              model.hidden(), "model.vocab_size");
  if (model.position() == Model::LEARNED)
    list.matrix("position_embedding.weight", Role::Positions,
                model.max_positions(), model.hidden(), "model.max_positions");
  addRelativePositions(list, model);
  if (model.token_types() > 0)
    list.matrix("token_type_embedding.weight", Role::TokenTypes,
                model.token_types(), model.hidden(), "model.token_types");
  if (model.embedding_norm())
    list.norm("embedding_norm", model.hidden());
  return std::move(list.list);
}

/// What stands between the last layer and the head of tokens.
static void addHeadTransform(ParameterList &list, const Model &model) {
  addLinear(list,
            {"head_transform", Role::HeadTransform, model.hidden(),
             model.hidden(), model.bias(), "model.bias"},
            "model.head_transform");
  list.norm("head_norm", model.hidden());
}

static void addSequenceHead(ParameterList &list, const Model &model,
                            const SequenceHead &head) {
  for (auto [name, out] :
       {std::pair{"pooler", model.hidden()}, {head.name, head.outputs}})
    addLinear(list,
              {name, Role::SentenceHead, out, model.hidden(), model.bias(),
               "model.bias"},
              head.field);
}

std::vector<Parameter> hocket::spec::outputParameters(const Spec &spec) {
  const Model &model = spec.model();
  ParameterList list(spec);
  if (hasFinalNorm(model))
    list.norm("final_norm", model.hidden());
  if (model.head_transform())
    addHeadTransform(list, model);
  if (!model.tied_embeddings() && !tellsClasses(model))
    list.matrix("head.weight", Role::Head, vocabRows(model), model.hidden(),
                "model.tied_embeddings");
  if (model.head_bias())
    list.vector("head.bias", Role::Head, vocabRows(model),
                Parameter::Initial::Zeros, "model.head_bias");
  if (auto head = sequenceHeadOf(model))
    addSequenceHead(list, model, *head);
  return std::move(list.list);
}

std::vector<Parameter> hocket::spec::modelParameters(const Spec &spec) {
  std::vector<Parameter> all = inputParameters(spec);
  auto add = [&](std::vector<Parameter> list, const std::string &prefix) {
    for (Parameter &parameter : list) {
      parameter.name = prefix + parameter.name;
      all.push_back(std::move(parameter));
    }
  };
  if (spec.model().has_encoder()) {
    Model encoder = encoderOf(spec.model());
    LayerPattern layers(encoder);
    add(encoderInputParameters(spec), encoderPrefix);
    for (int64_t i = 0; i < encoder.layers(); ++i)
      add(layerParameters(spec, layers[i]), encoderPrefix + layerName(i, ""));
    add(encoderOutputParameters(spec), encoderPrefix);
  }
  if (spec.model().has_vision()) {
    Model tower = towerOf(spec.model());
    LayerPattern layers(tower);
    add(visionInputParameters(spec), visionPrefix);
    for (int64_t i = 0; i < tower.layers(); ++i)
      add(layerParameters(spec, layers[i]), visionPrefix + layerName(i, ""));
    add(visionOutputParameters(spec), visionPrefix);
    add(projectorParameters(spec), "");
  }
  LayerPattern layers(spec.model());
  for (int64_t i = 0; i < spec.model().layers(); ++i)
    add(layerParameters(spec, layers[i]), layerName(i, ""));
  for (Parameter &parameter : outputParameters(spec))
    all.push_back(std::move(parameter));
  return all;
}

std::string hocket::spec::layerName(int64_t layer, const std::string &name) {
  return "layers." + std::to_string(layer) + "." + name;
}
