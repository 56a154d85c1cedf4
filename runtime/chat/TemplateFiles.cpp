//===- TemplateFiles.cpp - Where a model's template stands ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/ChatTemplate.h"

#include "base/File.h"
#include "base/json/JsonObject.h"

#include <filesystem>
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

/// The folder that `path` is or stands in; empty where there is no such thing,
/// as for the tokenizer "byte".
static std::string folderOf(const std::string &path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return path;
  if (!fs::exists(path, error))
    return "";
  std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

StatusOr<ChatTemplate> chat::openChatTemplate(const std::string &folder,
                                              const std::string &path) {
  std::string dir = folderOf(folder);
  std::string configPath = dir + "/tokenizer_config.json";
  json config = json::object();
  if (!dir.empty() && exists(configPath)) {
    HOCKET_ASSIGN_OR_RETURN(std::string text,
                            readFile(configPath, mostFileBytes));
    HOCKET_ASSIGN_OR_RETURN(config, parseJsonObject(text, configPath, 1));
  }
  std::string file = path;
  if (file.empty() && !dir.empty() && exists(dir + "/chat_template.jinja"))
    file = dir + "/chat_template.jinja";
  if (!file.empty()) {
    HOCKET_ASSIGN_OR_RETURN(std::string source, readFile(file, mostFileBytes));
    return ChatTemplate::parse(source, file, tokensOf(config));
  }
  std::string source = templateOf(config);
  if (source.empty())
    return invalidArgument(folder + ": has no chat template: neither "
                                    "chat_template.jinja nor a "
                                    "\"chat_template\" in "
                                    "tokenizer_config.json; name one with "
                                    "--chat-template");
  return ChatTemplate::parse(source, configPath + ": chat_template",
                             tokensOf(config));
}
