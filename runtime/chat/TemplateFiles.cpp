//===- TemplateFiles.cpp - Where a model's template stands ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/ChatTemplate.h"

#include "base/File.h"
#include "base/json/JsonObject.h"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::chat;
using nlohmann::json;
namespace fs = std::filesystem;

static constexpr uint64_t mostFileBytes = uint64_t{16} << 20;

static bool exists(const std::string &path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// bos_token and so on, which are texts or have one as "content".
static Members tokensOf(const json &config) {
  Members tokens;
  for (const auto &[key, value] : config.items()) {
    if (!key.ends_with("_token"))
      continue;
    if (value.is_string())
      tokens.emplace_back(key, Value(value.get<std::string>()));
    else if (value.is_object() && value.contains("content") &&
             value["content"].is_string())
      tokens.emplace_back(key, Value(value["content"].get<std::string>()));
  }
  return tokens;
}

/// A text, or the one of several that is called "default".
static std::string templateOf(const json &config) {
  auto found = config.find("chat_template");
  if (found == config.end())
    return "";
  if (found->is_string())
    return found->get<std::string>();
  if (found->is_array())
    for (const json &entry : *found)
      if (entry.is_object() && entry.value("name", json()) == "default" &&
          entry.contains("template") && entry["template"].is_string())
        return entry["template"].get<std::string>();
  return "";
}

std::string chat::modelFolderOf(const std::string &path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return path;
  if (!fs::exists(path, error))
    return "";
  std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// The object in a file of `dir`; an empty one where there is none.
static StatusOr<json> readObject(const std::string &dir,
                                 const std::string &path) {
  if (dir.empty() || !exists(path))
    return json::object();
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(path, mostFileBytes));
  return parseJsonObject(text, path, 1);
}

StatusOr<ChatTemplate> chat::openChatTemplate(const std::string &folder,
                                              const std::string &path) {
  std::string dir = modelFolderOf(folder);
  std::string configPath = dir + "/tokenizer_config.json";
  HOCKET_ASSIGN_OR_RETURN(json config, readObject(dir, configPath));
  std::string file = path;
  if (file.empty() && !dir.empty() && exists(dir + "/chat_template.jinja"))
    file = dir + "/chat_template.jinja";
  if (!file.empty()) {
    HOCKET_ASSIGN_OR_RETURN(std::string source, readFile(file, mostFileBytes));
    return ChatTemplate::parse(source, file, tokensOf(config));
  }
  std::string jsonPath = dir + "/chat_template.json"; // Of a processor.
  HOCKET_ASSIGN_OR_RETURN(json own, readObject(dir, jsonPath));
  std::string source = templateOf(own);
  if (source.empty()) {
    jsonPath = configPath;
    source = templateOf(config);
  }
  if (source.empty())
    return notFound(folder +
                    ": has no chat template: neither chat_template.jinja nor a "
                    "\"chat_template\" in chat_template.json or "
                    "tokenizer_config.json; name one with --chat-template");
  return ChatTemplate::parse(source, jsonPath + ": chat_template",
                             tokensOf(config));
}

/// A token's number, a list of such, or nothing.
static StatusOr<std::vector<int32_t>> endTokensOf(const json &config,
                                                  const std::string &path) {
  std::vector<int32_t> tokens;
  auto found = config.find("eos_token_id");
  if (found == config.end() || found->is_null())
    return tokens;
  for (const json &each : found->is_array() ? *found : json::array({*found})) {
    if (!each.is_number_unsigned() ||
        each.get<uint64_t>() > std::numeric_limits<int32_t>::max())
      return invalidArgument(path + ": \"eos_token_id\" is a token's number or "
                                    "a list of such");
    tokens.push_back(each.get<int32_t>());
  }
  return tokens;
}

StatusOr<ModelEnds> chat::readModelEnds(const std::string &folder) {
  std::string dir = modelFolderOf(folder);
  HOCKET_ASSIGN_OR_RETURN(json tokens,
                          readObject(dir, dir + "/tokenizer_config.json"));
  ModelEnds ends;
  for (const auto &[name, text] : tokensOf(tokens))
    if (name == "eos_token")
      ends.text = text.text();
  std::string path = dir + "/generation_config.json";
  bool isGeneration = exists(path);
  if (!isGeneration)
    path = dir + "/config.json";
  HOCKET_ASSIGN_OR_RETURN(json config, readObject(dir, path));
  HOCKET_ASSIGN_OR_RETURN(ends.tokens, endTokensOf(config, path));
  auto texts = config.find("text_config");
  if (ends.tokens.empty() && !isGeneration && texts != config.end() &&
      texts->is_object()) {
    HOCKET_ASSIGN_OR_RETURN(ends.tokens, endTokensOf(*texts, path));
  }
  return ends;
}
