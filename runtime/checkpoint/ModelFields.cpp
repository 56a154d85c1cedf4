//===- ModelFields.cpp - Which model a checkpoint is of -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ModelFields.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

using namespace hocket;
using namespace hocket::checkpoint;

using Fields = std::vector<std::pair<std::string, std::string>>;

/// Fields, and messages of fields, without which a text is as likely.
static constexpr std::string_view trainingFields[] = {
    "model.dropout",
    "model.initializer",
    "model.max_positions",
    "model.moe.aux_loss",
    "model.moe.aux_loss_scope",
    "model.moe.beyond_bound",
    "model.moe.bias_rate",
    "model.moe.expert_capacity_bound",
    "model.moe.input_jitter",
    "model.moe.z_loss",
    "model.retrieval.encoder_attention_dropout",
    "model.retrieval.encoder_dropout",
    "model.vocab_padding"};

static bool isOfTraining(const std::string &path) {
  return std::any_of(std::begin(trainingFields), std::end(trainingFields),
                     [&](std::string_view field) {
                       return path == field ||
                              path.starts_with(std::string(field) + ".");
                     });
}

static std::string_view trimmed(std::string_view line) {
  size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : line.substr(first);
}

/// The fields of `model` in the text. The second of equal names has a number,
/// as in `--set`.
static Fields modelFieldsOf(std::string_view text) {
  Fields fields;
  std::vector<std::string> open = {""}; // Each with the dot behind it.
  std::map<std::string, int> seen;
  auto numbered = [&](std::string_view name) {
    std::string path = open.back() + std::string(name);
    int before = seen[path]++;
    return before ? path + "." + std::to_string(before) : path;
  };
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == "}") {
      if (open.size() > 1)
        open.pop_back();
    } else if (line.ends_with(" {")) {
      open.push_back(numbered(line.substr(0, line.size() - 2)) + ".");
    } else if (size_t colon = line.find(": ");
               colon != std::string_view::npos &&
               open.back().starts_with("model.")) {
      fields.emplace_back(numbered(line.substr(0, colon)),
                          line.substr(colon + 2));
    }
  }
  return fields;
}

std::vector<ModelField>
checkpoint::differentModelFields(const std::string &stored,
                                 const std::string &here) {
  Fields now = modelFieldsOf(here);
  std::map<std::string, std::string> known(now.begin(), now.end());
  std::vector<ModelField> different;
  for (auto &[path, value] : modelFieldsOf(stored)) {
    auto found = known.find(path);
    std::string other = found == known.end() ? "" : found->second;
    if (other != value && !isOfTraining(path))
      different.push_back({path, value, other});
  }
  return different;
}
