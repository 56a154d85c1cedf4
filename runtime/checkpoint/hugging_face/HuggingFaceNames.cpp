//===- HuggingFaceNames.cpp - One table of names per family ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/hugging_face/HuggingFaceNames.h"

#include <string>
#include <utility>
#include <vector>

using namespace hocket;
using namespace hocket::checkpoint;

/// GPT-2 stores weights [in, out] and q, k and v as one.
static std::vector<NameRow> gpt2Rows() {
  constexpr bool transposed = true;
  return {
      {"transformer.wte.weight", {"embedding.weight"}},
      {"transformer.wpe.weight", {"position_embedding.weight"}},
      {"transformer.h.{i}.ln_1.weight", {"layers.{i}.attention_norm.weight"}},
      {"transformer.h.{i}.ln_1.bias", {"layers.{i}.attention_norm.bias"}},
      {"transformer.h.{i}.attn.c_attn.weight",
       {"layers.{i}.attention.q.weight", "layers.{i}.attention.k.weight",
        "layers.{i}.attention.v.weight"},
       transposed},
      {"transformer.h.{i}.attn.c_attn.bias",
       {"layers.{i}.attention.q.bias", "layers.{i}.attention.k.bias",
        "layers.{i}.attention.v.bias"}},
      {"transformer.h.{i}.attn.c_proj.weight",
       {"layers.{i}.attention.o.weight"},
       transposed},
      {"transformer.h.{i}.attn.c_proj.bias", {"layers.{i}.attention.o.bias"}},
      {"transformer.h.{i}.ln_2.weight", {"layers.{i}.mlp_norm.weight"}},
      {"transformer.h.{i}.ln_2.bias", {"layers.{i}.mlp_norm.bias"}},
      {"transformer.h.{i}.mlp.c_fc.weight",
       {"layers.{i}.mlp.up.weight"},
       transposed},
      {"transformer.h.{i}.mlp.c_fc.bias", {"layers.{i}.mlp.up.bias"}},
      {"transformer.h.{i}.mlp.c_proj.weight",
       {"layers.{i}.mlp.down.weight"},
       transposed},
      {"transformer.h.{i}.mlp.c_proj.bias", {"layers.{i}.mlp.down.bias"}},
      {"transformer.ln_f.weight", {"final_norm.weight"}},
      {"transformer.ln_f.bias", {"final_norm.bias"}},
      {"lm_head.weight", {"head.weight"}},
  };
}

// A weight and its bias.
#define HOCKET_BOTH(THEIRS, OURS)                                              \
  {THEIRS ".weight", {OURS ".weight"}}, { THEIRS ".bias", {OURS ".bias"} }

/// BERT's, with the heads of masked tokens and of the order of texts.
static std::vector<NameRow> bertRows() {
#define HOCKET_LAYER(NAME) "bert.encoder.layer.{i}." NAME
  return {
      {"bert.embeddings.word_embeddings.weight", {"embedding.weight"}},
      {"bert.embeddings.position_embeddings.weight",
       {"position_embedding.weight"}},
      {"bert.embeddings.token_type_embeddings.weight",
       {"token_type_embedding.weight"}},
      HOCKET_BOTH("bert.embeddings.LayerNorm", "embedding_norm"),
      HOCKET_BOTH(HOCKET_LAYER("attention.self.query"),
                  "layers.{i}.attention.q"),
      HOCKET_BOTH(HOCKET_LAYER("attention.self.key"), "layers.{i}.attention.k"),
      HOCKET_BOTH(HOCKET_LAYER("attention.self.value"),
                  "layers.{i}.attention.v"),
      HOCKET_BOTH(HOCKET_LAYER("attention.output.dense"),
                  "layers.{i}.attention.o"),
      HOCKET_BOTH(HOCKET_LAYER("attention.output.LayerNorm"),
                  "layers.{i}.attention_norm"),
      HOCKET_BOTH(HOCKET_LAYER("intermediate.dense"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("output.dense"), "layers.{i}.mlp.down"),
      HOCKET_BOTH(HOCKET_LAYER("output.LayerNorm"), "layers.{i}.mlp_norm"),
      HOCKET_BOTH("bert.pooler.dense", "pooler"),
      {"cls.predictions.bias", {"head.bias"}},
      HOCKET_BOTH("cls.predictions.transform.dense", "head_transform"),
      HOCKET_BOTH("cls.predictions.transform.LayerNorm", "head_norm"),
      {"cls.predictions.decoder.weight", {"head.weight"}},
      HOCKET_BOTH("cls.seq_relationship", "sentence_head"),
      HOCKET_BOTH("classifier", "class_head"),
  };
#undef HOCKET_LAYER
}

/// GPT-NeoX has the query, key and value of each head together.
static std::vector<NameRow> gptNeoxRows() {
#define HOCKET_LAYER(NAME) "gpt_neox.layers.{i}." NAME
#define HOCKET_QKV(KIND)                                                       \
  {HOCKET_LAYER("attention.query_key_value." KIND),                            \
   {"layers.{i}.attention.q." KIND, "layers.{i}.attention.k." KIND,            \
    "layers.{i}.attention.v." KIND},                                           \
   false,                                                                      \
   true}
  return {
      {"gpt_neox.embed_in.weight", {"embedding.weight"}},
      HOCKET_BOTH(HOCKET_LAYER("input_layernorm"), "layers.{i}.attention_norm"),
      HOCKET_QKV("weight"),
      HOCKET_QKV("bias"),
      HOCKET_BOTH(HOCKET_LAYER("attention.dense"), "layers.{i}.attention.o"),
      HOCKET_BOTH(HOCKET_LAYER("post_attention_layernorm"),
                  "layers.{i}.mlp_norm"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.dense_h_to_4h"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.dense_4h_to_h"), "layers.{i}.mlp.down"),
      HOCKET_BOTH("gpt_neox.final_layer_norm", "final_norm"),
      {"embed_out.weight", {"head.weight"}},
  };
#undef HOCKET_QKV
#undef HOCKET_LAYER
}

