//===- Expressions.cpp - The values of a template -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/Render.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::chat;

StatusOr<Value> Renderer::lookUp(const Expression &expression) const {
  if (const Value *found = variable(expression.text))
    return *found;
  return Value(Undefined{expression.text});
}

StatusOr<Value> Renderer::evaluate(const Expression &expression) {
  using Kind = Expression::Kind;
  HOCKET_RETURN_IF_ERROR(countStep(expression.place));
  switch (expression.kind) {
  case Kind::Literal:
    return expression.value;
  case Kind::Name:
    return lookUp(expression);
  case Kind::Attribute:
    return attributeOf(expression);
  case Kind::Item:
    return itemOf(expression);
  case Kind::Slice:
    return sliceOf(expression);
  case Kind::Call:
  case Kind::Filter: {
    HOCKET_ASSIGN_OR_RETURN(Value value, applied(expression));
    if (value.isString())
      HOCKET_RETURN_IF_ERROR(
          countBytes(expression.place, value.string().size()));
    return value;
  }
  case Kind::Test: {
    HOCKET_ASSIGN_OR_RETURN(Value value, evaluate(*expression.parts[0]));
    HOCKET_ASSIGN_OR_RETURN(Arguments arguments, argumentsOf(expression));
    HOCKET_ASSIGN_OR_RETURN(
        bool holds, test(expression, expression.text, value, arguments));
    return Value(holds);
  }
  case Kind::Unary:
    return unary(expression);
  case Kind::Binary:
    return binary(expression);
  case Kind::Condition: {
    HOCKET_ASSIGN_OR_RETURN(Value condition, evaluate(*expression.parts[0]));
    const auto &chosen = expression.parts[condition.isTrue() ? 1 : 2];
    if (!chosen)
      return Value(Undefined{});
    return evaluate(*chosen);
  }
  case Kind::List: {
    Items items;
    for (const auto &part : expression.parts) {
      HOCKET_ASSIGN_OR_RETURN(Value item, evaluate(*part));
      items.push_back(std::move(item));
    }
    return Value::list(std::move(items));
  }
  case Kind::Dict: {
    Members members;
    for (size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
      HOCKET_ASSIGN_OR_RETURN(Value key, evaluate(*expression.parts[i]));
      HOCKET_ASSIGN_OR_RETURN(Value value, evaluate(*expression.parts[i + 1]));
      if (!key.isString())
        return wrong(expression.place, "expected strings as keys of a dict");
      members.emplace_back(key.string(), std::move(value));
    }
    return Value::dict(std::move(members));
  }
  }
  return Value();
}

/// A call or a filter.
StatusOr<Value> Renderer::applied(const Expression &expression) {
  if (expression.kind == Expression::Kind::Call)
    return call(expression);
  HOCKET_ASSIGN_OR_RETURN(Value value, evaluate(*expression.parts[0]));
  HOCKET_ASSIGN_OR_RETURN(Arguments arguments, argumentsOf(expression));
  return filter(expression, expression.text, value, arguments);
}

//===----------------------------------------------------------------------===//
// Parts of values
//===----------------------------------------------------------------------===//

StatusOr<Value> Renderer::attributeOf(const Expression &expression) {
  HOCKET_ASSIGN_OR_RETURN(Value object, evaluate(*expression.parts[0]));
  if (object.isUndefined())
    return wrong(expression.place, "'" + object.undefinedName() +
                                       "' is not defined, and has no '" +
                                       expression.text + "'");
  if (const Value *found = object.find(expression.text))
    return *found;
  return Value(Undefined{expression.text});
}

StatusOr<Value> Renderer::itemOf(const Expression &expression) {
  HOCKET_ASSIGN_OR_RETURN(Value object, evaluate(*expression.parts[0]));
  HOCKET_ASSIGN_OR_RETURN(Value index, evaluate(*expression.parts[1]));
  if (object.isUndefined())
    return wrong(expression.place,
                 "'" + object.undefinedName() + "' is not defined");
  if (index.isString()) {
    const Value *found = object.find(index.string());
    return found ? *found : Value(Undefined{index.string()});
  }
  bool isText = object.isString();
  if (!index.isInt() || (!isText && !object.isList()))
    return Value(Undefined{"item"});
  size_t size =
      isText ? characterCount(object.string()) : object.items().size();
  int64_t at = index.integer() + (index.integer() < 0 ? int64_t(size) : 0);
  if (at < 0 || at >= int64_t(size))
    return Value(Undefined{"item " + std::to_string(index.integer())});
  if (!isText)
    return object.items()[size_t(at)];
  size_t begin = characterAt(object.string(), size_t(at));
  size_t end = characterAt(object.string(), size_t(at) + 1);
  return Value(object.string().substr(begin, end - begin));
}

