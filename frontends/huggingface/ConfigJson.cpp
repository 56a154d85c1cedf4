//===- ConfigJson.cpp - The values of a config.json -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ConfigJson.h"

#include "base/json/JsonDefect.h"
#include "frontends/spec/text/ConstraintErrors.h"
#include "frontends/spec/text/SpecText.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>

using namespace hocket;
using namespace hocket::huggingface;
using spec::SourcePlace;

static SourcePlace placeAt(const std::string &file, std::string_view text,
                           size_t offset) {
  std::string_view before = text.substr(0, offset);
  size_t lineStart = before.rfind('\n') + 1; // 0 where there is none.
  return {file,
          static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(offset - lineStart) + 1};
}

/// What simdjson refused as `error`, with the place, which it does not tell.
static Status notJson(const std::string &file, const std::string &text,
                      simdjson::error_code error) {
  std::string reason = simdjson::error_message(error);
  SourcePlace place{file};
  if (size_t at = findInvalidUtf8(text); at < text.size()) {
    place = placeAt(file, text, at);
    reason = "not valid UTF-8";
  } else if (auto defect = findJsonDefect(text)) {
    place = placeAt(file, text, defect->offset);
    reason = "expected " + defect->expected;
  }
  return invalidArgument(place.str() + ": H1: is not JSON: " + reason);
}

//===----------------------------------------------------------------------===//
// Infinite numbers
//===----------------------------------------------------------------------===//

/// As it is here in place of the word Infinity: a string of as many bytes, so
/// that places stay those of the file.
static constexpr std::string_view infinityText = "\"\\u221e\"";
static constexpr std::string_view infinitySign = "\u221e";

/// Python writes a number that is infinite as the word Infinity, which is no
/// JSON; `text` with a string in its place.
static std::string withoutInfinity(std::string text) {
  constexpr std::string_view word = "Infinity";
  static_assert(infinityText.size() == word.size());
  bool isInString = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"')
      isInString = !isInString;
    else if (isInString)
      at += text[at] == '\\';
    else if (std::string_view(text).substr(at, word.size()) == word) {
      text.replace(at, word.size(), infinityText);
      at += word.size() - 1;
    }
  }
  return text;
}

