//===- CheckModel.cpp - Fields of the model against each other ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/model/LayerPattern.h"
#include "frontends/spec/model/RopeFrequencies.h"
#include "frontends/spec/model/Sizes.h"

#include <algorithm>
#include <utility>

using namespace hocket::spec;

/// S9, of YaRN.
static void checkYarn(const Rope &rope, const std::string &field,
                      ConstraintErrors &errors) {
  const Rope::Yarn &yarn = rope.scaling().yarn();
  if (!yarn.has_original_max_positions())
    errors.add(9, field + ".scaling.yarn",
               field + ".scaling.yarn.original_max_positions is required; "
                       "write the context that the model was trained with");
  if (rope.theta() == 1)
    errors.add(9, field + ".theta",
               "YaRN asks how often a pair turns, and with a theta of 1 all "
               "turn alike; write a greater one");
  if (yarn.beta_fast() <= yarn.beta_slow())
    errors.add(9, field + ".scaling.yarn.beta_fast",
               "beta_fast is " + formatReal(yarn.beta_fast()) +
                   "; write more than beta_slow (" +
                   formatReal(yarn.beta_slow()) + ")");
  if (rope.rotary_percent() != 1 && ropeScoreFactor(rope) != 1)
    errors.add(9, field + ".rotary_percent",
               "with YaRN's attention_factor, which scales whole heads, all of "
               "a head turns; leave rotary_percent out, or write "
               "attention_factor: 1");
}

/// S9, of dynamic NTK scaling.
static void checkDynamic(const Model &model, const std::string &field,
                         ConstraintErrors &errors) {
  if (!model.rope().scaling().dynamic().has_original_max_positions())
    errors.add(9, field + ".scaling.dynamic",
               field + ".scaling.dynamic.original_max_positions is required; "
                       "write the context that the model was trained with");
  if (rotatedDim(model.rope(), ropeHeadDim(model)) == 2)
    errors.add(9, field + ".scaling.dynamic",
               "dynamic scaling spreads a factor over the pairs that turn, and "
               "there is one; write another scaling, or larger heads");
}

/// The divisor of `whole` nearest to `wish`; both are at least 1.
static int64_t nearestDivisor(int64_t whole, int64_t wish) {
  for (int64_t step = 0;; ++step) {
    if (wish - step >= 1 && whole % (wish - step) == 0)
      return wish - step;
    if (whole % (wish + step) == 0)
      return wish + step;
  }
}

/// S5, S6.
static void checkHeads(const Model &model, ConstraintErrors &errors) {
  std::string heads = std::to_string(model.heads());
  if (!model.has_head_dim())
    errors.add(
        5, "model.heads",
        "model.heads is " + heads + ", which does not divide " +
            "model.hidden (" + std::to_string(model.hidden()) + "); write " +
            std::to_string(nearestDivisor(model.hidden(), model.heads())) +
            ", or model.head_dim as well");
  if (model.heads() % model.kv_heads() != 0)
    errors.add(
        6, "model.kv_heads",
        "model.kv_heads is " + std::to_string(model.kv_heads()) +
            ", which does not divide model.heads (" + heads + "); write " +
            std::to_string(nearestDivisor(model.heads(), model.kv_heads())));
}

/// S92, of the model or, where `within` is "model.layer_kinds[0]", of that kind
/// of layer.
static void checkAlibi(const Model &model, const std::string &within,
                       ConstraintErrors &errors) {
  if (model.position() != Model::ALIBI)
    return;
  const std::string field = within + ".position";
  if (model.attention_mask() != Model::CAUSAL)
    errors.add(92, field,
               "position: ALIBI tells how far before a token another is; write "
               "attention_mask: CAUSAL, or another position");
  if (model.has_attention_softcap())
    errors.add(92, field,
               "scores that fall with the distance have no softcap; write "
               "another position, or leave attention_softcap out");
}

