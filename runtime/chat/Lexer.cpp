//===- Lexer.cpp - A template as tokens -----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/Syntax.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::chat;

static bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' ||
         c == '\v';
}
static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool beginsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

namespace {
class Lexer {
public:
  Lexer(std::string_view source, const std::string &file)
      : source(source), file(file) {
    // As Jinja does without keep_trailing_newline.
    if (this->source.ends_with('\n'))
      this->source.remove_suffix(1);
  }

  StatusOr<std::vector<Token>> run();

private:
  Status wrong(size_t offset, const std::string &expected) const;
  Place placeOf(size_t offset) const;
  void add(Token::Kind kind, std::string text, size_t offset) {
    tokens.push_back({kind, std::move(text), placeOf(offset)});
  }

  void addText(size_t begin, size_t end);
  Status readComment();
  Status readTag(bool isBlock);
  /// After "{% raw %}".
  Status readRaw();
  Status readWord();
  Status readString();
  void readNumber();
  /// Whether a tag ends here; skips it and the white space that goes with it.
  bool takeEnd(bool isBlock);
  void trimAfter(bool isBlock, bool stripsAll, bool keepsLine);

  std::string_view source;
  const std::string &file;
  std::vector<Token> tokens;
  size_t at = 0;
  size_t textBegin = 0; ///< Of text that is not yet a token.
  mutable size_t reached = 0, lineBegin = 0, reachedLine = 1;
};
} // namespace

/// Offsets mostly grow: lines are counted on from the last one.
Place Lexer::placeOf(size_t offset) const {
  if (offset < reached)
    reached = lineBegin = 0, reachedLine = 1;
  for (; reached < offset; ++reached)
    if (source[reached] == '\n') {
      ++reachedLine;
      lineBegin = reached + 1;
    }
  return {reachedLine, offset - lineBegin + 1};
}

Status Lexer::wrong(size_t offset, const std::string &expected) const {
  Place place = placeOf(offset);
  return invalidArgument(file + ":" + std::to_string(place.line) + ":" +
                         std::to_string(place.column) + ": expected " +
                         expected);
}

/// Text up to the tag at `end`, without what the tag takes of it.
void Lexer::addText(size_t begin, size_t end) {
  bool isOutput = source.substr(end).starts_with("{{");
  char sign = end + 2 < source.size() ? source[end + 2] : ' ';
  size_t last = end;
  if (end < source.size() && sign == '-') {
    while (last > begin && isSpace(source[last - 1]))
      --last;
  } else if (end < source.size() && !isOutput && sign != '+') {
    size_t line = end; // lstrip_blocks
    while (line > begin &&
           (source[line - 1] == ' ' || source[line - 1] == '\t'))
      --line;
    if (line == 0 || source[line - 1] == '\n')
      last = line;
  }
  if (last > begin)
    add(Token::Kind::Text, std::string(source.substr(begin, last - begin)),
        begin);
}

void Lexer::trimAfter(bool isBlock, bool stripsAll, bool keepsLine) {
  while (stripsAll && at < source.size() && isSpace(source[at]))
    ++at;
  if (isBlock && !stripsAll && !keepsLine && at < source.size() &&
      source[at] == '\n') // trim_blocks
    ++at;
  textBegin = at;
}

Status Lexer::readComment() {
  size_t end = source.find("#}", at);
  if (end == std::string_view::npos)
    return wrong(at, "'#}', which ends this comment");
  char sign = source[end - 1];
  at = end + 2;
  trimAfter(/*isBlock=*/true, sign == '-', sign == '+');
  return okStatus();
}

bool Lexer::takeEnd(bool isBlock) {
  std::string_view end = isBlock ? "%}" : "}}";
  size_t begin = at;
  char sign = source[at];
  bool isSigned = sign == '-' || (sign == '+' && isBlock);
  if (isSigned)
    ++begin;
  if (!source.substr(begin).starts_with(end))
    return false;
  add(Token::Kind::End, std::string(end), at);
  at = begin + 2;
  trimAfter(isBlock, isSigned && sign == '-', isSigned && sign == '+');
  return true;
}

Status Lexer::readString() {
  size_t begin = at;
  char quote = source[at++];
  std::string text;
  for (; at < source.size() && source[at] != quote; ++at) {
    if (source[at] != '\\' || at + 1 == source.size()) {
      text += source[at];
      continue;
    }
    char c = source[++at];
    switch (c) {
    case 'n':
      text += '\n';
      break;
    case 't':
      text += '\t';
      break;
    case 'r':
      text += '\r';
      break;
    case '\\':
    case '\'':
    case '"':
      text += c;
      break;
    case 'u':
    case 'x':
    case 'N':
    case 'U':
      return wrong(at - 1, "the character itself in place of its escape");
    default: // As Python keeps what it does not know.
      text += '\\';
      text += c;
    }
  }
  if (at == source.size())
    return wrong(begin, "a quote that ends this string");
  ++at;
  add(Token::Kind::String, std::move(text), begin);
  return okStatus();
}