/// BLOOM has them together, too.
static std::vector<NameRow> bloomRows() {
#define HOCKET_LAYER(NAME) "transformer.h.{i}." NAME
#define HOCKET_QKV(KIND)                                                       \
  {HOCKET_LAYER("self_attention.query_key_value." KIND),                       \
   {"layers.{i}.attention.q." KIND, "layers.{i}.attention.k." KIND,            \
    "layers.{i}.attention.v." KIND},                                           \
   false,                                                                      \
   true}
  return {
      {"transformer.word_embeddings.weight", {"embedding.weight"}},
      HOCKET_BOTH("transformer.word_embeddings_layernorm", "embedding_norm"),
      HOCKET_BOTH(HOCKET_LAYER("input_layernorm"), "layers.{i}.attention_norm"),
      HOCKET_QKV("weight"),
      HOCKET_QKV("bias"),
      HOCKET_BOTH(HOCKET_LAYER("self_attention.dense"),
                  "layers.{i}.attention.o"),
      HOCKET_BOTH(HOCKET_LAYER("post_attention_layernorm"),
                  "layers.{i}.mlp_norm"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.dense_h_to_4h"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.dense_4h_to_h"), "layers.{i}.mlp.down"),
      HOCKET_BOTH("transformer.ln_f", "final_norm"),
      {"lm_head.weight", {"head.weight"}},
  };
#undef HOCKET_QKV
#undef HOCKET_LAYER
}

static std::vector<NameRow> phiRows() {
#define HOCKET_LAYER(NAME) "model.layers.{i}." NAME
  return {
      {"model.embed_tokens.weight", {"embedding.weight"}},
      HOCKET_BOTH(HOCKET_LAYER("input_layernorm"), "layers.{i}.attention_norm"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.q_proj"), "layers.{i}.attention.q"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.k_proj"), "layers.{i}.attention.k"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.v_proj"), "layers.{i}.attention.v"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.dense"), "layers.{i}.attention.o"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.fc1"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.fc2"), "layers.{i}.mlp.down"),
      HOCKET_BOTH("model.final_layernorm", "final_norm"),
      HOCKET_BOTH("lm_head", "head"),
  };
#undef HOCKET_LAYER
}