/// S93.
static void checkRelativePosition(const Model &model,
                                  ConstraintErrors &errors) {
  const std::string field = "model.relative_position";
  if (model.position() != Model::RELATIVE) {
    if (model.has_relative_position())
      errors.add(93, field,
                 field + " has no use with position: " +
                     Model::Position_Name(model.position()) +
                     "; write position: RELATIVE, or leave it out");
    return;
  }
  if (model.has_attention_softcap())
    errors.add(93, "model.position",
               "scores that distances add to have no softcap; write another "
               "position, or leave attention_softcap out");
  bool seesAll = model.attention_mask() != Model::CAUSAL;
  int64_t buckets = model.relative_position().buckets();
  bool someSeeAll = seesAll || model.has_encoder();
  if (someSeeAll && (buckets % 2 != 0 || buckets < 4)) {
    errors.add(93, field + ".buckets",
               "tokens before and behind have as many buckets each, and at "
               "least two; write an even number from 4 on");
    return;
  }
  int64_t exact = buckets / (seesAll ? 4 : 2);
  if (model.relative_position().max_distance() <= exact)
    errors.add(93, field + ".max_distance",
               std::to_string(exact) +
                   " distances have a bucket of their own, and max_distance is "
                   "beyond these; write " +
                   std::to_string(exact + 1) + " or more");
}

/// S7, S8, S9, of the model or, where `within` is "model.layer_kinds[0]", of
/// that kind of layer.
static void checkRope(const Model &model, const std::string &within,
                      ConstraintErrors &errors) {
  const std::string rope = within + ".rope";
  if (model.position() != Model::ROTARY) {
    if (model.has_rope())
      errors.add(8, rope,
                 rope + " has no use with position: " +
                     Model::Position_Name(model.position()) +
                     "; write position: ROTARY, or leave rope out");
    return;
  }
  int64_t rotated = rotatedDim(model.rope(), ropeHeadDim(model));
  if (rotated % 2 != 0 || rotated == 0) {
    bool whole = model.rope().rotary_percent() == 1;
    errors.add(7,
               !whole ? rope + ".rotary_percent"
               : model.has_latent_attention()
                   ? "model.latent_attention.qk_rope_head_dim"
               : model.has_head_dim() ? "model.head_dim"
                                      : "model.heads",
               std::string("the rotary embedding turns pairs, and ") +
                   (!whole ? "the share of model.head_dim that turns is "
                    : model.has_latent_attention()
                        ? "model.latent_attention.qk_rope_head_dim is "
                        : "model.head_dim is ") +
                   std::to_string(rotated) +
                   "; write an even number, or another position");
  }
  if (!model.rope().has_scaling())
    return;
  const Rope::Scaling &scaling = model.rope().scaling();
  if (scaling.has_yarn())
    checkYarn(model.rope(), rope, errors);
  if (scaling.has_dynamic())
    checkDynamic(model, rope, errors);
  if (scaling.kind_case() == Rope::Scaling::KIND_NOT_SET)
    errors.add(9, rope + ".scaling",
               rope + ".scaling names no kind; write linear { }, llama3 { }, "
                      "yarn { } or dynamic { } in it");
  if (scaling.has_llama3() &&
      scaling.llama3().high_freq_factor() <= scaling.llama3().low_freq_factor())
    errors.add(9, rope + ".scaling.llama3.high_freq_factor",
               "high_freq_factor is " +
                   formatReal(scaling.llama3().high_freq_factor()) +
                   "; write more than low_freq_factor (" +
                   formatReal(scaling.llama3().low_freq_factor()) + ")");
}

/// S12.
static void checkTotal(const Model &model, ConstraintErrors &errors) {
  // FP32 weight, gradient and two optimizer slots, with a bit to spare for
  // sums over them.
  if (!(parameterCount(model) * 32).get())
    errors.add(12, "model",
               "the model's parameters do not fit 64-bit sizes; write "
               "smaller layers, hidden, ffn or vocab_size");
  std::optional<int64_t> rows = paddedVocabSize(model).get();
  if (!rows || *rows > INT32_MAX)
    errors.add(12, "model.vocab_padding",
               "vocab_size rounded up to a multiple of vocab_padding is more "
               "than 2147483647; write a smaller vocab_padding");
}

