//===- Syntax.h - A template as a tree --------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of Jinja that published chat templates use. Places are lines and
/// columns of the template, from 1, columns in bytes.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHAT_SYNTAX_H
#define HOCKET_RUNTIME_CHAT_SYNTAX_H

#include "base/Status.h"
#include "runtime/chat/Value.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::chat {

struct Place {
  size_t line = 1, column = 1;
};

/// A piece of a template: text, or a word of what stands in braces.
struct Token {
  enum class Kind {
    Text,        ///< To be printed as it is.
    BeginOutput, ///< {{
    BeginBlock,  ///< {%
    End,         ///< }} or %}
    Name,
    String,
    Integer,
    Float,
    Operator, ///< Anything else, such as "==".
    EndOfTemplate,
  };
  Kind kind = Kind::EndOfTemplate;
  std::string text;
  Place place;
};

/// Cuts a template into tokens, by Jinja's rules for white space with
/// trim_blocks and lstrip_blocks, as transformers sets them. InvalidArgument,
/// after `file`:line:column.
StatusOr<std::vector<Token>> readTokens(std::string_view source,
                                        const std::string &file);

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    Literal,
    Name,      ///< text
    Attribute, ///< parts[0].text
    Item,      ///< parts[0][parts[1]]
    Slice,     ///< parts[0][parts[1]:parts[2]:parts[3]], each may be null
    Call,      ///< parts[0](the rest, with `names`)
    Filter,    ///< parts[0] | text(the rest, with `names`)
    Test,      ///< parts[0] is text(the rest)
    Unary,     ///< text parts[0]
    Binary,    ///< parts[0] text parts[1]
    Condition, ///< parts[1] if parts[0] else parts[2], which may be null
    List,
    Dict, ///< parts: key, value, key, value, ...
  };
  Kind kind = Kind::Literal;
  Place place;
  Value value;
  std::string text;
  std::vector<ExpressionPointer> parts;
  /// Of the last arguments, those that are named.
  std::vector<std::string> names;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Statement {
  enum class Kind {
    Text,       ///< text
    Output,     ///< expressions[0]
    If,         ///< expressions[i] has bodies[i]; one body more is `else`
    For,        ///< of names in expressions[0], if expressions[1]
    Set,        ///< names[0], or names[0].names[1], = expressions[0] or a body
    Macro,      ///< names[0](the rest), whose last defaults are expressions
    Generation, ///< what is in it is learned
    Break,
    Continue,
  };
  Kind kind = Kind::Text;
  Place place;
  std::string text;
  std::vector<std::string> names;
  std::vector<ExpressionPointer> expressions;
  std::vector<Body> bodies;
};

/// A macro, and how its arguments are called.
struct MacroValue {
  const Statement *definition = nullptr;
};

/// Reads a whole template. InvalidArgument, after `file`:line:column, for what
/// is no Jinja, and for what of Jinja is not supported, by its name.
StatusOr<Body> parseTemplate(std::string_view source, const std::string &file);

} // namespace hocket::chat

#endif // HOCKET_RUNTIME_CHAT_SYNTAX_H