/// OPT's positions are counted from 2.
static std::vector<NameRow> optRows() {
#define HOCKET_LAYER(NAME) "model.decoder.layers.{i}." NAME
  NameRow positions{"model.decoder.embed_positions.weight",
                    {"position_embedding.weight"}};
  positions.skipped = 2;
  return {
      {"model.decoder.embed_tokens.weight", {"embedding.weight"}},
      positions,
      HOCKET_BOTH(HOCKET_LAYER("self_attn_layer_norm"),
                  "layers.{i}.attention_norm"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.q_proj"), "layers.{i}.attention.q"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.k_proj"), "layers.{i}.attention.k"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.v_proj"), "layers.{i}.attention.v"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.out_proj"), "layers.{i}.attention.o"),
      HOCKET_BOTH(HOCKET_LAYER("final_layer_norm"), "layers.{i}.mlp_norm"),
      HOCKET_BOTH(HOCKET_LAYER("fc1"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("fc2"), "layers.{i}.mlp.down"),
      HOCKET_BOTH("model.decoder.final_layer_norm", "final_norm"),
      {"lm_head.weight", {"head.weight"}},
  };
#undef HOCKET_LAYER
}

/// Falcon's, whose layers have one norm or two.
static std::vector<NameRow> falconRows() {
#define HOCKET_LAYER(NAME) "transformer.h.{i}." NAME
#define HOCKET_QKV(KIND)                                                       \
  {HOCKET_LAYER("self_attention.query_key_value." KIND),                       \
   {"layers.{i}.attention.q." KIND, "layers.{i}.attention.k." KIND,            \
    "layers.{i}.attention.v." KIND},                                           \
   false,                                                                      \
   true}
  std::vector<NameRow> rows = {
      {"transformer.word_embeddings.weight", {"embedding.weight"}},
      HOCKET_QKV("weight"),
      HOCKET_QKV("bias"),
      HOCKET_BOTH(HOCKET_LAYER("self_attention.dense"),
                  "layers.{i}.attention.o"),
      HOCKET_BOTH(HOCKET_LAYER("ln_mlp"), "layers.{i}.mlp_norm"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.dense_h_to_4h"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.dense_4h_to_h"), "layers.{i}.mlp.down"),
      HOCKET_BOTH("transformer.ln_f", "final_norm"),
      {"lm_head.weight", {"head.weight"}},
  };
  const NameRow one[] = {
      HOCKET_BOTH(HOCKET_LAYER("input_layernorm"), "layers.{i}.attention_norm"),
  };
  const NameRow two[] = {
      HOCKET_BOTH(HOCKET_LAYER("ln_attn"), "layers.{i}.attention_norm"),
  };
  for (NameRow row : one) {
    row.inPlaceOf = "layers.{i}.mlp_norm.weight";
    rows.push_back(row);
  }
  for (NameRow row : two) {
    row.beside = "layers.{i}.mlp_norm.weight";
    rows.push_back(row);
  }
  return rows;
#undef HOCKET_QKV
#undef HOCKET_LAYER
}

/// T5's: an encoder's layers have two branches, a decoder's have three. The
/// table of distances is in the first layer of each stack.
static std::vector<NameRow> t5Rows() {
#define HOCKET_THEIRS(STACK, PLACE, NAME)                                      \
  STACK ".block.{i}.layer." PLACE "." NAME ".weight"
#define HOCKET_ATTENTION(STACK, PLACE, THEIRS, OURS)                           \
  {HOCKET_THEIRS(STACK, PLACE, "layer_norm"), {OURS "_norm.weight"}},          \
      {HOCKET_THEIRS(STACK, PLACE, THEIRS ".q"), {OURS ".q.weight"}},          \
      {HOCKET_THEIRS(STACK, PLACE, THEIRS ".k"), {OURS ".k.weight"}},          \
      {HOCKET_THEIRS(STACK, PLACE, THEIRS ".v"), {OURS ".v.weight"}}, {        \
    HOCKET_THEIRS(STACK, PLACE, THEIRS ".o"), {OURS ".o.weight"}               \
  }
#define HOCKET_GATED(IS_GATED) false, false, false, IS_GATED
#define HOCKET_MLP(STACK, PLACE, OURS)                                         \
  {HOCKET_THEIRS(STACK, PLACE, "layer_norm"), {OURS "_norm.weight"}},          \
      {HOCKET_THEIRS(STACK, PLACE, "DenseReluDense.wi"),                       \
       {OURS ".up.weight"},                                                    \
       HOCKET_GATED(false)},                                                   \
      {HOCKET_THEIRS(STACK, PLACE, "DenseReluDense.wi_0"),                     \
       {OURS ".gate.weight"}},                                                 \
      {HOCKET_THEIRS(STACK, PLACE, "DenseReluDense.wi_1"),                     \
       {OURS ".up.weight"},                                                    \
       HOCKET_GATED(true)},                                                    \
  {                                                                            \
    HOCKET_THEIRS(STACK, PLACE, "DenseReluDense.wo"), {OURS ".down.weight"}    \
  }
#define HOCKET_DISTANCES(STACK)                                                \
  STACK ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"
  return {
      {"shared.weight", {"embedding.weight"}},
      {HOCKET_DISTANCES("encoder"), {"encoder.relative_position.weight"}},
      HOCKET_ATTENTION("encoder", "0", "SelfAttention",
                       "encoder.layers.{i}.attention"),
      HOCKET_MLP("encoder", "1", "encoder.layers.{i}.mlp"),
      {"encoder.final_layer_norm.weight", {"encoder.final_norm.weight"}},
      {HOCKET_DISTANCES("decoder"), {"relative_position.weight"}},
      HOCKET_ATTENTION("decoder", "0", "SelfAttention", "layers.{i}.attention"),
      HOCKET_ATTENTION("decoder", "1", "EncDecAttention",
                       "layers.{i}.cross_attention"),
      HOCKET_MLP("decoder", "2", "layers.{i}.mlp"),
      {"decoder.final_layer_norm.weight", {"final_norm.weight"}},
      {"lm_head.weight", {"head.weight"}},
  };
#undef HOCKET_DISTANCES
#undef HOCKET_MLP
#undef HOCKET_GATED
#undef HOCKET_ATTENTION
#undef HOCKET_THEIRS
}