/// The indices that a slice of `size` items takes, as Python has it.
static std::vector<size_t> sliceIndices(int64_t size, const Value *first,
                                        const Value *last, int64_t step) {
  auto bound = [&](const Value *value, int64_t absent) {
    if (!value)
      return absent;
    int64_t at = value->integer();
    if (at < 0)
      at = std::max(at + size, step < 0 ? int64_t(-1) : int64_t(0));
    return std::min(at, step < 0 ? size - 1 : size);
  };
  int64_t begin = bound(first, step < 0 ? size - 1 : 0);
  int64_t end = bound(last, step < 0 ? -1 : size);
  std::vector<size_t> indices;
  for (int64_t i = begin; step < 0 ? i > end : i < end; i += step)
    indices.push_back(size_t(i));
  return indices;
}

StatusOr<Value> Renderer::sliceOf(const Expression &expression) {
  HOCKET_ASSIGN_OR_RETURN(Value object, evaluate(*expression.parts[0]));
  Value bounds[3];
  const Value *given[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    if (!expression.parts[i + 1])
      continue;
    HOCKET_ASSIGN_OR_RETURN(bounds[i], evaluate(*expression.parts[i + 1]));
    if (bounds[i].isNone())
      continue;
    if (!bounds[i].isInt())
      return wrong(expression.place, "expected whole numbers in a slice");
    given[i] = &bounds[i];
  }
  int64_t step = given[2] ? given[2]->integer() : 1;
  constexpr int64_t most = int64_t(1) << 40;
  if (step == 0 || step > most || step < -most)
    return wrong(expression.place, "a slice cannot have this step");
  if (object.isList()) {
    Items items;
    for (size_t i :
         sliceIndices(int64_t(object.items().size()), given[0], given[1], step))
      items.push_back(object.items()[i]);
    return Value::list(std::move(items));
  }
  if (!object.isString())
    return wrong(expression.place, "cannot slice " + object.kind());
  const std::string &text = object.string();
  std::string out;
  for (size_t i :
       sliceIndices(int64_t(characterCount(text)), given[0], given[1], step)) {
    size_t begin = characterAt(text, i);
    out += text.substr(begin, characterAt(text, i + 1) - begin);
    HOCKET_RETURN_IF_ERROR(countStep(expression.place));
  }
  return Value(std::move(out));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

StatusOr<Value> Renderer::unary(const Expression &expression) {
  HOCKET_ASSIGN_OR_RETURN(Value value, evaluate(*expression.parts[0]));
  if (expression.text == "not")
    return Value(!value.isTrue());
  if (!value.isNumber())
    return wrong(expression.place, "expected a number after '" +
                                       expression.text + "', found " +
                                       value.kind());
  if (expression.text == "+")
    return value;
  return value.isFloat() ? Value(-value.number())
                         : Value(int64_t(0 - uint64_t(value.integer())));
}

StatusOr<Value> Renderer::contains(const Expression &expression,
                                   const Value &item, const Value &container) {
  if (container.isString() && item.isString())
    return Value(container.string().find(item.string()) != std::string::npos);
  if (container.isList())
    return Value(
        std::any_of(container.items().begin(), container.items().end(),
                    [&](const Value &other) { return other.equals(item); }));
  if (container.isDict() || container.isNamespace())
    return Value(item.isString() && container.find(item.string()) != nullptr);
  if (container.isUndefined())
    return Value(false);
  return wrong(expression.place,
               "cannot look for " + item.kind() + " in " + container.kind());
}

StatusOr<Value> Renderer::add(const Expression &expression, const Value &left,
                              const Value &right) {
  if (left.isString() && right.isString()) {
    HOCKET_RETURN_IF_ERROR(countBytes(
        expression.place, left.string().size() + right.string().size()));
    return Value(left.string() + right.string());
  }
  if (left.isList() && right.isList()) {
    Items items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    HOCKET_RETURN_IF_ERROR(
        countBytes(expression.place, items.size() * sizeof(Value)));
    return Value::list(std::move(items));
  }
  return arithmetic(expression, left, right);
}

/// `a` op `b` where 64 bits hold it.
static bool wholeResult(const std::string &op, int64_t a, int64_t b,
                        int64_t &result) {
  if (op == "+")
    return !__builtin_add_overflow(a, b, &result);
  if (op == "-")
    return !__builtin_sub_overflow(a, b, &result);
  if (op == "*")
    return !__builtin_mul_overflow(a, b, &result);
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  int64_t quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
  result = op == "//" ? quotient : a - quotient * b;
  return op != "/";
}

StatusOr<Value> Renderer::arithmetic(const Expression &expression,
                                     const Value &left, const Value &right) {
  const std::string &op = expression.text;
  if (!left.isNumber() || !right.isNumber())
    return wrong(expression.place, "cannot compute " + left.kind() + " " + op +
                                       " " + right.kind());
  int64_t whole = 0;
  if (op != "/" && !left.isFloat() && !right.isFloat()) {
    if (wholeResult(op, left.integer(), right.integer(), whole))
      return Value(whole);
    return wrong(expression.place,
                 "the result of '" + op + "' is no number that 64 bits hold");
  }
  double a = left.number(), b = right.number();
  if ((op == "/" || op == "//" || op == "%") && b == 0)
    return wrong(expression.place, "division by zero");
  if (op == "+")
    return Value(a + b);
  if (op == "-")
    return Value(a - b);
  if (op == "*")
    return Value(a * b);
  if (op == "/")
    return Value(a / b);
  return Value(op == "//" ? std::floor(a / b) : a - std::floor(a / b) * b);
}

StatusOr<Value> Renderer::binary(const Expression &expression) {
  const std::string &op = expression.text;
  HOCKET_ASSIGN_OR_RETURN(Value left, evaluate(*expression.parts[0]));
  if ((op == "and" && !left.isTrue()) || (op == "or" && left.isTrue()))
    return left;
  HOCKET_ASSIGN_OR_RETURN(Value right, evaluate(*expression.parts[1]));
  if (op == "and" || op == "or")
    return right;
  if (op == "==" || op == "!=")
    return Value(left.equals(right) == (op == "=="));
  if (op == "in")
    return contains(expression, left, right);
  if (op == "~") {
    std::string text = left.text() + right.text();
    HOCKET_RETURN_IF_ERROR(countBytes(expression.place, text.size()));
    return Value(std::move(text));
  }
  if (op == "+")
    return add(expression, left, right);
  if (op != "<" && op != ">" && op != "<=" && op != ">=")
    return arithmetic(expression, left, right);
  int order = 0;
  if (left.isString() && right.isString())
    order = left.string().compare(right.string());
  else if (left.isNumber() && right.isNumber())
    order =
        left.number() < right.number() ? -1 : left.number() > right.number();
  else
    return wrong(expression.place,
                 "cannot compare " + left.kind() + " with " + right.kind());
  return Value(op == "<"    ? order < 0
               : op == ">"  ? order > 0
               : op == "<=" ? order <= 0
                            : order >= 0);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

StatusOr<Arguments> Renderer::argumentsOf(const Expression &expression) {
  Arguments arguments;
  size_t firstName = expression.parts.size() - expression.names.size();
  for (size_t i = 1; i < expression.parts.size(); ++i) {
    HOCKET_ASSIGN_OR_RETURN(Value value, evaluate(*expression.parts[i]));
    if (i < firstName)
      arguments.byPosition.push_back(std::move(value));
    else
      arguments.byName.emplace_back(expression.names[i - firstName],
                                    std::move(value));
  }
  return arguments;
}

StatusOr<Value> Renderer::call(const Expression &expression) {
  const Expression &callee = *expression.parts[0];
  HOCKET_ASSIGN_OR_RETURN(Arguments arguments, argumentsOf(expression));
  if (callee.kind == Expression::Kind::Attribute) {
    HOCKET_ASSIGN_OR_RETURN(Value object, evaluate(*callee.parts[0]));
    const Value *member = object.find(callee.text);
    if (!member || !member->isMacro())
      return callMethod(callee, object, callee.text, arguments);
    return callMacro(*member->macro().definition, arguments, expression.place);
  }
  if (callee.kind != Expression::Kind::Name)
    return wrong(expression.place, "only a name can be called");
  const Value *found = variable(callee.text);
  if (found && found->isMacro())
    return callMacro(*found->macro().definition, arguments, expression.place);
  if (found)
    return wrong(expression.place, "'" + callee.text + "' is " + found->kind() +
                                       ", which cannot be "
                                       "called");
  return callFunction(callee, callee.text, arguments);
}