/// S31.
static void checkExpertGroups(const Moe &moe, ConstraintErrors &errors) {
  std::string experts = std::to_string(moe.experts());
  if (moe.experts() % moe.groups() != 0) {
    errors.add(31, "model.moe.groups",
               "model.moe.groups is " + std::to_string(moe.groups()) +
                   ", which does not divide model.moe.experts (" + experts +
                   "); write " +
                   std::to_string(nearestDivisor(moe.experts(), moe.groups())));
    return;
  }
  if (moe.topk_groups() > moe.groups())
    errors.add(31, "model.moe.topk_groups",
               "model.moe.topk_groups is " + std::to_string(moe.topk_groups()) +
                   " of " + std::to_string(moe.groups()) +
                   " groups; write at most " + std::to_string(moe.groups()));
  else if (moe.top_k() > moe.experts() / moe.groups() * moe.topk_groups())
    errors.add(31, "model.moe.topk_groups",
               std::to_string(moe.topk_groups()) + " groups of " +
                   std::to_string(moe.experts() / moe.groups()) +
                   " experts have fewer than top_k (" +
                   std::to_string(moe.top_k()) + "); write more topk_groups");
}

/// S97.
static void checkChoice(const Moe &moe, ConstraintErrors &errors) {
  const char *besides = moe.aux_loss() > 0    ? "aux_loss"
                        : moe.bias_rate() > 0 ? "bias_rate"
                        : moe.groups() > 1    ? "groups"
                                              : nullptr;
  if (moe.choice() == Moe::SINKHORN && besides)
    errors.add(97, "model.moe.choice",
               "SINKHORN gives experts their shares by itself; leave " +
                   std::string(besides) + " out, or write choice: SCORE");
}

/// S30 to S33, S47, S91, S97.
static void checkExperts(const Model &model, ConstraintErrors &errors) {
  const Moe &moe = model.moe();
  if (!moe.has_experts()) {
    errors.add(30, "model.moe", "model.moe.experts is required; write it");
    return;
  }
  if (moe.top_k() > moe.experts())
    errors.add(30, "model.moe.top_k",
               "model.moe.top_k is " + std::to_string(moe.top_k()) +
                   "; write at most model.moe.experts (" +
                   std::to_string(moe.experts()) + ")");
  else
    checkExpertGroups(moe, errors);
  if (moe.has_expert_capacity_bound() && moe.has_capacity_factor())
    errors.add(47, "model.moe.expert_capacity_bound",
               "model.moe.expert_capacity_bound bounds the rows of ranks that "
               "drop none, and capacity_factor has tokens dropped; write one "
               "of them");
  if (moe.shared_expert_gate() && moe.shared_experts() == 0)
    errors.add(91, "model.moe.shared_expert_gate",
               "shared_expert_gate is of shared experts; write how many "
               "(shared_experts), or leave it out");
  checkChoice(moe, errors);
  if (model.mlp_bias())
    errors.add(32, "model.mlp_bias",
               "experts have no biases; write mlp_bias: false");
  if (model.layer_kinds().empty() &&
      moe.interval() > model.layers() - moe.first_dense_layers())
    errors.add(33, "model.moe",
               "no layer has experts: of " + std::to_string(model.layers()) +
                   " layers " + std::to_string(moe.first_dense_layers()) +
                   " are dense, and then every " +
                   std::to_string(moe.interval()) +
                   "th has experts; write a smaller first_dense_layers or "
                   "interval");
}

