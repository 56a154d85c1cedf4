//===- Parser.cpp - A template as a tree ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/Syntax.h"

#include <charconv>
#include <initializer_list>
#include <optional>

using namespace hocket;
using namespace hocket::chat;
using Kind = Token::Kind;

/// Deeper than any template, and far from the end of the stack.
static constexpr int deepest = 100;

namespace {

/// What fails is noted once; who sees a null pointer gives up.
class Parser {
public:
  Parser(std::vector<Token> tokens, const std::string &file)
      : tokens(std::move(tokens)), file(file) {}

  StatusOr<Body> run();

private:
  const Token &peek() const { return tokens[at]; }
  const Token &take() { return tokens[at + 1 < tokens.size() ? at++ : at]; }
  bool isWord(std::string_view text) const {
    return (peek().kind == Kind::Operator || peek().kind == Kind::Name) &&
           peek().text == text;
  }
  bool accept(std::string_view text) {
    if (!isWord(text))
      return false;
    take();
    return true;
  }
  bool expect(std::string_view text);
  bool expectEnd();
  std::optional<std::string> expectName();
  void fail(const Place &place, const std::string &expected);
  bool failed() const { return !failure.ok(); }

  // Expressions, from the loosest to the tightest.
  ExpressionPointer parseExpression();
  ExpressionPointer parseOr();
  ExpressionPointer parseAnd();
  ExpressionPointer parseNot();
  ExpressionPointer parseComparison();
  ExpressionPointer parseTerms();
  ExpressionPointer parseConcatenation();
  ExpressionPointer parseFactors();
  ExpressionPointer parseUnary();
  ExpressionPointer parsePostfix();
  ExpressionPointer parsePrimary();
  ExpressionPointer parseSubscript(ExpressionPointer object);
  ExpressionPointer parseFilter(ExpressionPointer object);
  ExpressionPointer parseTest(ExpressionPointer object);
  ExpressionPointer parseBrackets(const Token &open);
  bool parseArguments(Expression &call);
  ExpressionPointer make(Expression::Kind kind, const Place &place,
                         std::string text = "");
  ExpressionPointer binary(const Token &op, ExpressionPointer left,
                           ExpressionPointer right);

  // Statements.
  Body parseBody(std::initializer_list<std::string_view> ends);
  std::unique_ptr<Statement> parseStatement();
  void parseIf(Statement &statement);
  void parseFor(Statement &statement);
  void parseSet(Statement &statement);
  void parseMacro(Statement &statement);

  std::vector<Token> tokens;
  const std::string &file;
  size_t at = 0;
  int depth = 0, loops = 0;
  Status failure;
};

/// Counts levels while it lives.
class Level {
public:
  explicit Level(int &depth) : depth(depth) { ++depth; }
  ~Level() { --depth; }

private:
  int &depth;
};

} // namespace

void Parser::fail(const Place &place, const std::string &expected) {
  if (failure.ok())
    failure = invalidArgument(file + ":" + std::to_string(place.line) + ":" +
                              std::to_string(place.column) + ": " + expected);
  at = tokens.size() - 1; // Nothing more is read.
}

bool Parser::expect(std::string_view text) {
  if (accept(text))
    return true;
  fail(peek().place,
       "expected '" + std::string(text) + "'" +
           (peek().text.empty() ? "" : ", found '" + peek().text + "'"));
  return false;
}

bool Parser::expectEnd() {
  if (peek().kind == Kind::End) {
    take();
    return true;
  }
  fail(peek().place,
       "expected the end of the block" +
           (peek().text.empty() ? "" : ", found '" + peek().text + "'"));
  return false;
}

std::optional<std::string> Parser::expectName() {
  if (peek().kind == Kind::Name)
    return take().text;
  fail(peek().place, "expected a name");
  return std::nullopt;
}

ExpressionPointer Parser::make(Expression::Kind kind, const Place &place,
                               std::string text) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->place = place;
  made->text = std::move(text);
  return made;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

ExpressionPointer Parser::binary(const Token &op, ExpressionPointer left,
                                 ExpressionPointer right) {
  auto made = make(Expression::Kind::Binary, op.place, op.text);
  made->parts.push_back(std::move(left));
  made->parts.push_back(std::move(right));
  return made;
}

ExpressionPointer Parser::parseExpression() {
  Level level(depth);
  if (depth > deepest) {
    fail(peek().place,
         "expressions nest deeper than " + std::to_string(deepest) + " levels");
    return make(Expression::Kind::Literal, {});
  }
  ExpressionPointer value = parseOr();
  while (isWord("if")) {
    auto made = make(Expression::Kind::Condition, take().place);
    made->parts.push_back(parseOr());
    made->parts.push_back(std::move(value));
    made->parts.push_back(accept("else") ? parseExpression() : nullptr);
    value = std::move(made);
  }
  return value;
}

