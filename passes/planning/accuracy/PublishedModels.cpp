//===- PublishedModels.cpp - Sizes of models by name ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Sizes are those of the configurations that came with the models: config.json
// of their weights, or the paper that is named.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/RowNumbers.h"

#include <algorithm>
#include <array>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// How tables write a model: its `name`, and its size where that may be left
/// out, both in capitals without what separates words.
struct Spelling {
  std::string_view name;
  std::string_view size; ///< Empty: the name has it.
};

struct KnownModel {
  Spelling spelling;
  /// Layers without those that predict further tokens.
  int64_t layers, hidden, heads, kvHeads, headDim, ffn, vocab;
  int64_t experts = 0, topK = 0, expertFfn = 0, sharedFfn = 0, denseLayers = 0;
  int64_t expertGroups = 0, topGroups = 0;
  int64_t window = 0, windowBlocks = 0;
  int64_t predicted = 0, expertLatent = 0, attentionBlocks = 0;
  bool gated = true, tied = false, expertLimits = false;
  LatentAttention latent = {};
  StateSpace stateSpace = {};
};

// arXiv 2412.19437, section 4.2; Kimi K2 has the same, with half of the heads.
constexpr LatentAttention deepSeekAttention = {1536, 512, 128, 64, 128};

constexpr StateSpace mamba(int64_t blocks, int64_t heads, int64_t headDim,
                           int64_t state) {
  return {blocks, heads, headDim, state, 8};
}

constexpr KnownModel models[] = {
    {{"LLAMA27B", ""}, 32, 4096, 32, 32, 128, 11008, 32000},
    {{"LLAMA213B", ""}, 40, 5120, 40, 40, 128, 13824, 32000},
    {{"LLAMA270B", ""}, 80, 8192, 64, 8, 128, 28672, 32000},
    {{"LLAMA38B", ""}, 32, 4096, 32, 8, 128, 14336, 128256},
    {{"LLAMA318B", ""}, 32, 4096, 32, 8, 128, 14336, 128256},
    {{"LLAMA370B", ""}, 80, 8192, 64, 8, 128, 28672, 128256},
    {{"LLAMA3170B", ""}, 80, 8192, 64, 8, 128, 28672, 128256},
    {{"LLAMA3370B", ""}, 80, 8192, 64, 8, 128, 28672, 128256},
    {{"LLAMA31405B", ""}, 126, 16384, 128, 8, 128, 53248, 128256},
    {{"LLAMA3405B", ""}, 126, 16384, 128, 8, 128, 53248, 128256},
    {{"MISTRAL7B", ""}, 32, 4096, 32, 8, 128, 14336, 32000},
    {{"MIXTRAL8X7B", ""}, 32, 4096, 32, 8, 128, 14336, 32000, 8, 2, 14336},
    {{"MIXTRAL8X22B", ""}, 56, 6144, 48, 8, 128, 16384, 32768, 8, 2, 16384},
    {{"QWEN38B", ""}, 36, 4096, 32, 8, 128, 12288, 151936},
    {{"QWEN314B", ""}, 40, 5120, 40, 8, 128, 17408, 151936},
    {{"QWEN332B", ""}, 64, 5120, 64, 8, 128, 25600, 151936},
    {{"QWEN330BA3B", ""}, 48, 2048, 32, 4, 128, 6144, 151936, 128, 8, 768},
    {{"QWEN3235BA22B", ""}, 94, 4096, 64, 4, 128, 12288, 151936, 128, 8, 1536},
    // arXiv 2508.10925: every second layer sees 128 tokens.
    {.spelling = {"GPTOSS20B", ""},
     .layers = 24,
     .hidden = 2880,
     .heads = 64,
     .kvHeads = 8,
     .headDim = 64,
     .ffn = 2880,
     .vocab = 201088,
     .experts = 32,
     .topK = 4,
     .expertFfn = 2880,
     .window = 128,
     .windowBlocks = 12,
     .expertLimits = true},
    {.spelling = {"GPTOSS120B", ""},
     .layers = 36,
     .hidden = 2880,
     .heads = 64,
     .kvHeads = 8,
     .headDim = 64,
     .ffn = 2880,
     .vocab = 201088,
     .experts = 128,
     .topK = 4,
     .expertFfn = 2880,
     .window = 128,
     .windowBlocks = 18,
     .expertLimits = true},
    {.spelling = {"DEEPSEEKV3", "671B"},
     .layers = 61,
     .hidden = 7168,
     .heads = 128,
     .kvHeads = 128,
     .headDim = 128,
     .ffn = 18432,
     .vocab = 129280,
     .experts = 256,
     .topK = 8,
     .expertFfn = 2048,
     .sharedFfn = 2048,
     .denseLayers = 3,
     .expertGroups = 8,
     .topGroups = 4,
     .predicted = 1,
     .latent = deepSeekAttention},
    {.spelling = {"KIMIK2", "1T"},
     .layers = 61,
     .hidden = 7168,
     .heads = 64,
     .kvHeads = 64,
     .headDim = 128,
     .ffn = 18432,
     .vocab = 163840,
     .experts = 384,
     .topK = 8,
     .expertFfn = 2048,
     .sharedFfn = 2048,
     .denseLayers = 1,
     .latent = deepSeekAttention},
    // arXiv 2504.03624, table 1: attention, MLPs and Mamba-2, each a layer.
    {.spelling = {"NEMOTRONH8B", ""},
     .layers = 24,
     .hidden = 4096,
     .heads = 32,
     .kvHeads = 8,
     .headDim = 128,
     .ffn = 21504,
     .vocab = 131072,
     .attentionBlocks = 4,
     .gated = false,
     .stateSpace = mamba(24, 128, 64, 128)},
    {.spelling = {"NEMOTRONH56B", ""},
     .layers = 54,
     .hidden = 8192,
     .heads = 64,
     .kvHeads = 8,
     .headDim = 128,
     .ffn = 32768,
     .vocab = 131072,
     .attentionBlocks = 10,
     .gated = false,
     .stateSpace = mamba(54, 256, 64, 256)},
    // arXiv 2512.20848: experts in the place of MLPs; Super's work on a smaller
    // vector, and it predicts two further tokens.
    {.spelling = {"NEMOTRON3NANO", "30BA3B"},
     .layers = 23,
     .hidden = 2688,
     .heads = 32,
     .kvHeads = 2,
     .headDim = 128,
     .ffn = 1856,
     .vocab = 131072,
     .experts = 128,
     .topK = 6,
     .expertFfn = 1856,
     .sharedFfn = 3712,
     .attentionBlocks = 6,
     .gated = false,
     .stateSpace = mamba(23, 64, 64, 128)},
    {.spelling = {"NEMOTRON3SUPER", "120BA12B"},
     .layers = 40,
     .hidden = 4096,
     .heads = 32,
     .kvHeads = 2,
     .headDim = 128,
     .ffn = 2688,
     .vocab = 131072,
     .experts = 512,
     .topK = 22,
     .expertFfn = 2688,
     .sharedFfn = 5376,
     .predicted = 2,
     .expertLatent = 1024,
     .attentionBlocks = 8,
     .gated = false,
     .stateSpace = mamba(40, 128, 64, 128)},
};

