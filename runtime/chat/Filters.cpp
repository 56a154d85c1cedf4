//===- Filters.cpp - Filters, tests, methods and functions ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/Render.h"

#include <algorithm>
#include <charconv>

using namespace hocket;
using namespace hocket::chat;

static constexpr std::string_view kSpaces = " \t\n\r\f\v";
static constexpr int64_t kMostRange = 100'000;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static std::string strip(std::string_view text, std::string_view characters,
                         bool left, bool right) {
  if (left)
    text.remove_prefix(
        std::min(text.find_first_not_of(characters), text.size()));
  if (right)
    text = text.substr(0, text.find_last_not_of(characters) + 1);
  return std::string(text);
}

/// Changes ASCII letters alone: `make` of each, and of the first of each word.
enum class Case { Upper, Lower, Capitalized, Title };
static std::string changeCase(std::string text, Case to) {
  bool begins = true;
  for (char &c : text) {
    bool isUpper = c >= 'A' && c <= 'Z', isLower = c >= 'a' && c <= 'z';
    bool raises = to == Case::Upper ||
                  (begins && (to == Case::Capitalized || to == Case::Title));
    if (isLower && raises)
      c = char(c - 'a' + 'A');
    else if (isUpper && !raises)
      c = char(c - 'A' + 'a');
    begins = to == Case::Title && !isUpper && !isLower;
  }
  return text;
}

static std::string replaceAll(const std::string &text, const std::string &from,
                              const std::string &to) {
  if (from.empty())
    return text;
  std::string out;
  size_t at = 0;
  for (size_t next = text.find(from); next != std::string::npos;
       next = text.find(from, at)) {
    out += text.substr(at, next - at) + to;
    at = next + from.size();
  }
  return out + text.substr(at);
}

static Items split(const std::string &text, const std::string *separator,
                   int64_t most) {
  Items parts;
  size_t at = 0;
  auto full = [&] { return most >= 0 && int64_t(parts.size()) >= most; };
  if (separator) {
    for (size_t next = text.find(*separator);
         next != std::string::npos && !full();
         next = text.find(*separator, at)) {
      parts.emplace_back(text.substr(at, next - at));
      at = next + separator->size();
    }
    parts.emplace_back(text.substr(at));
    return parts;
  }
  while ((at = text.find_first_not_of(kSpaces, at)) != std::string::npos) {
    size_t end = full() ? std::string::npos : text.find_first_of(kSpaces, at);
    parts.emplace_back(text.substr(at, end - at));
    if (end == std::string::npos)
      break;
    at = end;
  }
  return parts;
}

StatusOr<Value> Renderer::stringMethod(const Expression &expression,
                                       const std::string &text,
                                       const std::string &name,
                                       const Arguments &arguments) {
  for (const Value &argument : arguments.byPosition)
    if (!argument.isString() && !argument.isInt() && !argument.isNone() &&
        !argument.isList())
      return wrong(expression.place, "the method '" + name +
                                         "' of a string "
                                         "takes no " +
                                         argument.kind());
  auto textAt = [&](size_t i) -> const std::string * {
    const Value *given = arguments.find(i, "");
    return given && given->isString() ? &given->string() : nullptr;
  };
  const std::string *first = textAt(0);
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return Value(strip(text, first ? std::string_view(*first) : kSpaces,
                       name != "rstrip", name != "lstrip"));
  if (name == "upper" || name == "lower" || name == "title" ||
      name == "capitalize")
    return Value(changeCase(text, name == "upper"   ? Case::Upper
                                  : name == "lower" ? Case::Lower
                                  : name == "title" ? Case::Title
                                                    : Case::Capitalized));
  if (name == "startswith" || name == "endswith") {
    const Value *given = arguments.find(0, "");
    Items options = given && given->isList() ? given->items() : Items();
    if (first)
      options.emplace_back(*first);
    return Value(
        std::any_of(options.begin(), options.end(), [&](const Value &option) {
          if (!option.isString())
            return false;
          return name == "startswith" ? text.starts_with(option.string())
                                      : text.ends_with(option.string());
        }));
  }
  if (name == "split" || name == "rsplit") {
    const Value *most = arguments.find(1, "maxsplit");
    if ((first && first->empty()) || (name == "rsplit" && most))
      return wrong(expression.place,
                   "this form of '" + name + "' is not supported");
    return Value::list(
        split(text, first, most && most->isInt() ? most->integer() : -1));
  }
  if (name == "replace" && first && textAt(1)) {
    std::string replaced = replaceAll(text, *first, *textAt(1));
    HOCKET_RETURN_IF_ERROR(checkSize(expression.place, replaced.size()));
    return Value(std::move(replaced));
  }
  if (name == "find" && first) {
    size_t at = text.find(*first);
    return Value(at == std::string::npos
                     ? int64_t(-1)
                     : int64_t(characterCount(text.substr(0, at))));
  }
  if (name == "count" && first && !first->empty()) {
    int64_t count = 0;
    for (size_t at = text.find(*first); at != std::string::npos;
         at = text.find(*first, at + first->size()))
      ++count;
    return Value(count);
  }
  if (name == "isdigit")
    return Value(!text.empty() &&
                 text.find_first_not_of("0123456789") == std::string::npos);
  if (name == "join") {
    const Value *list = arguments.find(0, "");
    if (list && list->isList())
      return join(expression, *list, {{Value(text)}, {}});
  }
  return wrong(expression.place,
               "a string has no method '" + name + "' that is supported");
}

