//===- SpecialTokens.cpp - What masked samples are made with --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/SpecialTokens.h"

#include "base/File.h"
#include "base/json/JsonObject.h"
#include "frontends/spec/text/FieldPath.h"
#include "frontends/spec/text/SpecText.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

using namespace hocket;

Status huggingface::readSpecialTokens(const std::string &folder,
                                      spec::LoadedSpec &loaded) {
  const std::string file = folder + "/vocab.txt";
  std::error_code failure;
  if (!std::filesystem::exists(file, failure))
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(std::string text, spec::readInput(file));
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number)
    for (auto [token, name] : {std::pair{"[CLS]", "cls_token"},
                               {"[SEP]", "sep_token"},
                               {"[MASK]", "mask_token"},
                               {"[PAD]", "pad_token"}}) {
      if (line != token && line != std::string(token) + "\r")
        continue;
      bool isClassifier = loaded.spec.training().has_classification();
      if (isClassifier && token == std::string("[MASK]"))
        continue;
      const std::string path =
          std::string("training.") +
          (isClassifier ? "classification." : "masked_lm.") + name;
      HOCKET_ASSIGN_OR_RETURN(spec::FieldReference at,
                              findForWriting(loaded.spec, path));
      at.message->GetReflection()->SetInt64(at.message, at.field, number);
      loaded.locations.set(path, {file, number + 1, 1});
    }
  return okStatus();
}

/// The number of <extra_id_0> in a tokenizer.json, which lists added tokens, or
/// a tokenizer_config.json, which has them by number.
static std::optional<int64_t> sentinelOf(const nlohmann::json &tokenizer) {
  constexpr const char *first = "<extra_id_0>";
  auto isFirst = [&](const nlohmann::json &token) {
    return token.is_object() && token.contains("content") &&
           token["content"] == first;
  };
  auto list = tokenizer.find("added_tokens");
  if (list != tokenizer.end() && list->is_array())
    for (const nlohmann::json &token : *list)
      if (isFirst(token) && token.contains("id") &&
          token["id"].is_number_unsigned() && token["id"] <= INT32_MAX)
        return token["id"].get<int64_t>();
  auto table = tokenizer.find("added_tokens_decoder");
  if (table != tokenizer.end() && table->is_object())
    for (const auto &[id, token] : table->items())
      if (isFirst(token) && !id.empty() && id.size() < 10 &&
          id.find_first_not_of("0123456789") == std::string::npos)
        return std::stoll(id);
  return std::nullopt;
}

Status huggingface::readFirstSentinel(const std::string &folder,
                                      spec::LoadedSpec &loaded) {
  constexpr uint64_t mostBytes = uint64_t{64} << 20;
  for (const char *name : {"tokenizer.json", "tokenizer_config.json"}) {
    const std::string file = folder + "/" + name;
    std::error_code failure;
    if (!std::filesystem::exists(file, failure))
      continue;
    HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(file, mostBytes));
    HOCKET_ASSIGN_OR_RETURN(nlohmann::json tokenizer,
                            parseJsonObject(text, file, 1));
    if (auto first = sentinelOf(tokenizer)) {
      loaded.spec.mutable_training()
          ->mutable_span_corruption()
          ->set_first_sentinel(*first);
      loaded.locations.set("training.span_corruption.first_sentinel",
                           {file, 0, 0});
      break;
    }
  }
  return okStatus();
}