/// What tables write before or behind a model's name that says nothing of its
/// sizes.
constexpr std::string_view makers[] = {"META", "NVIDIA", "OPENAI", "MISTRALAI",
                                       "MOONSHOTAI"};
constexpr std::string_view versions[] = {"INSTRUCT", "BASE", "CHAT", "HF"};

bool isSpelled(const KnownModel &model, std::string_view name) {
  const auto &[own, size] = model.spelling;
  return name.starts_with(own) &&
         (name.size() == own.size() ||
          (!size.empty() && name.substr(own.size()) == size));
}

/// The model of exactly this name; what is left of it when parts that say
/// nothing are taken off may name one too.
const KnownModel *find(std::string_view name) {
  for (std::string_view maker : makers)
    if (name.starts_with(maker))
      name.remove_prefix(maker.size());
  for (std::string_view version : versions)
    if (name.ends_with(version))
      name.remove_suffix(version.size());
  const auto *known =
      std::find_if(std::begin(models), std::end(models),
                   [&](const KnownModel &m) { return isSpelled(m, name); });
  return known == std::end(models) ? nullptr : known;
}

} // namespace

std::string planning::modelLetters(const std::string &name) {
  std::string kept;
  std::string text = name.substr(0, name.find('('));
  for (char c : text.substr(text.rfind('/') + 1))
    if (std::isalnum(static_cast<unsigned char>(c)))
      kept += char(std::toupper(static_cast<unsigned char>(c)));
  return kept;
}

std::optional<ModelShape> planning::publishedModel(const std::string &name,
                                                   std::string &why) {
  const KnownModel *known = find(modelLetters(name));
  if (!known) {
    why = "the sizes of " + name + " are not known";
    return std::nullopt;
  }
  ModelShape model;
  model.name = name;
  model.layers = known->layers + known->predicted;
  model.hidden = known->hidden;
  model.heads = known->heads;
  model.kvHeads = known->kvHeads;
  model.headDim = known->headDim;
  model.ffn = known->ffn;
  model.gated = known->gated;
  model.vocab = known->vocab;
  model.tied = known->tied;
  model.dropout = false;
  model.window = known->window;
  model.windowBlocks = known->windowBlocks;
  model.latent = known->latent;
  model.attentionBlocks = known->attentionBlocks;
  model.stateSpace = known->stateSpace;
  model.experts = known->experts;
  model.topK = known->topK;
  model.expertFfn = known->expertFfn;
  model.sharedFfn = known->sharedFfn;
  model.denseLayers = known->denseLayers;
  model.expertGroups = known->expertGroups;
  model.topGroups = known->topGroups;
  model.predicted = known->predicted;
  model.expertLatent = known->expertLatent;
  model.expertLimits = known->expertLimits;
  return model;
}