/// A number, which may be infinite: as above or, as newer versions of
/// transformers write it, {"__float__": "Infinity"}. Whether it is one.
static bool toReal(simdjson::dom::element element, double &number) {
  simdjson::dom::object object;
  std::string_view word;
  if (!element.get(object) && object.size() == 1) {
    if (object["__float__"].get(word) || word != "Infinity")
      return false;
  } else if (element.get(word) || word != infinitySign) {
    return !element.get(number);
  }
  number = std::numeric_limits<double>::infinity();
  return true;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Levels of objects whose keys are in the table.
static constexpr int mostLevels = 3;

/// The place of each key of `object`, which stands `level` deep, in order, by
/// offset into `text`.
static simdjson::error_code
collectOffsets(simdjson::ondemand::object object, const char *text,
               const std::string &prefix, int level,
               std::vector<std::pair<std::string, size_t>> &offsets) {
  for (auto entry : object) {
    simdjson::ondemand::field field;
    if (auto error = std::move(entry).get(field))
      return error;
    // raw() points behind the opening quote.
    size_t offset = static_cast<size_t>(field.key().raw() - text) - 1;
    std::string_view key;
    if (auto error = field.unescaped_key().get(key))
      return error;
    std::string full = prefix + std::string(key);
    offsets.emplace_back(full, offset);
    simdjson::ondemand::json_type type;
    if (auto error = field.value().type().get(type))
      return error;
    if (level == mostLevels || type != simdjson::ondemand::json_type::object)
      continue;
    simdjson::ondemand::object nested;
    if (auto error = field.value().get_object().get(nested))
      return error;
    if (auto error =
            collectOffsets(nested, text, full + ".", level + 1, offsets))
      return error;
  }
  return simdjson::SUCCESS;
}

/// Whether every entry of `array` is a T; `list` then holds them.
template <typename T, typename Entry>
static bool collect(simdjson::dom::array array, std::vector<Entry> &list) {
  for (simdjson::dom::element element : array) {
    T entry;
    if (element.get(entry))
      return false;
    list.emplace_back(entry);
  }
  return true;
}

static bool collectReals(simdjson::dom::array array, RealList &list) {
  for (simdjson::dom::element element : array)
    if (!toReal(element, list.emplace_back()))
      return false;
  return true;
}

static ConfigValue toValue(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  ConfigValue result;
  if (double number; !element.is_number() && toReal(element, number)) {
    result.value = number;
    return result;
  }
  switch (element.type()) {
  case element_type::NULL_VALUE:
    break;
  case element_type::BOOL:
    result.value = bool(element.get_bool().value_unsafe());
    break;
  case element_type::INT64:
    result.value = int64_t(element.get_int64().value_unsafe());
    break;
  case element_type::UINT64:
    result.value = static_cast<double>(element.get_uint64().value_unsafe());
    break;
  case element_type::DOUBLE:
    result.value = double(element.get_double().value_unsafe());
    break;
  case element_type::STRING:
    result.value = std::string(element.get_string().value_unsafe());
    break;
  case element_type::ARRAY: {
    simdjson::dom::array array = element.get_array().value_unsafe();
    StringList names;
    IntegerList numbers;
    RealList reals;
    bool isEmpty = array.size() == 0;
    if (!isEmpty && collect<int64_t>(array, numbers))
      result.value = std::move(numbers);
    else if (!isEmpty && collectReals(array, reals))
      result.value = std::move(reals);
    else if (collect<std::string_view>(array, names))
      result.value = std::move(names);
    else
      result.value = Other();
    break;
  }
  case element_type::OBJECT:
    result.value = Other();
    break;
  }
  return result;
}

namespace {
/// Moves a document's values into a table.
struct Flattener {
  const std::map<std::string, SourcePlace> &places;
  std::map<std::string, ConfigValue> &values;

  void flatten(simdjson::dom::object object, const std::string &prefix,
               int level) {
    for (auto [key, element] : object) {
      std::string full = prefix + std::string(key);
      ConfigValue value = toValue(element);
      if (auto found = places.find(full); found != places.end())
        value.place = found->second;
      values[full] = std::move(value);
      simdjson::dom::object nested;
      if (level < mostLevels && !element.get(nested))
        flatten(nested, full + ".", level + 1);
    }
  }
};
} // namespace

StatusOr<ConfigJson> ConfigJson::parse(const std::string &said,
                                       const std::string &file) {
  const std::string text = withoutInfinity(said);
  simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (auto error = parser.parse(padded).get(root))
    return notJson(file, text, error);
  simdjson::dom::object object;
  if (root.get(object))
    return invalidArgument(file + ": H1: is not a JSON object; write "
                                  "{\"model_type\": ...}");

  simdjson::ondemand::parser walker;
  simdjson::ondemand::document document;
  simdjson::ondemand::object top;
  std::vector<std::pair<std::string, size_t>> offsets;
  if (auto error = walker.iterate(padded).get(document))
    return notJson(file, text, error);
  if (auto error = document.get_object().get(top))
    return notJson(file, text, error);
  if (auto error = collectOffsets(top, padded.data(), "", 1, offsets))
    return notJson(file, text, error);

  std::map<std::string, SourcePlace> places;
  for (const auto &[key, offset] : offsets) {
    SourcePlace place = placeAt(file, text, offset);
    if (!places.emplace(key, place).second)
      return invalidArgument(place.str() + ": H1: the key \"" +
                             spec::elide(key) + "\" is there twice");
  }
  ConfigJson config;
  config.file = file;
  config.whole = SourcePlace{file};
  Flattener{places, config.values}.flatten(object, "", 1);
  return config;
}

const ConfigValue *ConfigJson::find(const std::string &key) const {
  auto found = values.find(key);
  if (found == values.end() ||
      std::holds_alternative<std::monostate>(found->second.value))
    return nullptr;
  return &found->second;
}

bool ConfigJson::isNull(const std::string &key) const {
  return values.contains(key) && !find(key);
}

SourcePlace ConfigJson::place(const std::string &key) const {
  auto found = values.find(key);
  return found == values.end() ? whole : found->second.place;
}

ConfigJson ConfigJson::within(const std::string &outer) const {
  ConfigJson inner;
  inner.file = file;
  inner.whole = place(outer);
  const std::string prefix = outer + ".";
  for (const auto &[key, value] : values)
    if (key.starts_with(prefix))
      inner.values.emplace(key.substr(prefix.size()), value);
  return inner;
}

std::string huggingface::describe(const ConfigValue &value) {
  struct Describer {
    std::string operator()(std::monostate) { return "null"; }
    std::string operator()(bool value) { return value ? "true" : "false"; }
    std::string operator()(int64_t value) { return std::to_string(value); }
    std::string operator()(double value) { return spec::formatReal(value); }
    std::string operator()(const std::string &value) {
      return "\"" + spec::elide(value) + "\"";
    }
    std::string operator()(const StringList &) { return "a list"; }
    std::string operator()(const IntegerList &) { return "a list"; }
    std::string operator()(const RealList &) { return "a list"; }
    std::string operator()(const Other &) { return "a list or an object"; }
  };
  return std::visit(Describer(), value.value);
}
