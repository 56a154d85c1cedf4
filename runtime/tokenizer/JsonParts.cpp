//===- JsonParts.cpp - The small parts of tokenizer.json ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/JsonParts.h"

#include "base/json/JsonMembers.h"
#include "runtime/tokenizer/VocabularyReader.h"

#include <charconv>

using namespace hocket;
using namespace hocket::tokenizer;

/// More than any file has where its parts are read whole.
static constexpr size_t mostParts = 1 << 16;

StatusOr<std::map<std::string, JsonPart>> JsonPart::members() const {
  std::map<std::string, JsonPart> found;
  JsonMembers entries(text);
  if (!entries.isObject())
    return wrong("expected an object, found " + inQuotes(text));
  while (auto entry = entries.next()) {
    auto key = unescapeJson(entry->key);
    if (!key || found.size() == mostParts)
      return wrongJson(*file, text);
    if (!found.emplace(*key, JsonPart(*file, entry->value)).second)
      return file->wrongAt(entry->member,
                           "the key " + inQuotes(*key) + " appears twice");
  }
  if (!entries.isWhole())
    return wrongJson(*file, text);
  return found;
}

StatusOr<std::vector<JsonPart>> JsonPart::elements() const {
  std::vector<JsonPart> found;
  JsonMembers entries(text);
  if (!entries.isArray())
    return wrong("expected an array, found " + inQuotes(text));
  while (auto entry = entries.next()) {
    if (found.size() == mostParts)
      return file->wrongAt(entry->member, "expected at most " +
                                              std::to_string(mostParts) +
                                              " elements");
    found.emplace_back(*file, entry->value);
  }
  if (!entries.isWhole())
    return wrongJson(*file, text);
  return found;
}

StatusOr<std::string> JsonPart::string() const {
  std::optional<std::string> value;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    value = unescapeJson(text.substr(1, text.size() - 2));
  if (!value)
    return wrong("expected a string, found " + inQuotes(text));
  return *std::move(value);
}

StatusOr<bool> JsonPart::boolean() const {
  if (text != "true" && text != "false")
    return wrong("expected true or false, found " + inQuotes(text));
  return text == "true";
}

StatusOr<int64_t> JsonPart::whole(int64_t limit) const {
  int64_t value = -1;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value >= limit)
    return wrong("expected a whole number below " + std::to_string(limit) +
                 ", found " + inQuotes(text));
  return value;
}

StatusOr<JsonObject> JsonObject::read(const JsonPart &part) {
  HOCKET_ASSIGN_OR_RETURN(auto members, part.members());
  return JsonObject(part, std::move(members));
}

const JsonPart *JsonObject::find(const std::string &key) const {
  auto at = members.find(key);
  return at == members.end() || at->second.isNull() ? nullptr : &at->second;
}

StatusOr<std::string> JsonObject::string(const std::string &key,
                                         const std::string &otherwise) const {
  const JsonPart *member = find(key);
  return member ? member->string() : otherwise;
}

StatusOr<bool> JsonObject::boolean(const std::string &key,
                                   bool otherwise) const {
  const JsonPart *member = find(key);
  return member ? member->boolean() : otherwise;
}

StatusOr<std::string> JsonObject::type() const {
  HOCKET_ASSIGN_OR_RETURN(JsonPart type, need("type"));
  return type.string();
}

StatusOr<JsonPart> JsonObject::need(const std::string &key) const {
  if (const JsonPart *member = find(key))
    return *member;
  return whole.wrong("expected the key '" + key + "'");
}