ExpressionPointer Parser::parseOr() {
  ExpressionPointer left = parseAnd();
  while (isWord("or")) {
    Token op = take();
    left = binary(op, std::move(left), parseAnd());
  }
  return left;
}

ExpressionPointer Parser::parseAnd() {
  ExpressionPointer left = parseNot();
  while (isWord("and")) {
    Token op = take();
    left = binary(op, std::move(left), parseNot());
  }
  return left;
}

ExpressionPointer Parser::parseNot() {
  if (!isWord("not"))
    return parseComparison();
  Level level(depth);
  auto made = make(Expression::Kind::Unary, take().place, "not");
  made->parts.push_back(depth > deepest ? parseExpression() : parseNot());
  return made;
}

ExpressionPointer Parser::parseComparison() {
  ExpressionPointer left = parseTerms();
  while (true) {
    Token op = peek();
    if (isWord("not") && tokens[at + 1].text == "in") {
      take();
      take();
      auto made = make(Expression::Kind::Unary, op.place, "not");
      op.text = "in";
      made->parts.push_back(binary(op, std::move(left), parseTerms()));
      left = std::move(made);
      continue;
    }
    bool compares = false;
    for (const char *word : {"==", "!=", "<", ">", "<=", ">=", "in"})
      compares |= isWord(word);
    if (!compares)
      return left;
    take();
    left = binary(op, std::move(left), parseTerms());
  }
}

ExpressionPointer Parser::parseTerms() {
  ExpressionPointer left = parseConcatenation();
  while (isWord("+") || isWord("-")) {
    Token op = take();
    left = binary(op, std::move(left), parseConcatenation());
  }
  return left;
}

ExpressionPointer Parser::parseConcatenation() {
  ExpressionPointer left = parseFactors();
  while (isWord("~")) {
    Token op = take();
    left = binary(op, std::move(left), parseFactors());
  }
  return left;
}

ExpressionPointer Parser::parseFactors() {
  ExpressionPointer left = parseUnary();
  while (isWord("*") || isWord("/") || isWord("//") || isWord("%")) {
    Token op = take();
    left = binary(op, std::move(left), parseUnary());
  }
  if (isWord("**"))
    fail(peek().place, "the operator ** is not supported");
  return left;
}

ExpressionPointer Parser::parseUnary() {
  Level level(depth);
  if (depth > deepest)
    return parseExpression(); // Which says so.
  if (!isWord("-") && !isWord("+"))
    return parsePostfix();
  Token op = take();
  auto made = make(Expression::Kind::Unary, op.place, op.text);
  made->parts.push_back(parseUnary());
  return made;
}

bool Parser::parseArguments(Expression &call) {
  while (!failed() && !accept(")")) {
    bool isNamed = peek().kind == Kind::Name && tokens[at + 1].text == "=" &&
                   tokens[at + 1].kind == Kind::Operator;
    if (isNamed) {
      call.names.push_back(take().text);
      take();
    } else if (!call.names.empty()) {
      fail(peek().place, "expected arguments by position before named ones");
    }
    call.parts.push_back(parseExpression());
    if (!isWord(")") && !expect(","))
      return false;
  }
  return !failed();
}

/// Behind "[".
ExpressionPointer Parser::parseSubscript(ExpressionPointer object) {
  Place place = peek().place;
  std::vector<ExpressionPointer> bounds;
  bool isSlice = false;
  while (!failed() && !isWord("]") && bounds.size() < 4) {
    if (accept(":")) {
      if (!isSlice && bounds.empty())
        bounds.push_back(nullptr);
      isSlice = true;
      bool isEmpty = isWord(":") || isWord("]");
      bounds.push_back(isEmpty ? nullptr : parseExpression());
      continue;
    }
    if (!bounds.empty())
      break;
    bounds.push_back(parseExpression());
  }
  if (!expect("]") || (!isSlice && bounds.size() != 1)) {
    fail(place, "expected an index or a slice");
    return object;
  }
  auto made =
      make(isSlice ? Expression::Kind::Slice : Expression::Kind::Item, place);
  if (isSlice)
    bounds.resize(3);
  made->parts.push_back(std::move(object));
  for (ExpressionPointer &bound : bounds)
    made->parts.push_back(std::move(bound));
  return made;
}

