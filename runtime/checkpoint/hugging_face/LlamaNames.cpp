//===- LlamaNames.cpp - Names of tensors in Llama's manner ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/hugging_face/HuggingFaceNames.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace hocket;
using namespace hocket::checkpoint;

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

/// Without the rows whose tensors of Hugging Face have one of `words`.
static std::vector<NameRow> without(std::vector<NameRow> rows,
                                    std::initializer_list<const char *> words) {
  std::erase_if(rows, [&](const NameRow &row) {
    std::string_view theirs = row.theirs;
    return std::any_of(words.begin(), words.end(), [&](const char *word) {
      return theirs.find(word) != std::string_view::npos;
    });
  });
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

/// Biases of layer norms, in Llama's places.
static std::vector<NameRow> normBiasRows() {
  return {
      {"model.layers.{i}.input_layernorm.bias",
       {"layers.{i}.attention_norm.bias"}},
      {"model.layers.{i}.post_attention_layernorm.bias",
       {"layers.{i}.mlp_norm.bias"}},
      {"model.norm.bias", {"final_norm.bias"}},
  };
}

/// The norms of Gemma 2 and 3 before and after each branch. What is Llama's
/// norm between the branches is here the one behind attention.
static std::vector<NameRow> gemmaRows() {
  std::vector<NameRow> rows = llamaRows();
  std::erase_if(rows, [](const NameRow &row) {
    return row.parts.front() == std::string("layers.{i}.mlp_norm.weight");
  });
  const NameRow norms[] = {
      {"model.layers.{i}.post_attention_layernorm.weight",
       {"layers.{i}.attention_post_norm.weight"}},
      {"model.layers.{i}.pre_feedforward_layernorm.weight",
       {"layers.{i}.mlp_norm.weight"}},
      {"model.layers.{i}.post_feedforward_layernorm.weight",
       {"layers.{i}.mlp_post_norm.weight"}},
  };
  rows.insert(rows.end(), std::begin(norms), std::end(norms));
  return rows;
}

/// OLMo 2's norms, which stand behind each branch alone.
static std::vector<NameRow> olmo2Rows() {
  std::vector<NameRow> rows = gemmaRows();
  std::erase_if(rows, [](const NameRow &row) {
    std::string_view part = row.parts.front();
    return part == "layers.{i}.attention_norm.weight" ||
           part == "layers.{i}.mlp_norm.weight";
  });
  return rows;
}

/// StarCoder 2's MLP has GPT-2's names.
static std::vector<NameRow> plainMlpRows() {
  return {
      {"model.layers.{i}.mlp.c_fc.weight", {"layers.{i}.mlp.up.weight"}},
      {"model.layers.{i}.mlp.c_fc.bias", {"layers.{i}.mlp.up.bias"}},
      {"model.layers.{i}.mlp.c_proj.weight", {"layers.{i}.mlp.down.weight"}},
      {"model.layers.{i}.mlp.c_proj.bias", {"layers.{i}.mlp.down.bias"}},
  };
}

static std::vector<NameRow> starcoder2Rows() {
  return with(without(llamaRows(), {".mlp."}), plainMlpRows());
}

/// Phi 3's one matrix for queries, keys and values, and one for what an MLP
/// begins with.
static std::vector<NameRow> joinedGateRows() {
  return {
      {"model.layers.{i}.mlp.gate_up_proj.weight",
       {"layers.{i}.mlp.gate.weight", "layers.{i}.mlp.up.weight"}},
  };
}

static std::vector<NameRow> joinedQkvRows() {
  return {
      {"model.layers.{i}.self_attn.qkv_proj.weight",
       {"layers.{i}.attention.q.weight", "layers.{i}.attention.k.weight",
        "layers.{i}.attention.v.weight"}},
  };
}

static std::vector<NameRow> phi3Rows() {
  std::vector<NameRow> rows = without(
      llamaRows(), {".q_proj", ".k_proj", ".v_proj", ".gate_proj", ".up_proj"});
  return with(with(std::move(rows), joinedQkvRows()), joinedGateRows());
}

/// Families whose queries and keys rotate in pairs.
static std::vector<NameRow> paired(std::vector<NameRow> rows) {
  for (NameRow &row : rows) {
    std::string_view part = row.parts.front();
    row.paired = part.starts_with("layers.{i}.attention.q.") ||
                 part.starts_with("layers.{i}.attention.k.");
  }
  return rows;
}

static std::vector<NameRow> glmRows() {
  return paired(with(
      with(without(llamaRows(), {".gate_proj", ".up_proj"}), joinedGateRows()),
      qkvBiasRows()));
}

/// GLM 4's norms on both sides of a branch.
static std::vector<NameRow> glm4Rows() {
  return with(glmRows(),
              {
                  {"model.layers.{i}.post_self_attn_layernorm.weight",
                   {"layers.{i}.attention_post_norm.weight"}},
                  {"model.layers.{i}.post_mlp_layernorm.weight",
                   {"layers.{i}.mlp_post_norm.weight"}},
              });
}

static std::vector<NameRow> gptjRows() {
#define HOCKET_LAYER(NAME) "transformer.h.{i}." NAME
  return paired({
      {"transformer.wte.weight", {"embedding.weight"}},
      {HOCKET_LAYER("ln_1.weight"), {"layers.{i}.attention_norm.weight"}},
      {HOCKET_LAYER("ln_1.bias"), {"layers.{i}.attention_norm.bias"}},
      {HOCKET_LAYER("attn.q_proj.weight"), {"layers.{i}.attention.q.weight"}},
      {HOCKET_LAYER("attn.k_proj.weight"), {"layers.{i}.attention.k.weight"}},
      {HOCKET_LAYER("attn.v_proj.weight"), {"layers.{i}.attention.v.weight"}},
      {HOCKET_LAYER("attn.out_proj.weight"), {"layers.{i}.attention.o.weight"}},
      {HOCKET_LAYER("mlp.fc_in.weight"), {"layers.{i}.mlp.up.weight"}},
      {HOCKET_LAYER("mlp.fc_in.bias"), {"layers.{i}.mlp.up.bias"}},
      {HOCKET_LAYER("mlp.fc_out.weight"), {"layers.{i}.mlp.down.weight"}},
      {HOCKET_LAYER("mlp.fc_out.bias"), {"layers.{i}.mlp.down.bias"}},
      {"transformer.ln_f.weight", {"final_norm.weight"}},
      {"transformer.ln_f.bias", {"final_norm.bias"}},
      {"lm_head.weight", {"head.weight"}},
      {"lm_head.bias", {"head.bias"}},
  });
#undef HOCKET_LAYER
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

/// All experts of a layer in one tensor, and of each its gate before the rest.
static std::vector<NameRow> graniteExpertRows() {
  return {
      {"model.layers.{i}.block_sparse_moe.router.layer.weight",
       {"layers.{i}.mlp.router.weight"}},
      {"model.layers.{i}.block_sparse_moe.input_linear.weight",
       {"layers.{i}.mlp.experts.gate.weight",
        "layers.{i}.mlp.experts.up.weight"}},
      {"model.layers.{i}.block_sparse_moe.output_linear.weight",
       {"layers.{i}.mlp.experts.down.weight"}},
  };
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

static std::vector<NameRow> sharedExpertRows() {
#define HOCKET_SHARED(NAME) "model.layers.{i}.mlp.shared_expert." NAME ".weight"
  return {
      {HOCKET_SHARED("gate_proj"), {"layers.{i}.mlp.shared.gate.weight"}},
      {HOCKET_SHARED("up_proj"), {"layers.{i}.mlp.shared.up.weight"}},
      {HOCKET_SHARED("down_proj"), {"layers.{i}.mlp.shared.down.weight"}},
      {"model.layers.{i}.mlp.shared_expert_gate.weight",
       {"layers.{i}.mlp.shared_gate.weight"}},
  };
#undef HOCKET_SHARED
}

/// Attention to latents: queries of the token, or of a latent; what latents and
/// rotated keys are made by is one matrix, and what makes keys and values of
/// them another.
static std::vector<NameRow> deepseekAttentionRows() {
#define HOCKET_ATTENTION(NAME) "model.layers.{i}.self_attn." NAME ".weight"
  const char *down = "layers.{i}.attention.q_down.weight";
  const char *turned = "layers.{i}.attention.k_rope.weight";
  NameRow q{HOCKET_ATTENTION("q_proj"), {"layers.{i}.attention.q.weight"}};
  q.paired = q.rotatesLast = true;
  q.inPlaceOf = down;
  NameRow up = q;
  up.theirs = HOCKET_ATTENTION("q_b_proj");
  up.inPlaceOf = nullptr;
  up.beside = down;
  NameRow kvDown{HOCKET_ATTENTION("kv_a_proj_with_mqa"),
                 {"layers.{i}.attention.kv_down.weight", turned}};
  kvDown.pairedPart = turned;
  NameRow kvUp{
      HOCKET_ATTENTION("kv_b_proj"),
      {"layers.{i}.attention.k.weight", "layers.{i}.attention.v.weight"}};
  kvUp.byHead = true;
  return {
      q,
      up,
      {HOCKET_ATTENTION("q_a_proj"), {down}},
      {HOCKET_ATTENTION("q_a_layernorm"),
       {"layers.{i}.attention.q_norm.weight"}},
      kvDown,
      {HOCKET_ATTENTION("kv_a_layernorm"),
       {"layers.{i}.attention.kv_norm.weight"}},
      kvUp,
  };
#undef HOCKET_ATTENTION
}

static std::vector<NameRow> deepseekExpertRows() {
#define HOCKET_SHARED(NAME)                                                    \
  "model.layers.{i}.mlp.shared_experts." NAME ".weight"
  return with(
      qwenExpertRows(),
      {
          {HOCKET_SHARED("gate_proj"), {"layers.{i}.mlp.shared.gate.weight"}},
          {HOCKET_SHARED("up_proj"), {"layers.{i}.mlp.shared.up.weight"}},
          {HOCKET_SHARED("down_proj"), {"layers.{i}.mlp.shared.down.weight"}},
          {"model.layers.{i}.mlp.gate.e_score_correction_bias",
           {"state.layers.{i}.mlp.router.bias"}},
      });
#undef HOCKET_SHARED
}

static std::vector<NameRow> deepseekRows() {
  return with(with(without(llamaRows(), {".q_proj", ".k_proj", ".v_proj"}),
                   deepseekAttentionRows()),
              deepseekExpertRows());
}

std::vector<NameTable> checkpoint::llamaNameTables() {
  // Llama's attention_bias and mlp_bias add biases everywhere, Qwen 3's
  // attention_bias to all four projections, Qwen 2 has three.
  const std::vector<NameRow> attentionBias =
      with(qkvBiasRows(), outputBiasRows());
  const std::vector<NameRow> allBiases = with(attentionBias, mlpBiasRows());
  const std::vector<NameRow> qwen3 =
      with(with(llamaRows(), attentionBias), qkNormRows());
  const std::pair<const char *, std::vector<NameRow>> families[] = {
      {"llama", with(llamaRows(), allBiases)},
      {"mistral", llamaRows()},
      {"mixtral", with(llamaRows(), mixtralRows())},
      {"qwen2", with(llamaRows(), qkvBiasRows())},
      {"qwen3", qwen3},
      {"qwen2_moe",
       with(with(with(llamaRows(), qkvBiasRows()), qwenExpertRows()),
            sharedExpertRows())},
      {"qwen3_moe", with(qwen3, qwenExpertRows())},
      {"smollm3", with(llamaRows(), allBiases)},
      {"gemma2", with(gemmaRows(), attentionBias)},
      {"gemma3_text", with(with(gemmaRows(), attentionBias), qkNormRows())},
      {"olmo2", with(with(olmo2Rows(), attentionBias), qkNormRows())},
      {"gemma", with(llamaRows(), attentionBias)},
      {"olmo3", with(with(olmo2Rows(), attentionBias), qkNormRows())},
      {"olmoe", with(qwen3, qwenExpertRows())},
      {"exaone4", with(olmo2Rows(), qkNormRows())},
      {"phi3", phi3Rows()},
      {"seed_oss", with(llamaRows(), allBiases)},
      {"ernie4_5", paired(with(llamaRows(), allBiases))},
      {"helium", paired(with(with(llamaRows(), qkvBiasRows()), mlpBiasRows()))},
      {"glm", glmRows()},
      {"glm4", glm4Rows()},
      {"cohere", paired(with(llamaRows(), attentionBias))},
      {"cohere2", paired(with(llamaRows(), attentionBias))},
      {"arcee", with(llamaRows(), allBiases)},
      {"granitemoe",
       with(with(llamaRows(), attentionBias), graniteExpertRows())},
      {"deepseek_v2", deepseekRows()},
      {"deepseek_v3", deepseekRows()},
      {"granite", with(llamaRows(), allBiases)},
      {"nemotron", with(with(llamaRows(), allBiases), normBiasRows())},
      {"stablelm", with(with(llamaRows(), qkvBiasRows()), normBiasRows())},
      {"starcoder2",
       with(with(starcoder2Rows(), attentionBias), normBiasRows())},
  };
  std::vector<NameTable> tables;
  for (const auto &[family, rows] : families)
    tables.push_back({family, "", rows, {".rotary_emb.inv_freq"}});
  for (NameTable &table : tables)
    table.hasLayersBehind = table.family == std::string_view("deepseek_v3");
  tables.push_back(
      {"gptj", "", gptjRows(), {".attn.bias", ".attn.masked_bias"}});
  return tables;
}
