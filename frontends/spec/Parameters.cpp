//===- Parameters.cpp - What a model trains -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Parameters.h"

#include "frontends/spec/Sizes.h"

#include <cmath>

using namespace hocket::spec;
using Role = Parameter::Role;

namespace {
/// Appends parameters with the initial values and decay that the spec gives
/// their kind.
class ParameterList {
public:
  explicit ParameterList(const Spec &spec)
      : stddev(spec.model().initializer().stddev()),
        normBias(spec.model().norm_bias()),
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
              Parameter::Initial initial, const char *field) {
    list.push_back({name, role, {size}, initial, 0, decayVectors, field});
  }

  void norm(const std::string &name, int64_t size) {
    vector(name + ".weight", Role::Norm, size, Parameter::Initial::Ones,
           "model.norm");
    if (normBias)
      vector(name + ".bias", Role::Norm, size, Parameter::Initial::Zeros,
             "model.norm_bias");
  }

  std::vector<Parameter> list;

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

/// GPT-2 (Radford et al., 2019, section 2.3): 1/sqrt(N) for N residual layers,
/// two to a transformer layer.
static double residualScale(const Model &model) {
  if (!model.initializer().depth_scaled())
    return 1;
  return 1 / std::sqrt(2.0 * static_cast<double>(model.layers()));
}

static void addAttention(ParameterList &list, const Model &model) {
  int64_t hidden = model.hidden();
  int64_t queries = model.heads() * model.head_dim();
  int64_t keys = model.kv_heads() * model.head_dim();
  bool bias = model.attention_qkv_bias();
  const char *biasField = "model.attention_qkv_bias";
  addLinear(list,
            {"attention.q", Role::Query, queries, hidden, bias, biasField},
            "model.heads");
  addLinear(list, {"attention.k", Role::Key, keys, hidden, bias, biasField},
            "model.kv_heads");
  addLinear(list, {"attention.v", Role::Value, keys, hidden, bias, biasField},
            "model.kv_heads");
  if (model.qk_norm())
    for (const char *name : {"attention.q_norm", "attention.k_norm"})
      list.vector(std::string(name) + ".weight", Role::Norm, model.head_dim(),
                  Parameter::Initial::Ones, "model.qk_norm");
  addLinear(list,
            {"attention.o", Role::AttentionOutput, hidden, queries,
             model.attention_out_bias(), "model.attention_out_bias"},
            "model.heads", residualScale(model));
}

static void addMlp(ParameterList &list, const Model &model) {
  int64_t hidden = model.hidden(), ffn = model.ffn();
  bool bias = model.mlp_bias();
  const char *biasField = "model.mlp_bias";
  if (isGated(model.activation()))
    addLinear(list, {"mlp.gate", Role::Gate, ffn, hidden, bias, biasField},
              "model.ffn");
  addLinear(list, {"mlp.up", Role::Up, ffn, hidden, bias, biasField},
            "model.ffn");
  addLinear(list, {"mlp.down", Role::Down, hidden, ffn, bias, biasField},
            "model.ffn", residualScale(model));
}

static void addExperts(ParameterList &list, const Model &model) {
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
                {experts, hidden, ffn}, residualScale(model));
  if (shared == 0)
    return;
  if (gated)
    list.matrix("mlp.shared.gate.weight", Role::Gate, shared, hidden,
                "model.moe");
  list.matrix("mlp.shared.up.weight", Role::Up, shared, hidden, "model.moe");
  list.matrix("mlp.shared.down.weight", Role::Down, hidden, shared, "model.moe",
              residualScale(model));
}

std::vector<Parameter> hocket::spec::layerParameters(const Spec &spec,
                                                     bool experts) {
  ParameterList list(spec);
  list.norm("attention_norm", spec.model().hidden());
  addAttention(list, spec.model());
  list.norm("mlp_norm", spec.model().hidden());
  if (experts)
    addExperts(list, spec.model());
  else
    addMlp(list, spec.model());
  return std::move(list.list);
}

/// Rows of the embedding and the head. checkSpec has made sure that they fit.
static int64_t vocabRows(const Model &model) {
  return paddedVocabSize(model).get().value_or(model.vocab_size());
}

std::vector<Parameter> hocket::spec::inputParameters(const Spec &spec) {
  const Model &model = spec.model();
  ParameterList list(spec);
  list.matrix("embedding.weight", Role::Embedding, vocabRows(model),
              model.hidden(), "model.vocab_size");
  if (model.position() == Model::LEARNED)
    list.matrix("position_embedding.weight", Role::Positions,
                model.max_positions(), model.hidden(), "model.max_positions");
  return std::move(list.list);
}

std::vector<Parameter> hocket::spec::outputParameters(const Spec &spec) {
  const Model &model = spec.model();
  ParameterList list(spec);
  list.norm("final_norm", model.hidden());
  if (!model.tied_embeddings())
    list.matrix("head.weight", Role::Head, vocabRows(model), model.hidden(),
                "model.tied_embeddings");
  return std::move(list.list);
}

std::string hocket::spec::layerName(int64_t layer, const std::string &name) {
  return "layers." + std::to_string(layer) + "." + name;
}