/// Behind "|".
ExpressionPointer Parser::parseFilter(ExpressionPointer object) {
  auto made = make(Expression::Kind::Filter, peek().place);
  made->text = expectName().value_or("");
  made->parts.push_back(std::move(object));
  if (accept("("))
    parseArguments(*made);
  return made;
}

/// Behind "is".
ExpressionPointer Parser::parseTest(ExpressionPointer object) {
  Place place = peek().place;
  bool isNot = accept("not");
  auto made = make(Expression::Kind::Test, place);
  made->text = expectName().value_or("");
  made->parts.push_back(std::move(object));
  bool takesOne = peek().kind == Kind::String || peek().kind == Kind::Integer ||
                  (peek().kind == Kind::Name && !isWord("and") &&
                   !isWord("or") && !isWord("not") && !isWord("else") &&
                   !isWord("if") && !isWord("is") && !isWord("in"));
  if (accept("("))
    parseArguments(*made);
  else if (takesOne)
    made->parts.push_back(parsePrimary());
  if (!isNot)
    return made;
  auto negated = make(Expression::Kind::Unary, place, "not");
  negated->parts.push_back(std::move(made));
  return negated;
}

ExpressionPointer Parser::parsePostfix() {
  ExpressionPointer value = parsePrimary();
  while (!failed()) {
    Place place = peek().place;
    if (accept(".")) {
      auto made = make(Expression::Kind::Attribute, place);
      made->text = peek().kind == Kind::Integer ? take().text
                                                : expectName().value_or("");
      made->parts.push_back(std::move(value));
      value = std::move(made);
    } else if (accept("[")) {
      value = parseSubscript(std::move(value));
    } else if (accept("(")) {
      auto made = make(Expression::Kind::Call, place);
      made->parts.push_back(std::move(value));
      parseArguments(*made);
      value = std::move(made);
    } else if (accept("|")) {
      value = parseFilter(std::move(value));
    } else if (accept("is")) {
      value = parseTest(std::move(value));
    } else {
      break;
    }
  }
  return value;
}

/// A list, a dict, or what stands in parentheses.
ExpressionPointer Parser::parseBrackets(const Token &open) {
  bool isDict = open.text == "{", isList = open.text == "[";
  std::string close = isDict ? "}" : isList ? "]" : ")";
  auto made = make(isDict ? Expression::Kind::Dict : Expression::Kind::List,
                   open.place);
  bool hasComma = false;
  while (!failed() && !accept(close)) {
    made->parts.push_back(parseExpression());
    if (isDict) {
      expect(":");
      made->parts.push_back(parseExpression());
    }
    if (isWord(close))
      continue;
    hasComma = expect(",");
  }
  bool isGroup = !isDict && !isList && !hasComma && made->parts.size() == 1;
  return isGroup ? std::move(made->parts.front()) : std::move(made);
}

ExpressionPointer Parser::parsePrimary() {
  Token token = take();
  auto literal = make(Expression::Kind::Literal, token.place);
  switch (token.kind) {
  case Kind::String:
    while (peek().kind == Kind::String) // As Python joins them.
      token.text += take().text;
    literal->value = Value(token.text);
    return literal;
  case Kind::Integer: {
    int64_t number = 0;
    auto [end, error] = std::from_chars(
        token.text.data(), token.text.data() + token.text.size(), number);
    if (error != std::errc())
      fail(token.place, "expected a number that 64 bits hold");
    literal->value = Value(number);
    return literal;
  }
  case Kind::Float: {
    double number = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(),
                    number);
    literal->value = Value(number);
    return literal;
  }
  case Kind::Name:
    if (token.text == "true" || token.text == "True")
      literal->value = Value(true);
    else if (token.text == "false" || token.text == "False")
      literal->value = Value(false);
    else if (token.text != "none" && token.text != "None")
      return make(Expression::Kind::Name, token.place, token.text);
    return literal;
  case Kind::Operator:
    if (token.text == "(" || token.text == "[" || token.text == "{")
      return parseBrackets(token);
    break;
  default:
    break;
  }
  fail(token.place,
       "expected a value" +
           (token.text.empty() ? "" : ", found '" + token.text + "'"));
  return literal;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Parser::parseIf(Statement &statement) {
  statement.kind = Statement::Kind::If;
  statement.expressions.push_back(parseExpression());
  expectEnd();
  while (!failed()) {
    statement.bodies.push_back(parseBody({"elif", "else", "endif"}));
    if (accept("elif")) {
      statement.expressions.push_back(parseExpression());
      expectEnd();
    } else if (accept("else")) {
      expectEnd();
      statement.bodies.push_back(parseBody({"endif"}));
      break;
    } else {
      break;
    }
  }
  expect("endif");
}