/// S84, S85.
static void checkStateSpace(const Model &model, ConstraintErrors &errors) {
  if (hasStateSpace(model) != model.has_state_space()) {
    if (model.has_state_space())
      errors.add(84, "model.state_space",
                 "no kind of layer has mixer: MAMBA2; write it in one of "
                 "model.layer_kinds, or leave model.state_space out");
    else
      errors.add(84, "model.layer_kinds[0]",
                 "layers with mixer: MAMBA2 have the sizes of "
                 "model.state_space; write it");
    return;
  }
  if (!model.has_state_space())
    return;
  const StateSpace &space = model.state_space();
  if (model.attention_mask() != Model::CAUSAL)
    errors.add(84, "model.attention_mask",
               "state-space layers see a sequence from its beginning alone; "
               "leave attention_mask out");
  if (!space.has_heads()) {
    errors.add(85, "model.state_space",
               "model.state_space.head_dim does not divide 2 * model.hidden; "
               "write model.state_space.heads");
    return;
  }
  for (auto [name, parts] :
       {std::pair<const char *, int64_t>{"groups", space.groups()},
        {"norm_groups", space.norm_groups()}})
    if (space.heads() % parts != 0)
      errors.add(85, std::string("model.state_space.") + name,
                 std::string("model.state_space.") + name + " is " +
                     std::to_string(parts) +
                     ", which does not divide model.state_space.heads (" +
                     std::to_string(space.heads()) + "); write " +
                     std::to_string(nearestDivisor(space.heads(), parts)));
  if (space.has_step_most() && space.step_most() <= space.step_least())
    errors.add(85, "model.state_space.step_most",
               "model.state_space.step_most is " +
                   formatReal(space.step_most()) +
                   "; write more than step_least (" +
                   formatReal(space.step_least()) + ")");
}

//===----------------------------------------------------------------------===//
// Kinds of layers
//===----------------------------------------------------------------------===//

