//===- PublishedModels.cpp - Sizes of models by name ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// From the configurations that came with the models.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/ThroughputFile.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

struct KnownModel {
  std::string_view name; ///< In capitals, without what separates words.
  int64_t layers, hidden, heads, kvHeads, headDim, ffn, vocab;
  int64_t experts = 0, topK = 0, expertFfn = 0, sharedFfn = 0, denseLayers = 0;
  int64_t window = 0;
};

constexpr KnownModel models[] = {
    {"LLAMA38B", 32, 4096, 32, 8, 128, 14336, 128256},
    {"LLAMA370B", 80, 8192, 64, 8, 128, 28672, 128256},
    {"LLAMA31405B", 126, 16384, 128, 8, 128, 53248, 128256},
    {"LLAMA3405B", 126, 16384, 128, 8, 128, 53248, 128256},
    {"MIXTRAL8X7B", 32, 4096, 32, 8, 128, 14336, 32000, 8, 2, 14336},
    {"MIXTRAL8X22B", 56, 6144, 48, 8, 128, 16384, 32768, 8, 2, 16384},
    {"QWEN330BA3B", 48, 2048, 32, 4, 128, 6144, 151936, 128, 8, 768},
    {"QWEN3235BA22B", 94, 4096, 64, 4, 128, 12288, 151936, 128, 8, 1536},
    {"GPTOSS120B", 36, 2880, 64, 8, 64, 2880, 201088, 128, 4, 2880, 0, 0, 0},
    // Latent attention as the plain one of as many parameters a layer: 187 M.
    {"DEEPSEEKV3", 61, 7168, 128, 128, 51, 18432, 129280, 256, 8, 2048, 2048,
     3},
    {"KIMIK2", 61, 7168, 64, 64, 51, 18432, 163840, 384, 8, 2048, 2048, 1},
};

std::string letters(const std::string &name) {
  std::string kept;
  for (char c : name.substr(0, name.find('(')))
    if (std::isalnum(static_cast<unsigned char>(c)))
      kept += char(std::toupper(static_cast<unsigned char>(c)));
  return kept;
}

} // namespace

std::optional<ModelShape> planning::publishedModel(const std::string &name,
                                                   std::string &why) {
  std::string wanted = letters(name);
  const auto *known = std::find_if(
      std::begin(models), std::end(models),
      [&](const KnownModel &model) { return model.name == wanted; });
  if (known == std::end(models)) {
    why = wanted.starts_with("NEMOTRON")
              ? "a model with state-space layers, which are not priced"
              : "the sizes of " + name + " are not known";
    return std::nullopt;
  }
  ModelShape model;
  model.name = name;
  model.layers = known->layers;
  model.hidden = known->hidden;
  model.heads = known->heads;
  model.kvHeads = known->kvHeads;
  model.headDim = known->headDim;
  model.ffn = known->ffn;
  model.gated = true;
  model.vocab = known->vocab;
  model.tied = false;
  model.window = known->window;
  model.experts = known->experts;
  model.topK = known->topK;
  model.expertFfn = known->expertFfn;
  model.sharedFfn = known->sharedFfn;
  model.denseLayers = known->denseLayers;
  return model;
}