void Parser::parseFor(Statement &statement) {
  statement.kind = Statement::Kind::For;
  do {
    statement.names.push_back(expectName().value_or(""));
  } while (!failed() && accept(","));
  expect("in");
  statement.expressions.push_back(parseOr());
  statement.expressions.push_back(accept("if") ? parseExpression() : nullptr);
  if (isWord("recursive"))
    fail(peek().place, "recursive loops are not supported");
  expectEnd();
  ++loops;
  statement.bodies.push_back(parseBody({"else", "endfor"}));
  --loops;
  if (accept("else")) {
    expectEnd();
    statement.bodies.push_back(parseBody({"endfor"}));
  }
  expect("endfor");
}

void Parser::parseSet(Statement &statement) {
  statement.kind = Statement::Kind::Set;
  statement.names.push_back(expectName().value_or(""));
  if (accept("."))
    statement.names.push_back(expectName().value_or(""));
  if (accept("=")) {
    statement.expressions.push_back(parseExpression());
    return;
  }
  expectEnd();
  statement.bodies.push_back(parseBody({"endset"}));
  expect("endset");
}

void Parser::parseMacro(Statement &statement) {
  statement.kind = Statement::Kind::Macro;
  statement.names.push_back(expectName().value_or(""));
  expect("(");
  while (!failed() && !accept(")")) {
    statement.names.push_back(expectName().value_or(""));
    if (accept("="))
      statement.expressions.push_back(parseExpression());
    else if (!statement.expressions.empty())
      fail(peek().place, "expected a default for this argument too");
    if (!isWord(")"))
      expect(",");
  }
  expectEnd();
  statement.bodies.push_back(parseBody({"endmacro"}));
  expect("endmacro");
}

/// Behind "{%".
std::unique_ptr<Statement> Parser::parseStatement() {
  auto statement = std::make_unique<Statement>();
  statement->place = peek().place;
  std::string word = expectName().value_or("");
  if (word == "if") {
    parseIf(*statement);
  } else if (word == "for") {
    parseFor(*statement);
  } else if (word == "set") {
    parseSet(*statement);
  } else if (word == "macro") {
    parseMacro(*statement);
  } else if (word == "generation") {
    statement->kind = Statement::Kind::Generation;
    expectEnd();
    statement->bodies.push_back(parseBody({"endgeneration"}));
    expect("endgeneration");
  } else if ((word == "break" || word == "continue") && loops > 0) {
    statement->kind =
        word == "break" ? Statement::Kind::Break : Statement::Kind::Continue;
  } else {
    fail(statement->place,
         "the block '" + word +
             "' is not supported here; templates have if, for, set, macro, "
             "generation, and break and continue in a loop");
  }
  expectEnd();
  return statement;
}

/// Up to a block that begins with one of `ends`, whose word is next then.
Body Parser::parseBody(std::initializer_list<std::string_view> ends) {
  Level level(depth);
  Body body;
  if (depth > deepest)
    fail(peek().place,
         "blocks nest deeper than " + std::to_string(deepest) + " levels");
  while (!failed()) {
    Token token = take();
    if (token.kind == Kind::EndOfTemplate) {
      if (ends.size() > 0)
        fail(token.place, "expected '" +
                              std::string(std::data(ends)[ends.size() - 1]) +
                              "' before the end of the template");
      break;
    }
    if (token.kind == Kind::Text) {
      auto text = std::make_unique<Statement>();
      text->place = token.place;
      text->text = std::move(token.text);
      body.push_back(std::move(text));
      continue;
    }
    if (token.kind == Kind::BeginOutput) {
      auto output = std::make_unique<Statement>();
      output->kind = Statement::Kind::Output;
      output->place = token.place;
      output->expressions.push_back(parseExpression());
      expectEnd();
      body.push_back(std::move(output));
      continue;
    }
    bool isEnd = false;
    for (std::string_view end : ends)
      isEnd |= isWord(end);
    if (isEnd)
      break;
    body.push_back(parseStatement());
  }
  return body;
}

StatusOr<Body> Parser::run() {
  Body body = parseBody({});
  HOCKET_RETURN_IF_ERROR(failure);
  return body;
}

StatusOr<Body> chat::parseTemplate(std::string_view source,
                                   const std::string &file) {
  HOCKET_ASSIGN_OR_RETURN(auto tokens, readTokens(source, file));
  return Parser(std::move(tokens), file).run();
}