void Lexer::readNumber() {
  size_t begin = at;
  while (at < source.size() && (isDigit(source[at]) || source[at] == '_'))
    ++at;
  bool isFloat =
      at + 1 < source.size() && source[at] == '.' && isDigit(source[at + 1]);
  if (isFloat)
    for (++at; at < source.size() && isDigit(source[at]);)
      ++at;
  std::string text(source.substr(begin, at - begin));
  std::erase(text, '_');
  add(isFloat ? Token::Kind::Float : Token::Kind::Integer, std::move(text),
      begin);
}

Status Lexer::readWord() {
  char c = source[at];
  size_t begin = at;
  if (c == '"' || c == '\'')
    return readString();
  if (isDigit(c)) {
    readNumber();
    return okStatus();
  }
  if (beginsName(c)) {
    while (at < source.size() &&
           (beginsName(source[at]) || isDigit(source[at])))
      ++at;
    add(Token::Kind::Name, std::string(source.substr(begin, at - begin)),
        begin);
    return okStatus();
  }
  for (std::string_view word : {"==", "!=", "<=", ">=", "//", "**"})
    if (source.substr(at).starts_with(word)) {
      at += 2;
      add(Token::Kind::Operator, std::string(word), begin);
      return okStatus();
    }
  constexpr std::string_view single = "+-*/%<>=()[]{},.:|~";
  if (single.find(c) == std::string_view::npos)
    return wrong(at, "a name, a string, a number or an operator");
  ++at;
  add(Token::Kind::Operator, std::string(1, c), begin);
  return okStatus();
}

Status Lexer::readRaw() {
  size_t begin = at;
  for (size_t tag = source.find("{%", at); tag != std::string_view::npos;
       tag = source.find("{%", tag + 2)) {
    size_t word = tag + 2;
    while (word < source.size() && (isSpace(source[word]) ||
                                    source[word] == '-' || source[word] == '+'))
      ++word;
    if (!source.substr(word).starts_with("endraw"))
      continue;
    addText(begin, tag);
    at = source.find("%}", word);
    if (at == std::string_view::npos)
      break;
    at += 2;
    trimAfter(true, source[at - 3] == '-', source[at - 3] == '+');
    return okStatus();
  }
  return wrong(begin, "{% endraw %}");
}

Status Lexer::readTag(bool isBlock) {
  size_t begin = at, first = tokens.size();
  add(isBlock ? Token::Kind::BeginBlock : Token::Kind::BeginOutput, "", at);
  at += 2;
  if (at < source.size() && (source[at] == '-' || source[at] == '+'))
    ++at;
  int open = 0; // Brackets, in which }} ends no tag.
  while (true) {
    while (at < source.size() && isSpace(source[at]))
      ++at;
    if (at == source.size())
      return wrong(begin, isBlock ? "'%}', which ends this block"
                                  : "'}}', which ends this output");
    if (open == 0 && takeEnd(isBlock))
      break;
    HOCKET_RETURN_IF_ERROR(readWord());
    const Token &last = tokens.back();
    if (last.kind == Token::Kind::Operator) {
      open += last.text == "{" || last.text == "[" || last.text == "(";
      open -= last.text == "}" || last.text == "]" || last.text == ")";
      open = std::max(open, 0);
    }
  }
  bool isRaw =
      isBlock && tokens.size() == first + 3 && tokens[first + 1].text == "raw";
  if (!isRaw)
    return okStatus();
  tokens.resize(first);
  return readRaw();
}

StatusOr<std::vector<Token>> Lexer::run() {
  while (true) {
    size_t tag = at;
    for (; tag < source.size(); ++tag)
      if (source[tag] == '{' && tag + 1 < source.size() &&
          (source[tag + 1] == '{' || source[tag + 1] == '%' ||
           source[tag + 1] == '#'))
        break;
    addText(textBegin, tag);
    at = tag;
    if (tag == source.size())
      break;
    HOCKET_RETURN_IF_ERROR(source[tag + 1] == '#'
                               ? readComment()
                               : readTag(source[tag + 1] == '%'));
  }
  add(Token::Kind::EndOfTemplate, "", source.size());
  return std::move(tokens);
}

StatusOr<std::vector<Token>> chat::readTokens(std::string_view source,
                                              const std::string &file) {
  return Lexer(source, file).run();
}