//===----------------------------------------------------------------------===//
// Methods and functions
//===----------------------------------------------------------------------===//

StatusOr<Value> Renderer::callMethod(const Expression &expression,
                                     const Value &object,
                                     const std::string &name,
                                     const Arguments &arguments) {
  if (object.isString())
    return stringMethod(expression, object.string(), name, arguments);
  if (object.isUndefined())
    return wrong(expression.place, "'" + object.undefinedName() +
                                       "' is not defined, and has no '" + name +
                                       "'");
  if (object.isDict()) {
    Items items;
    if (name == "get" && !arguments.byPosition.empty()) {
      const Value *found = arguments.byPosition[0].isString()
                               ? object.find(arguments.byPosition[0].string())
                               : nullptr;
      const Value *other = arguments.find(1, "default");
      return found ? *found : other ? *other : Value();
    }
    if (name == "items" || name == "keys" || name == "values") {
      for (const auto &[key, value] : object.members())
        items.push_back(name == "keys"     ? Value(key)
                        : name == "values" ? value
                                           : Value::list({Value(key), value}));
      return Value::list(std::move(items));
    }
  }
  return wrong(expression.place, object.kind() + " has no method '" + name +
                                     "' that is supported");
}

StatusOr<Value> Renderer::callFunction(const Expression &expression,
                                       const std::string &name,
                                       const Arguments &arguments) {
  if (name == "raise_exception") {
    const Value *message = arguments.find(0, "message");
    return wrong(expression.place, "the template refuses these messages: " +
                                       (message ? message->text() : ""));
  }
  if (name == "namespace")
    return Value::nameSpace(arguments.byName);
  if (name == "dict")
    return Value::dict(arguments.byName);
  if (name == "range") {
    std::vector<int64_t> bounds;
    for (const Value &argument : arguments.byPosition)
      if (argument.isInt())
        bounds.push_back(argument.integer());
    if (bounds.empty() || bounds.size() > 3 ||
        bounds.size() != arguments.size())
      return wrong(expression.place, "expected whole numbers in range()");
    int64_t first = bounds.size() > 1 ? bounds[0] : 0;
    int64_t last = bounds.size() > 1 ? bounds[1] : bounds[0];
    int64_t step = bounds.size() > 2 ? bounds[2] : 1;
    Items items;
    for (int64_t i = first; step > 0 ? i < last : step < 0 && i > last;) {
      items.emplace_back(i);
      if (int64_t(items.size()) > kMostRange ||
          __builtin_add_overflow(i, step, &i))
        return wrong(expression.place, "a range has more than " +
                                           std::to_string(kMostRange) +
                                           " numbers");
    }
    return Value::list(std::move(items));
  }
  if (name == "strftime_now")
    return wrong(expression.place,
                 "the template asks for the date, so that it would prepare "
                 "other data tomorrow; put a date of its own in its place");
  return wrong(expression.place,
               "'" + name + "' is not defined, and cannot be called");
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

StatusOr<Items> Renderer::itemsOf(const Expression &expression,
                                  const Value &value) const {
  if (value.isList())
    return value.items();
  Items items;
  if (value.isDict())
    for (const auto &[key, unused] : value.members())
      items.emplace_back(key);
  else if (value.isString())
    for (size_t at = 0, end = 0; at < value.string().size(); at = end) {
      end = at + characterAt(std::string_view(value.string()).substr(at), 1);
      items.emplace_back(value.string().substr(at, end - at));
    }
  else if (!value.isUndefined())
    return wrong(expression.place, "cannot go through " + value.kind());
  else
    return wrong(expression.place, "'" + value.undefinedName() +
                                       "' is not defined, and has no items");
  return items;
}

StatusOr<Value> Renderer::join(const Expression &expression, const Value &value,
                               const Arguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(Items items, itemsOf(expression, value));
  const Value *separator = arguments.find(0, "d");
  std::string out, between = separator ? separator->text() : "";
  for (size_t i = 0; i < items.size(); ++i)
    out += (i ? between : "") + items[i].text();
  HOCKET_RETURN_IF_ERROR(countBytes(expression.place, out.size()));
  return Value(std::move(out));
}

/// selectattr, rejectattr, select, reject and map.
StatusOr<Value> Renderer::select(const Expression &expression,
                                 const std::string &name, const Value &value,
                                 const Arguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(Items items, itemsOf(expression, value));
  bool byAttribute = name == "selectattr" || name == "rejectattr";
  bool rejects = name == "rejectattr" || name == "reject";
  const Value *attribute = arguments.find(0, name == "map" ? "attribute" : "");
  bool isMapOfFilter = name == "map" && !arguments.byPosition.empty();
  Items out;
  for (const Value &item : items) {
    auto part = [&]() -> Value {
      const Value *found = attribute && attribute->isString()
                               ? item.find(attribute->string())
                               : nullptr;
      return found ? *found : Value(Undefined{"attribute"});
    };
    if (isMapOfFilter) {
      Arguments rest = arguments;
      std::string filterName = rest.byPosition.front().text();
      rest.byPosition.erase(rest.byPosition.begin());
      HOCKET_ASSIGN_OR_RETURN(Value mapped,
                              filter(expression, filterName, item, rest));
      out.push_back(std::move(mapped));
      continue;
    }
    if (name == "map") {
      out.push_back(part());
      continue;
    }
    size_t testAt = byAttribute ? 1 : 0;
    Value tested = byAttribute ? part() : item;
    bool holds = tested.isTrue();
    if (const Value *testName = arguments.find(testAt, "")) {
      Arguments rest;
      for (size_t i = testAt + 1; i < arguments.byPosition.size(); ++i)
        rest.byPosition.push_back(arguments.byPosition[i]);
      HOCKET_ASSIGN_OR_RETURN(holds,
                              test(expression, testName->text(), tested, rest));
    }
    if (holds != rejects)
      out.push_back(item);
  }
  return Value::list(std::move(out));
}

StatusOr<Value> Renderer::filter(const Expression &expression,
                                 const std::string &name, const Value &value,
                                 const Arguments &arguments) {
  HOCKET_RETURN_IF_ERROR(countStep(expression.place));
  if (name == "default" || name == "d") {
    const Value *other = arguments.find(0, "default_value");
    const Value *boolean = arguments.find(1, "boolean");
    bool takes = value.isUndefined() ||
                 (boolean && boolean->isTrue() && !value.isTrue());
    return takes ? other ? *other : Value("") : value;
  }
  if (name == "trim") {
    const Value *characters = arguments.find(0, "chars");
    return Value(strip(value.text(),
                       characters && characters->isString()
                           ? std::string_view(characters->string())
                           : kSpaces,
                       true, true));
  }
  if (name == "upper" || name == "lower" || name == "capitalize" ||
      name == "title")
    return stringMethod(expression, value.text(), name, {});
  if (name == "string")
    return Value(value.text());
  if (name == "length" || name == "count") {
    if (value.isString())
      return Value(int64_t(characterCount(value.string())));
    HOCKET_ASSIGN_OR_RETURN(Items items, itemsOf(expression, value));
    return Value(int64_t(items.size()));
  }
  if (name == "tojson") {
    const Value *indent = arguments.find(0, "indent");
    return Value(value.json(
        indent && indent->isInt() ? int(indent->integer() & 15) : -1));
  }
  if (name == "first" || name == "last" || name == "list" ||
      name == "reverse") {
    HOCKET_ASSIGN_OR_RETURN(Items items, itemsOf(expression, value));
    if (name == "reverse")
      std::reverse(items.begin(), items.end());
    if (name == "list" || name == "reverse")
      return Value::list(std::move(items));
    if (items.empty())
      return Value(Undefined{name});
    return name == "first" ? items.front() : items.back();
  }
  if (name == "items")
    return callMethod(expression, value.isUndefined() ? Value::dict({}) : value,
                      "items", {});
  if (name == "dictsort") {
    HOCKET_ASSIGN_OR_RETURN(Value pairs,
                            callMethod(expression, value, "items", {}));
    Items sorted = pairs.items();
    std::sort(sorted.begin(), sorted.end(), [](const Value &a, const Value &b) {
      return changeCase(a.items()[0].string(), Case::Lower) <
             changeCase(b.items()[0].string(), Case::Lower);
    });
    return Value::list(std::move(sorted));
  }
  if (name == "join")
    return join(expression, value, arguments);
  if (name == "replace" && arguments.byPosition.size() == 2)
    return stringMethod(expression, value.text(), "replace", arguments);
  if (name == "int") {
    int64_t number = 0;
    std::string text = value.isNumber() ? "" : value.text();
    if (value.isNumber())
      return Value(value.isFloat() ? int64_t(value.number()) : value.integer());
    std::from_chars(text.data(), text.data() + text.size(), number);
    return Value(number);
  }
  if (name == "safe" || name == "e" || name == "escape")
    return value;
  if (name == "selectattr" || name == "rejectattr" || name == "select" ||
      name == "reject" || name == "map")
    return select(expression, name, value, arguments);
  return wrong(expression.place, "the filter '" + name + "' of " +
                                     value.kind() + " is not supported");
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

StatusOr<bool> Renderer::test(const Expression &expression,
                              const std::string &name, const Value &value,
                              const Arguments &arguments) {
  const Value *other = arguments.find(0, "");
  if (name == "defined" || name == "undefined")
    return value.isUndefined() == (name == "undefined");
  if (name == "none")
    return value.isNone();
  if (name == "string")
    return value.isString();
  if (name == "mapping")
    return value.isDict();
  if (name == "sequence" || name == "iterable")
    return value.isList() || value.isString() || value.isDict();
  if (name == "number")
    return value.isNumber();
  if (name == "integer")
    return value.isInt();
  if (name == "float")
    return value.isFloat();
  if (name == "boolean")
    return value.isBool();
  if (name == "true" || name == "false")
    return value.isBool() && value.isTrue() == (name == "true");
  if (name == "callable")
    return value.isMacro();
  if ((name == "even" || name == "odd") && value.isInt())
    return (value.integer() % 2 == 0) == (name == "even");
  if (other && (name == "equalto" || name == "eq" || name == "sameas"))
    return value.equals(*other);
  if (other && name == "ne")
    return !value.equals(*other);
  if (other && name == "divisibleby" && other->isInt() && value.isInt() &&
      other->integer() > 0)
    return value.integer() % other->integer() == 0;
  if (other && name == "in") {
    HOCKET_ASSIGN_OR_RETURN(Value found, contains(expression, value, *other));
    return found.isTrue();
  }
  return wrong(expression.place, "the test '" + name + "' is not supported");
}