// What Mamba-2's layers have below MIXER: the gate, the input, both maps and
// the steps of one linear layer, and all that goes through the convolution.
#define HOCKET_OURS(NAME) "layers.{i}.mixer." NAME
#define HOCKET_STATE_PARTS(MIXER, END, IS_DEPTHWISE)                           \
  {MIXER "in_proj" END,                                                        \
   {HOCKET_OURS("z" END), HOCKET_OURS("x" END), HOCKET_OURS("b" END),          \
    HOCKET_OURS("c" END), HOCKET_OURS("dt" END)}},                             \
      {MIXER "conv1d" END,                                                     \
       {HOCKET_OURS("conv_x" END), HOCKET_OURS("conv_b" END),                  \
        HOCKET_OURS("conv_c" END)},                                            \
       false,                                                                  \
       false,                                                                  \
       IS_DEPTHWISE},                                                          \
  {                                                                            \
    MIXER "out_proj" END, { HOCKET_OURS("out" END) }                           \
  }
#define HOCKET_STATE_SPACE(MIXER)                                              \
  HOCKET_STATE_PARTS(MIXER, ".weight", true),                                  \
      HOCKET_STATE_PARTS(MIXER, ".bias", false),                               \
      {MIXER "A_log", {HOCKET_OURS("decay")}},                                 \
      {MIXER "dt_bias", {HOCKET_OURS("step_bias")}},                           \
      {MIXER "D", {HOCKET_OURS("skip")}}, {                                    \
    MIXER "norm.weight", { HOCKET_OURS("gated_norm.weight") }                  \
  }

static std::vector<NameRow> mamba2Rows() {
  return {
      {"backbone.embeddings.weight", {"embedding.weight"}},
      {"backbone.layers.{i}.norm.weight", {"layers.{i}.mixer_norm.weight"}},
      HOCKET_STATE_SPACE("backbone.layers.{i}.mixer."),
      {"backbone.norm_f.weight", {"final_norm.weight"}},
      {"lm_head.weight", {"head.weight"}},
  };
}

