//===- Value.h - What a template computes with ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHAT_VALUE_H
#define HOCKET_RUNTIME_CHAT_VALUE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hocket::chat {

class Value;
struct MacroValue;

using Items = std::vector<Value>;
/// In the order in which they were added.
using Members = std::vector<std::pair<std::string, Value>>;

/// A name that nothing gave a value: false, and the text "" where it is
/// printed.
struct Undefined {
  std::string name;
};

/// Python's values, as far as templates have them. Texts, lists and dicts are
/// shared; nothing changes one but a namespace.
class Value {
public:
  Value() : data(nullptr) {} ///< None.
  Value(Undefined value) : data(std::move(value)) {}
  Value(bool value) : data(value) {}
  Value(int64_t value) : data(value) {}
  Value(double value) : data(value) {}
  Value(std::string value)
      : data(std::make_shared<const std::string>(std::move(value))) {}
  Value(const char *value) : Value(std::string(value)) {}
  static Value list(Items items);
  static Value dict(Members members);
  static Value nameSpace(Members members);
  static Value macro(std::shared_ptr<const MacroValue> macro);

  bool isUndefined() const { return std::holds_alternative<Undefined>(data); }
  bool isNone() const { return std::holds_alternative<std::nullptr_t>(data); }
  bool isBool() const { return std::holds_alternative<bool>(data); }
  bool isInt() const { return std::holds_alternative<int64_t>(data); }
  bool isFloat() const { return std::holds_alternative<double>(data); }
  bool isNumber() const { return isInt() || isFloat() || isBool(); }
  bool isString() const { return std::holds_alternative<TextPointer>(data); }
  bool isList() const { return std::holds_alternative<ListPointer>(data); }
  bool isDict() const { return std::holds_alternative<DictPointer>(data); }
  bool isNamespace() const { return std::holds_alternative<Space>(data); }
  bool isMacro() const { return std::holds_alternative<MacroPointer>(data); }

  /// Each only where the value is that.
  const std::string &undefinedName() const {
    return std::get<Undefined>(data).name;
  }
  const std::string &string() const { return *std::get<TextPointer>(data); }
  const Items &items() const { return *std::get<ListPointer>(data); }
  const Members &members() const;
  Members &spaceMembers() const { return *std::get<Space>(data).members; }
  const MacroValue &macro() const { return *std::get<MacroPointer>(data); }
  int64_t integer() const; ///< Of a bool or an int.
  double number() const;   ///< Of any number.

  /// The member of a dict or namespace; nullptr if there is none.
  const Value *find(std::string_view key) const;

  bool isTrue() const;
  bool equals(const Value &other) const;

  /// "a string", "None" and so on.
  std::string kind() const;

  /// Python's str(). Of lists and dicts its repr(), strings in single quotes.
  std::string text() const;

  /// json.dumps(value, ensure_ascii=False), as transformers has it; `indent`
  /// columns a level, or none below 0.
  std::string json(int indent = -1) const;

private:
  using TextPointer = std::shared_ptr<const std::string>;
  using ListPointer = std::shared_ptr<const Items>;
  using DictPointer = std::shared_ptr<const Members>;
  using MacroPointer = std::shared_ptr<const MacroValue>;
  struct Space {
    std::shared_ptr<Members> members;
  };
  std::string repr() const;
  void writeJson(std::string &out, int indent, int level) const;

  std::variant<std::nullptr_t, Undefined, bool, int64_t, double, TextPointer,
               ListPointer, DictPointer, Space, MacroPointer>
      data;
};

/// How many characters UTF-8 text has, and the byte at which one begins.
size_t characterCount(std::string_view text);
size_t characterAt(std::string_view text, size_t index);

} // namespace hocket::chat

#endif // HOCKET_RUNTIME_CHAT_VALUE_H
