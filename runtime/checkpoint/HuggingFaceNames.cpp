//===- HuggingFaceNames.cpp - One table of names per family ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/HuggingFaceNames.h"

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

/// Llama and those that took its names; which rows are used is a matter of
/// the model's tensors.
static std::vector<NameRow> llamaRows() {
  return {
      {"model.embed_tokens.weight", {"embedding.weight"}},
      {"model.layers.{i}.input_layernorm.weight",
       {"layers.{i}.attention_norm.weight"}},
      {"model.layers.{i}.self_attn.q_proj.weight",
       {"layers.{i}.attention.q.weight"}},
      {"model.layers.{i}.self_attn.k_proj.weight",
       {"layers.{i}.attention.k.weight"}},
      {"model.layers.{i}.self_attn.v_proj.weight",
       {"layers.{i}.attention.v.weight"}},
      {"model.layers.{i}.self_attn.o_proj.weight",
       {"layers.{i}.attention.o.weight"}},
      {"model.layers.{i}.post_attention_layernorm.weight",
       {"layers.{i}.mlp_norm.weight"}},
      {"model.layers.{i}.mlp.gate_proj.weight", {"layers.{i}.mlp.gate.weight"}},
      {"model.layers.{i}.mlp.up_proj.weight", {"layers.{i}.mlp.up.weight"}},
      {"model.layers.{i}.mlp.down_proj.weight", {"layers.{i}.mlp.down.weight"}},
      {"model.norm.weight", {"final_norm.weight"}},
      {"lm_head.weight", {"head.weight"}},
  };
}

static std::vector<NameRow> with(std::vector<NameRow> rows,
                                 const std::vector<NameRow> &more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

static std::vector<NameRow> qkvBiasRows() {
  return {
      {"model.layers.{i}.self_attn.q_proj.bias",
       {"layers.{i}.attention.q.bias"}},
      {"model.layers.{i}.self_attn.k_proj.bias",
       {"layers.{i}.attention.k.bias"}},
      {"model.layers.{i}.self_attn.v_proj.bias",
       {"layers.{i}.attention.v.bias"}},
  };
}

static std::vector<NameRow> outputBiasRows() {
  return {
      {"model.layers.{i}.self_attn.o_proj.bias",
       {"layers.{i}.attention.o.bias"}},
  };
}

static std::vector<NameRow> mlpBiasRows() {
  return {
      {"model.layers.{i}.mlp.gate_proj.bias", {"layers.{i}.mlp.gate.bias"}},
      {"model.layers.{i}.mlp.up_proj.bias", {"layers.{i}.mlp.up.bias"}},
      {"model.layers.{i}.mlp.down_proj.bias", {"layers.{i}.mlp.down.bias"}},
  };
}

static std::vector<NameRow> qkNormRows() {
  return {
      {"model.layers.{i}.self_attn.q_norm.weight",
       {"layers.{i}.attention.q_norm.weight"}},
      {"model.layers.{i}.self_attn.k_norm.weight",
       {"layers.{i}.attention.k_norm.weight"}},
  };
}

static std::vector<NameRow> mixtralRows() {
#define HOCKET_EXPERT(NAME)                                                    \
  "model.layers.{i}.block_sparse_moe.experts.{e}." NAME ".weight"
  return {
      {"model.layers.{i}.block_sparse_moe.gate.weight",
       {"layers.{i}.mlp.router.weight"}},
      {HOCKET_EXPERT("w1"), {"layers.{i}.mlp.experts.gate.weight"}},
      {HOCKET_EXPERT("w3"), {"layers.{i}.mlp.experts.up.weight"}},
      {HOCKET_EXPERT("w2"), {"layers.{i}.mlp.experts.down.weight"}},
  };
#undef HOCKET_EXPERT
}

static std::vector<NameRow> qwenExpertRows() {
  return {
      {"model.layers.{i}.mlp.gate.weight", {"layers.{i}.mlp.router.weight"}},
      {"model.layers.{i}.mlp.experts.{e}.gate_proj.weight",
       {"layers.{i}.mlp.experts.gate.weight"}},
      {"model.layers.{i}.mlp.experts.{e}.up_proj.weight",
       {"layers.{i}.mlp.experts.up.weight"}},
      {"model.layers.{i}.mlp.experts.{e}.down_proj.weight",
       {"layers.{i}.mlp.experts.down.weight"}},
  };
}

std::span<const NameTable> checkpoint::nameTables() {
  // Llama's attention_bias and mlp_bias add biases everywhere, Qwen 3's
  // attention_bias to all four projections, Qwen 2 has three.
  static const std::vector<NameTable> tables = {
      {"gpt2", "transformer.", gpt2Rows(), {".attn.bias", ".attn.masked_bias"}},
      {"llama",
       "",
       with(with(with(llamaRows(), qkvBiasRows()), outputBiasRows()),
            mlpBiasRows()),
       {".rotary_emb.inv_freq"}},
      {"mistral", "", llamaRows(), {".rotary_emb.inv_freq"}},
      {"mixtral",
       "",
       with(llamaRows(), mixtralRows()),
       {".rotary_emb.inv_freq"}},
      {"qwen2", "", with(llamaRows(), qkvBiasRows()), {".rotary_emb.inv_freq"}},
      {"qwen3",
       "",
       with(with(with(llamaRows(), qkvBiasRows()), outputBiasRows()),
            qkNormRows()),
       {".rotary_emb.inv_freq"}},
      {"qwen3_moe",
       "",
       with(with(with(with(llamaRows(), qkvBiasRows()), outputBiasRows()),
                 qkNormRows()),
            qwenExpertRows()),
       {".rotary_emb.inv_freq"}},
  };
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