/// S49: a kind by itself.
static void checkKind(const Model &model, int index, ConstraintErrors &errors) {
  const LayerKind &kind = model.layer_kinds(index);
  const std::string field = "model.layer_kinds[" + std::to_string(index) + "]";
  bool isWord =
      !kind.name().empty() && kind.name().size() <= 64 &&
      kind.name()[0] >= 'a' && kind.name()[0] <= 'z' &&
      std::all_of(kind.name().begin(), kind.name().end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  if (!isWord)
    errors.add(49, field + ".name",
               "the name of a kind of layer has 1 to 64 small letters, digits "
               "and \"_\", a letter first; write one in " +
                   field);
  for (int other = 0; other < index; ++other)
    if (isWord && model.layer_kinds(other).name() == kind.name())
      errors.add(49, field + ".name",
                 "model.layer_kinds has two of the name \"" + kind.name() +
                     "\"; write another");
  if (kind.position() == Model::LEARNED && kind.has_position())
    errors.add(49, field + ".position",
               "learned positions are added once, before all layers; write "
               "model.position: LEARNED, and in a kind ROTARY, NONE or ALIBI");
  if (kind.has_position() && (kind.position() == Model::RELATIVE ||
                              model.position() == Model::RELATIVE))
    errors.add(93, field + ".position",
               "all layers have one table of relative positions; write "
               "model.position: RELATIVE, and leave position out in " +
                   field);
  if (kind.mixer() == LayerKind::NO_MIXER &&
      kind.feed_forward() == LayerKind::NO_FEED_FORWARD)
    errors.add(49, field,
               field + " has neither a mixer nor a feed-forward branch; write "
                       "one of them");
  if (kind.feed_forward() == LayerKind::EXPERTS && !model.has_moe())
    errors.add(49, field + ".feed_forward",
               field + " has experts, and the model has no moe; write "
                       "model.moe, or feed_forward: DENSE");
  checkRope(modelOfKind(model, kind), field, errors);
  if (kind.has_position())
    checkAlibi(modelOfKind(model, kind), field, errors);
}

/// S49 of all kinds, S50. Whether they are fine.
static bool checkKinds(const Model &model, ConstraintErrors &errors) {
  if (model.layer_kinds().empty() && !model.has_pattern())
    return true;
  if (model.layer_kinds().empty() || !model.has_pattern()) {
    bool lacksKinds = model.layer_kinds().empty();
    errors.add(50, lacksKinds ? "model.pattern" : "model.layer_kinds[0]",
               lacksKinds ? "model.pattern has no kinds to name; write "
                            "model.layer_kinds"
                          : "model.layer_kinds has no use without a pattern; "
                            "write model.pattern");
    return false;
  }
  for (int i = 0; i < model.layer_kinds_size(); ++i)
    checkKind(model, i, errors);
  if (model.has_moe() &&
      (model.moe().first_dense_layers() != 0 || model.moe().interval() != 1))
    errors.add(49, "model.moe",
               "model.layer_kinds say which layers have experts; leave "
               "first_dense_layers and interval out");
  if (!errors.empty())
    return false;
  hocket::StatusOr<std::vector<size_t>> kinds = readPattern(model);
  if (!kinds.ok()) {
    errors.add(50, "model.pattern",
               "model.pattern " + kinds.status().message());
    return false;
  }
  bool hasExperts = false, mixes = false;
  for (int i = 0; i < model.layer_kinds_size(); ++i) {
    const LayerKind &kind = model.layer_kinds(i);
    bool isUsed = std::count(kinds->begin(), kinds->end(), size_t(i)) > 0;
    mixes |= isUsed && kind.mixer() != LayerKind::NO_MIXER;
    hasExperts |= isUsed && kind.feed_forward() == LayerKind::EXPERTS;
    if (!isUsed)
      errors.add(50, "model.pattern",
                 "no layer is of the kind \"" + kind.name() +
                     "\"; name it in model.pattern, or leave it out of "
                     "model.layer_kinds");
  }
  if (!mixes)
    errors.add(50, "model.pattern",
               "no layer mixes tokens; name a kind with a mixer");
  if (model.has_moe() && !hasExperts)
    errors.add(49, "model.moe",
               "no layer has experts; write feed_forward: EXPERTS in one of "
               "model.layer_kinds");
  return errors.empty();
}

/// S98.
static void checkBranches(const Model &model, bool layersAreFine,
                          ConstraintErrors &errors) {
  if (model.branches() == Model::SEQUENTIAL)
    return;
  if (model.norm_position() != Model::PRE)
    errors.add(98, "model.norm_position",
               "branches side by side read norms of the layer's input; write "
               "norm_position: PRE, or branches: SEQUENTIAL");
  if (!layersAreFine)
    return;
  const LayerPattern pattern(model);
  for (const ResolvedKind &kind : pattern.kinds())
    if (!kind.attention || kind.feedForward == LayerKind::NO_FEED_FORWARD) {
      errors.add(98, "model.branches",
                 "a layer without attention or without a feed-forward branch "
                 "has nothing to put beside the other; write branches: "
                 "SEQUENTIAL, or give every kind of layer both");
      return;
    }
}

/// S99.
static void checkDropout(const Model &model, ConstraintErrors &errors) {
  if (model.dropout().mlp() > 0 && model.has_moe())
    errors.add(99, "model.dropout.mlp",
               "dropout.mlp lies within dense MLPs, and rows of experts have "
               "none; leave dropout.mlp or moe out");
  if (model.dropout().final_norm() > 0 && !hasFinalNorm(model))
    errors.add(99, "model.dropout.final_norm",
               "no norm follows the last layer; leave dropout.final_norm out, "
               "or write final_norm: true");
}

void hocket::spec::checkModel(const Model &model, ConstraintErrors &errors) {
  bool layersAreFine = checkKinds(model, errors);
  checkDropout(model, errors);
  checkBranches(model, layersAreFine, errors);
  checkHeads(model, errors);
  checkRope(model, "model", errors);
  checkAlibi(model, "model", errors);
  checkRelativePosition(model, errors);
  if (model.norm() == Model::RMS_NORM && model.norm_bias())
    errors.add(11, "model.norm_bias",
               "an RMS norm has no bias; write norm_bias: false, or norm: "
               "LAYER_NORM");
  if (model.has_moe())
    checkExperts(model, errors);
  checkStateSpace(model, errors);
  bool hasSizes = !model.has_state_space() || model.state_space().has_heads();
  layersAreFine &= hasSizes;
  if (model.has_head_dim() && layersAreFine)
    checkTotal(model, errors);
}
