//===- TrainedFiles.cpp - A trained vocabulary's files --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonLines.h"
#include "runtime/tokenizer/ByteLevel.h"
#include "runtime/tokenizer/Train.h"

#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::tokenizer;

using Json = nlohmann::ordered_json;

/// Splits as tokenizer.json says it: GPT-2's expression is ByteLevel's own.
static Json preTokenizer(WordPattern pattern) {
  bool isOwn = pattern == WordPattern::Gpt2;
  Json bytes = {{"type", "ByteLevel"},
                {"add_prefix_space", false},
                {"trim_offsets", true},
                {"use_regex", isOwn}};
  if (isOwn)
    return bytes;
  Json split = {{"type", "Split"},
                {"pattern", {{"Regex", expressionOf(pattern)}}},
                {"behavior", "Isolated"},
                {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
}

static Json addedTokens(const TrainedBytePairs &trained) {
  Json tokens = Json::array();
  size_t id = trained.tokens.size();
  for (const std::string &text : trained.special)
    tokens.push_back({{"id", id++},
                      {"content", text},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  return tokens;
}

TokenizerFiles tokenizer::filesOf(const TrainedBytePairs &trained,
                                  WordPattern pattern) {
  Json vocabulary = Json::object(), merges = Json::array();
  std::vector<std::string> texts;
  for (const std::string &bytes : trained.tokens)
    texts.push_back(toByteLevel(bytes));
  // Not by key: that would search all those before.
  auto &members = vocabulary.get_ref<Json::object_t &>();
  for (size_t id = 0; id < texts.size(); ++id)
    members.emplace_back(texts[id], id);
  for (const std::string &text : trained.special)
    members.emplace_back(text, members.size());
  TokenizerFiles files;
  files.mergesText = "#version: 0.2\n";
  for (const TrainedBytePairs::Merge &merge : trained.merges) {
    const std::string &left = texts[size_t(merge.left)];
    const std::string &right = texts[size_t(merge.right)];
    merges.push_back({left, right});
    files.mergesText.append(left).append(" ").append(right).append("\n");
  }
  files.vocabularyJson = toJsonText(vocabulary) + "\n";
  Json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", false},
                {"vocab", std::move(vocabulary)},
                {"merges", std::move(merges)}};
  Json bytes = {{"type", "ByteLevel"},
                {"add_prefix_space", false},
                {"trim_offsets", true},
                {"use_regex", true}};
  Json document = {
      {"version", "1.0"},         {"truncation", nullptr},
      {"padding", nullptr},       {"added_tokens", addedTokens(trained)},
      {"normalizer", nullptr},    {"pre_tokenizer", preTokenizer(pattern)},
      {"post_processor", bytes},  {"decoder", bytes},
      {"model", std::move(model)}};
  files.tokenizerJson = toJsonText(document, 2) + "\n";
  return files;
}