/// Layers of one of two kinds; the norm before both has one name.
static std::vector<NameRow> bambaRows() {
#define HOCKET_LAYER(NAME) "model.layers.{i}." NAME
  return {
      {"model.embed_tokens.weight", {"embedding.weight"}},
      {HOCKET_LAYER("input_layernorm.weight"),
       {"layers.{i}.attention_norm.weight"}},
      {HOCKET_LAYER("input_layernorm.weight"),
       {"layers.{i}.mixer_norm.weight"}},
      HOCKET_BOTH(HOCKET_LAYER("self_attn.q_proj"), "layers.{i}.attention.q"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.k_proj"), "layers.{i}.attention.k"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.v_proj"), "layers.{i}.attention.v"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.o_proj"), "layers.{i}.attention.o"),
      {HOCKET_LAYER("pre_ff_layernorm.weight"), {"layers.{i}.mlp_norm.weight"}},
      HOCKET_BOTH(HOCKET_LAYER("feed_forward.gate_proj"),
                  "layers.{i}.mlp.gate"),
      HOCKET_BOTH(HOCKET_LAYER("feed_forward.up_proj"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("feed_forward.down_proj"),
                  "layers.{i}.mlp.down"),
      {"model.final_layernorm.weight", {"final_norm.weight"}},
      {"lm_head.weight", {"head.weight"}},
      HOCKET_STATE_SPACE(HOCKET_LAYER("mamba.")),
  };
#undef HOCKET_LAYER
}

/// Every layer is a norm and one branch, whatever it is.
static std::vector<NameRow> nemotronHRows() {
#define HOCKET_LAYER(NAME) "backbone.layers.{i}." NAME
  return {
      {"backbone.embeddings.weight", {"embedding.weight"}},
      {HOCKET_LAYER("norm.weight"), {"layers.{i}.mixer_norm.weight"}},
      {HOCKET_LAYER("norm.weight"), {"layers.{i}.attention_norm.weight"}},
      {HOCKET_LAYER("norm.weight"), {"layers.{i}.mlp_norm.weight"}},
      HOCKET_STATE_SPACE(HOCKET_LAYER("mixer.")),
      {HOCKET_LAYER("mixer.q_proj.weight"), {"layers.{i}.attention.q.weight"}},
      {HOCKET_LAYER("mixer.k_proj.weight"), {"layers.{i}.attention.k.weight"}},
      {HOCKET_LAYER("mixer.v_proj.weight"), {"layers.{i}.attention.v.weight"}},
      {HOCKET_LAYER("mixer.o_proj.weight"), {"layers.{i}.attention.o.weight"}},
      HOCKET_BOTH(HOCKET_LAYER("mixer.up_proj"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("mixer.down_proj"), "layers.{i}.mlp.down"),
      {"backbone.norm_f.weight", {"final_norm.weight"}},
      {"lm_head.weight", {"head.weight"}},
  };
#undef HOCKET_LAYER
}

/// LLaVA's three parts as transformers 5 writes them: a tower of CLIP's, the
/// projector, and a language model of Llama's.
static std::vector<NameRow> llavaRows() {
#define HOCKET_LAYER(NAME) "language_model.model.layers.{i}." NAME
#define HOCKET_TOWER(NAME) "vision_tower." NAME
#define HOCKET_TOWER_LAYER(NAME) HOCKET_TOWER("encoder.layers.{i}." NAME)
  NameRow patches{HOCKET_TOWER("embeddings.patch_embedding.weight"),
                  {"vision.patch_embedding.weight"}};
  patches.patches = true;
  return {
      patches,
      {HOCKET_TOWER("embeddings.class_embedding"),
       {"vision.class_embedding.weight"}},
      {HOCKET_TOWER("embeddings.position_embedding.weight"),
       {"vision.position_embedding.weight"}},
      HOCKET_BOTH(HOCKET_TOWER("pre_layrnorm"), "vision.pre_norm"),
      HOCKET_BOTH(HOCKET_TOWER_LAYER("layer_norm1"),
                  "vision.layers.{i}.attention_norm"),
      HOCKET_BOTH(HOCKET_TOWER_LAYER("self_attn.q_proj"),
                  "vision.layers.{i}.attention.q"),
      HOCKET_BOTH(HOCKET_TOWER_LAYER("self_attn.k_proj"),
                  "vision.layers.{i}.attention.k"),
      HOCKET_BOTH(HOCKET_TOWER_LAYER("self_attn.v_proj"),
                  "vision.layers.{i}.attention.v"),
      HOCKET_BOTH(HOCKET_TOWER_LAYER("self_attn.out_proj"),
                  "vision.layers.{i}.attention.o"),
      HOCKET_BOTH(HOCKET_TOWER_LAYER("layer_norm2"),
                  "vision.layers.{i}.mlp_norm"),
      HOCKET_BOTH(HOCKET_TOWER_LAYER("mlp.fc1"), "vision.layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_TOWER_LAYER("mlp.fc2"), "vision.layers.{i}.mlp.down"),
      HOCKET_BOTH(HOCKET_TOWER("post_layernorm"), "vision.post_norm"),
      HOCKET_BOTH("multi_modal_projector.linear_1", "projector.up"),
      HOCKET_BOTH("multi_modal_projector.linear_2", "projector.down"),
      {"language_model.model.embed_tokens.weight", {"embedding.weight"}},
      {HOCKET_LAYER("input_layernorm.weight"),
       {"layers.{i}.attention_norm.weight"}},
      HOCKET_BOTH(HOCKET_LAYER("self_attn.q_proj"), "layers.{i}.attention.q"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.k_proj"), "layers.{i}.attention.k"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.v_proj"), "layers.{i}.attention.v"),
      HOCKET_BOTH(HOCKET_LAYER("self_attn.o_proj"), "layers.{i}.attention.o"),
      {HOCKET_LAYER("post_attention_layernorm.weight"),
       {"layers.{i}.mlp_norm.weight"}},
      HOCKET_BOTH(HOCKET_LAYER("mlp.gate_proj"), "layers.{i}.mlp.gate"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.up_proj"), "layers.{i}.mlp.up"),
      HOCKET_BOTH(HOCKET_LAYER("mlp.down_proj"), "layers.{i}.mlp.down"),
      {"language_model.model.norm.weight", {"final_norm.weight"}},
      {"language_model.lm_head.weight", {"head.weight"}},
  };
#undef HOCKET_TOWER_LAYER
#undef HOCKET_TOWER
#undef HOCKET_LAYER
}

#undef HOCKET_STATE_SPACE
#undef HOCKET_STATE_PARTS
#undef HOCKET_OURS
#undef HOCKET_BOTH

static std::vector<NameTable> allTables() {
  std::vector<NameTable> tables = {
      {"gpt2", "transformer.", gpt2Rows(), {".attn.bias", ".attn.masked_bias"}},
      {"gpt_neox",
       "",
       gptNeoxRows(),
       {".attention.bias", ".attention.masked_bias",
        ".attention.rotary_emb.inv_freq"}},
      {"phi", "", phiRows(), {".rotary_emb.inv_freq"}},
      {"opt", "model.", optRows(), {}},
      {"falcon", "", falconRows(), {".rotary_emb.inv_freq"}},
      {"bloom", "transformer.", bloomRows(), {}},
      {"mamba2", "", mamba2Rows(), {}},
      {"bamba", "", bambaRows(), {".rotary_emb.inv_freq"}},
      {"nemotron_h", "", nemotronHRows(), {}},
      // The decoder's bias is cls.predictions.bias under another name.
      {"bert",
       "bert.",
       bertRows(),
       {".position_ids", "cls.predictions.decoder.bias"}},
      // Older files have the embedding again in each stack, and a table of
      // distances that nothing reads.
      {"t5",
       "",
       t5Rows(),
       {".embed_tokens.weight",
        "EncDecAttention.relative_attention_bias.weight"}},
      // Until version 5 the tower's names had another word, and within a model
      // all begin with another.
      {"llava",
       "",
       llavaRows(),
       {".position_ids", ".rotary_emb.inv_freq"},
       {{"vision_tower.", "vision_tower.vision_model."},
        {"vision_tower.", "model.vision_tower.vision_model."},
        {"vision_tower.", "model.vision_tower."},
        {"multi_modal_projector.", "model.multi_modal_projector."},
        {"language_model.model.", "model.language_model."},
        {"language_model.lm_head.", "lm_head."}},
       {"language_model.model.", "model.language_model."}},
  };
  for (NameTable &table : llamaNameTables())
    tables.push_back(std::move(table));
  return tables;
}

std::span<const NameTable> checkpoint::nameTables() {
  static const std::vector<NameTable> tables = allTables();
  return tables;
}

StatusOr<const NameTable *>
checkpoint::findNameTable(const std::string &family) {
  std::string known;
  for (const NameTable &table : nameTables()) {
    if (family == table.family)
      return &table;
    known += (known.empty() ? "" : ", ") + std::string(table.family);
  }
  return invalidArgument("expected a model family of " + known + "; found '" +
                         family + "'");
}

std::string checkpoint::nameOfExpert(std::string text, uint64_t expert) {
  if (size_t at = text.find("{e}"); at != std::string::npos)
    text.replace(at, 3, std::to_string(expert));
  return text;
}

std::string checkpoint::nameOfLayer(const char *text, uint64_t layer) {
  std::string name = text;
  if (size_t at = name.find("{i}"); at != std::string::npos)
    name.replace(at, 3, std::to_string(layer));
  return name;
}
