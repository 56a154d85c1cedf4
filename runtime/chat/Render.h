//===- Render.h - What a template prints ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHAT_RENDER_H
#define HOCKET_RUNTIME_CHAT_RENDER_H

#include "runtime/chat/Syntax.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::chat {

/// Bytes [begin, end) of a text.
using ByteRange = std::pair<size_t, size_t>;

struct Rendered {
  std::string text;
  std::vector<ByteRange> generated; ///< What {% generation %} blocks printed.
};

/// Arguments of a filter, a test, a method or a function.
struct Arguments {
  Items byPosition;
  Members byName;

  size_t size() const { return byPosition.size() + byName.size(); }
  /// The argument at `index`, or that of the name; nullptr if there is none.
  const Value *find(size_t index, std::string_view name) const;
};

/// Runs a template once. What a hostile template may take is bounded: steps,
/// levels of macros, and bytes that are printed or made.
class Renderer {
public:
  Renderer(const std::string &file, Members globals);

  /// InvalidArgument, after `file`:line:column, where the template stops: by
  /// raise_exception, or by what it does with a value that is not of its kind.
  StatusOr<Rendered> run(const Body &body);

private:
  enum class Flow { Next, Break, Continue };

  // Statements (Render.cpp).
  StatusOr<Flow> runBody(const Body &body);
  StatusOr<Flow> runStatement(const Statement &statement);
  StatusOr<Flow> runFor(const Statement &statement);
  Status runSet(const Statement &statement);
  Status bindTargets(const Statement &statement, const Value &item);
  StatusOr<Value> callMacro(const Statement &macro, const Arguments &arguments,
                            const Place &place);
  Status print(std::string_view text, const Place &place);
  /// What a body prints, which is not printed.
  StatusOr<std::string> textOfBody(const Body &body, const Place &place);

  // Expressions (Expressions.cpp).
  StatusOr<Value> evaluate(const Expression &expression);
  StatusOr<Value> applied(const Expression &expression);
  StatusOr<Value> attributeOf(const Expression &expression);
  StatusOr<Value> itemOf(const Expression &expression);
  StatusOr<Value> sliceOf(const Expression &expression);
  StatusOr<Value> unary(const Expression &expression);
  StatusOr<Value> binary(const Expression &expression);
  StatusOr<Value> arithmetic(const Expression &expression, const Value &left,
                             const Value &right);
  StatusOr<Value> add(const Expression &expression, const Value &left,
                      const Value &right);
  StatusOr<Value> contains(const Expression &expression, const Value &item,
                           const Value &container);
  StatusOr<Value> call(const Expression &expression);
  StatusOr<Arguments> argumentsOf(const Expression &expression);
  StatusOr<Value> lookUp(const Expression &expression) const;

  // What has a name (Filters.cpp).
  StatusOr<Value> callFunction(const Expression &expression,
                               const std::string &name,
                               const Arguments &arguments);
  StatusOr<Value> callMethod(const Expression &expression, const Value &object,
                             const std::string &name,
                             const Arguments &arguments);
  StatusOr<Value> stringMethod(const Expression &expression,
                               const std::string &text, const std::string &name,
                               const Arguments &arguments);
  StatusOr<Value> filter(const Expression &expression, const std::string &name,
                         const Value &value, const Arguments &arguments);
  StatusOr<Value> select(const Expression &expression, const std::string &name,
                         const Value &value, const Arguments &arguments);
  StatusOr<Value> join(const Expression &expression, const Value &value,
                       const Arguments &arguments);
  StatusOr<bool> test(const Expression &expression, const std::string &name,
                      const Value &value, const Arguments &arguments);
  StatusOr<Items> itemsOf(const Expression &expression,
                          const Value &value) const;

  Status wrong(const Place &place, const std::string &message) const;
  Status countStep(const Place &place);
  /// Fails where a text that is made grows beyond all use.
  Status checkSize(const Place &place, size_t bytes) const;
  /// The same, and where all texts together do.
  Status countBytes(const Place &place, size_t bytes);
  const Value *variable(std::string_view name) const;
  void assign(const std::string &name, Value value);

  const std::string &file;
  std::vector<Members> scopes; ///< The innermost last.
  Rendered out;
  uint64_t steps = 0, made = 0;
  int level = 0;
};

} // namespace hocket::chat

#endif // HOCKET_RUNTIME_CHAT_RENDER_H
