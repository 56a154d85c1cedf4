//===- Parameters.h - What a model trains -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The trained tensors of a model under their canonical names, which are the
/// names in checkpoints:
///
///   embedding.weight                      [padded vocab, hidden]
///   position_embedding.weight             [max_positions, hidden]
///   relative_position.weight              [buckets, heads], with RELATIVE
///   token_type_embedding.weight           [token_types, hidden]
///   embedding_norm.{weight,bias}          [hidden], with embedding_norm
///   layers.{i}.attention_norm.{weight,bias}      [hidden], but with BRANCH
///   layers.{i}.attention_post_norm.{weight,bias} [hidden], with BOTH, BRANCH
///   layers.{i}.attention.{q,k,v,o}.{weight,bias} [out, in], [out]
///   layers.{i}.attention.{q_norm,k_norm}.weight  [head_dim], or of all heads
///   layers.{i}.mlp_norm.{weight,bias}            [hidden], but with BRANCH
///   layers.{i}.mlp_post_norm.{weight,bias}       [hidden], with BOTH, BRANCH
///   layers.{i}.mlp.{gate,up,down}.{weight,bias}  [out, in], [out]
/// or, with latent_attention, for q, k, v and o, with `rope`, `nope` and
/// `value` its parts of a head (queries of the token have no q_down, q_norm),
///   layers.{i}.attention.q_down.weight           [q_lora_rank, hidden]
///   layers.{i}.attention.q_norm.weight           [q_lora_rank]
///   layers.{i}.attention.q.weight         [heads (rope + nope), q_lora_rank]
///   layers.{i}.attention.kv_down.weight          [kv_lora_rank, hidden]
///   layers.{i}.attention.kv_norm.weight          [kv_lora_rank]
///   layers.{i}.attention.k_rope.weight           [rope, hidden]
///   layers.{i}.attention.k.weight                [heads nope, kv_lora_rank]
///   layers.{i}.attention.v.weight                [heads value, kv_lora_rank]
///   layers.{i}.attention.o.weight                [hidden, heads value]
/// or, in a layer with experts,
///   layers.{i}.mlp.router.weight                 [experts, hidden]
///   layers.{i}.mlp.experts.{gate,up,down}.weight [experts, out, in]
///   layers.{i}.mlp.shared.{gate,up,down}.weight  [out, in]
///   layers.{i}.mlp.shared_gate.weight            [1, hidden]
/// or, in the decoder of a model with an encoder, besides
///   layers.{i}.cross_attention_norm.{weight,bias}    [hidden]
///   layers.{i}.cross_attention.{q,k,v,o}.{weight,bias}
///   encoder.relative_position.weight      [buckets, heads], with RELATIVE
///   encoder.layers.{i}.*                  as layers.{i}.*
///   encoder.final_norm.{weight,bias}      [hidden], all three with an encoder
/// or, of a model that sees images,
///   vision.*, projector.*                 as Vision.h has them
///   final_norm.{weight,bias}              [hidden]
///   head_transform.{weight,bias}          [hidden, hidden], [hidden]
///   head_norm.{weight,bias}               [hidden], both with head_transform
///   head.weight                           [padded vocab, hidden], unless tied
///   head.bias                             [padded vocab], with head_bias
///   pooler.{weight,bias}                  [hidden, hidden], [hidden], with
///                                         sentence_head or classes
///   sentence_head.{weight,bias}           [2, hidden], [2], with sentence_head
///   class_head.{weight,bias}              [classes, hidden], [classes]
///
/// A layer with mixer: MAMBA2 has, in place of attention's, with `inner` heads
/// * head_dim and `maps` groups * state_size of model.state_space:
///
///   mixer.z, mixer.x                      [inner, hidden]
///   mixer.b, mixer.c                      [maps, hidden]
///   mixer.dt                              [heads, hidden]
///   mixer.conv_x, mixer.conv_b, mixer.conv_c   [inner or maps, conv_width]
///   mixer.decay, mixer.step_bias, mixer.skip   [heads]
///   mixer.gated_norm.weight               [inner]
///   mixer.out                             [hidden, inner]
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_PARAMETERS_H
#define HOCKET_FRONTENDS_SPEC_MODEL_PARAMETERS_H

#include "frontends/spec/model/LayerPattern.h"
#include "frontends/spec/spec.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::spec {

/// Steps of state-space layers are at first of a hundredth of this to all of it
/// (`#xf.init`'s time_step).
inline constexpr double mostInitialStep = 0.1;

/// What the names of the encoder's parameters begin with.
inline const std::string encoderPrefix = "encoder.";

struct Parameter {
  enum class Initial { Zeros, Ones, Normal, Uniform, LogUniform, TimeStep };
  /// Those of `xf` (`#xf.parameter_role`): what a plan splits, it finds by
  /// these. A bias has the role of its linear layer.
  enum class Role {
    Embedding,
    Positions,
    Norm,
    Query,
    Key,
    Value,
    AttentionOutput,
    Gate,
    Up,
    Down,
    Router,
    ExpertGate,
    ExpertUp,
    ExpertDown,
    Head,
    TokenTypes,
    HeadTransform,
    SentenceHead,
    StateInput,
    StateGroup,
    StateOutput,
    RelativePositions,
    Patches,
    Latent
  };

  std::string name; ///< Within its scope: "attention.q.weight".
  Role role;
  std::vector<int64_t> shape; ///< Global.
  Initial initial = Initial::Normal;
  double stddev = 0;  ///< Of Normal; of others the value (`#xf.init`).
  bool decay = false; ///< Whether weight decay applies.
  const char *field;  ///< The field of the spec that it comes from.
};

/// The parameters of a layer of `kind`, without "layers.{i}.".
std::vector<Parameter> layerParameters(const Spec &spec,
                                       const ResolvedKind &kind);

/// Those of the encoder that are of no layer, without "encoder.": before its
/// first layer and behind the last one.
std::vector<Parameter> encoderInputParameters(const Spec &spec);
std::vector<Parameter> encoderOutputParameters(const Spec &spec);

/// Those before the first layer: the embeddings.
std::vector<Parameter> inputParameters(const Spec &spec);

/// Those after the last layer: the final norm and an untied head.
std::vector<Parameter> outputParameters(const Spec &spec);

/// All of them by their full names, in the order of the forward pass.
std::vector<Parameter> modelParameters(const Spec &spec);

/// "layers.<layer>." before `name`.
std::string layerName(int64_t layer, const std::string &name);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_PARAMETERS_H
