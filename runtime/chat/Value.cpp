//===- Value.cpp - What a template computes with --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/Value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace hocket::chat;

Value Value::list(Items items) {
  Value value;
  value.data = std::make_shared<const Items>(std::move(items));
  return value;
}

Value Value::dict(Members members) {
  Value value;
  value.data = std::make_shared<const Members>(std::move(members));
  return value;
}

Value Value::nameSpace(Members members) {
  Value value;
  value.data = Space{std::make_shared<Members>(std::move(members))};
  return value;
}

Value Value::macro(std::shared_ptr<const MacroValue> macro) {
  Value value;
  value.data = std::move(macro);
  return value;
}

const Members &Value::members() const {
  if (isNamespace())
    return *std::get<Space>(data).members;
  return *std::get<DictPointer>(data);
}

int64_t Value::integer() const {
  return isBool() ? int64_t(std::get<bool>(data)) : std::get<int64_t>(data);
}

double Value::number() const {
  return isFloat() ? std::get<double>(data) : double(integer());
}

const Value *Value::find(std::string_view key) const {
  if (!isDict() && !isNamespace())
    return nullptr;
  for (const auto &[name, value] : members())
    if (name == key)
      return &value;
  return nullptr;
}

bool Value::isTrue() const {
  if (isUndefined() || isNone())
    return false;
  if (isNumber())
    return number() != 0;
  if (isString())
    return !string().empty();
  if (isList())
    return !items().empty();
  if (isDict())
    return !members().empty();
  return true;
}

bool Value::equals(const Value &other) const {
  if (isNumber() && other.isNumber())
    return number() == other.number();
  if (data.index() != other.data.index())
    return false;
  if (isString())
    return string() == other.string();
  if (isList())
    return std::equal(items().begin(), items().end(), other.items().begin(),
                      other.items().end(), [](const Value &a, const Value &b) {
                        return a.equals(b);
                      });
  if (isDict()) {
    if (members().size() != other.members().size())
      return false;
    return std::all_of(members().begin(), members().end(),
                       [&](const auto &member) {
                         const Value *found = other.find(member.first);
                         return found && found->equals(member.second);
                       });
  }
  return isNone() || isUndefined();
}

std::string Value::kind() const {
  if (isUndefined())
    return "nothing that is defined";
  if (isNone())
    return "None";
  if (isBool())
    return "a bool";
  if (isNumber())
    return "a number";
  if (isString())
    return "a string";
  if (isList())
    return "a list";
  return isDict() ? "a dict" : isNamespace() ? "a namespace" : "a macro";
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

/// Python's repr() of a float: the shortest that reads back.
static std::string textOfFloat(double value) {
  if (!std::isfinite(value))
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

std::string Value::repr() const {
  if (!isString())
    return text();
  bool single = string().find('\'') == std::string::npos ||
                string().find('"') != std::string::npos;
  std::string quote = single ? "'" : "\"";
  std::string out = quote;
  for (char c : string()) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\\' || (single && c == '\''))
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out + quote;
}

std::string Value::text() const {
  if (isUndefined())
    return "";
  if (isNone())
    return "None";
  if (isBool())
    return std::get<bool>(data) ? "True" : "False";
  if (isInt())
    return std::to_string(integer());
  if (isFloat())
    return textOfFloat(number());
  if (isString())
    return string();
  std::string out;
  if (isList()) {
    for (const Value &item : items())
      out += (out.empty() ? "" : ", ") + item.repr();
    return "[" + out + "]";
  }
  if (isDict()) {
    for (const auto &[key, value] : members())
      out +=
          (out.empty() ? "" : ", ") + Value(key).repr() + ": " + value.repr();
    return "{" + out + "}";
  }
  return "";
}

static std::string jsonString(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

void Value::writeJson(std::string &out, int indent, int level) const {
  auto separate = [&](bool first, int at) {
    if (!first)
      out += indent < 0 ? ", " : ",";
    if (indent >= 0)
      out += "\n" + std::string(size_t(indent) * size_t(at), ' ');
  };
  if (isList()) {
    out += "[";
    for (size_t i = 0; i < items().size(); ++i) {
      separate(i == 0, level + 1);
      items()[i].writeJson(out, indent, level + 1);
    }
    if (!items().empty() && indent >= 0)
      separate(true, level);
    out += "]";
  } else if (isDict()) {
    out += "{";
    for (size_t i = 0; i < members().size(); ++i) {
      separate(i == 0, level + 1);
      out += jsonString(members()[i].first) + ": ";
      members()[i].second.writeJson(out, indent, level + 1);
    }
    if (!members().empty() && indent >= 0)
      separate(true, level);
    out += "}";
  } else if (isString()) {
    out += jsonString(string());
  } else if (isBool()) {
    out += std::get<bool>(data) ? "true" : "false";
  } else {
    out += isNumber() ? text() : "null";
  }
}

std::string Value::json(int indent) const {
  std::string out;
  writeJson(out, indent, 0);
  return out;
}

//===----------------------------------------------------------------------===//
// Characters
//===----------------------------------------------------------------------===//

static bool beginsCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
}

size_t hocket::chat::characterCount(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), beginsCharacter));
}

size_t hocket::chat::characterAt(std::string_view text, size_t index) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (beginsCharacter(text[at]) && index-- == 0)
      return at;
  return at;
}
