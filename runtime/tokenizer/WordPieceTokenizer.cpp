//===- WordPieceTokenizer.cpp - BERT's tokenizer --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/WordPieceTokenizer.h"

#include "runtime/tokenizer/VocabularyReader.h"
#include "runtime/tokenizer/text/Unicode.h"
#include "runtime/tokenizer/text/WordSplitter.h"

#include <algorithm>
#include <array>

using namespace hocket;
using namespace hocket::tokenizer;

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

WordPieceTokenizer::WordPieceTokenizer(WordPieceModel given)
    : model(std::move(given)) {
  size = model.vocabulary.size();
  for (const AddedToken &token : model.added.all())
    size = std::max(size, uint64_t(token.id) + 1);
  unknown = model.vocabulary.find(model.unknownText);
}

bool WordPieceTokenizer::buildTries() {
  std::vector<std::pair<std::string_view, int32_t>> begin, next;
  for (int32_t id = 0; size_t(id) < model.vocabulary.size(); ++id) {
    if (!model.vocabulary.has(id))
      continue;
    std::string_view text = model.vocabulary.text(id);
    if (!text.empty())
      begin.emplace_back(text, id);
    if (text.starts_with(model.continuation) &&
        text.size() > model.continuation.size())
      next.emplace_back(text.substr(model.continuation.size()), id);
  }
  return beginnings.build(std::move(begin)) &&
         continuations.build(std::move(next));
}

StatusOr<std::unique_ptr<Tokenizer>>
WordPieceTokenizer::create(WordPieceModel model) {
  std::unique_ptr<WordPieceTokenizer> made(
      new WordPieceTokenizer(std::move(model)));
  if (made->unknown == noToken)
    return invalidArgument("the vocabulary has no token " +
                           inQuotes(made->model.unknownText) +
                           ", which stands for unknown words");
  if (!made->buildTries())
    return invalidArgument("the vocabulary's tokens are too long to be a "
                           "WordPiece's");
  return std::unique_ptr<Tokenizer>(std::move(made));
}

//===----------------------------------------------------------------------===//
// Cleaning
//===----------------------------------------------------------------------===//

/// What BERT takes for a Chinese character; the sixth block begins where its
/// code has it begin.
static bool isIdeograph(uint32_t code) {
  struct Block {
    uint32_t first, last;
  };
  constexpr std::array<Block, 8> blocks = {{{0x4e00, 0x9fff},
                                            {0x3400, 0x4dbf},
                                            {0x20000, 0x2a6df},
                                            {0x2a700, 0x2b73f},
                                            {0x2b740, 0x2b81f},
                                            {0x2b920, 0x2ceaf},
                                            {0xf900, 0xfaff},
                                            {0x2f800, 0x2fa1f}}};
  return std::any_of(blocks.begin(), blocks.end(), [&](Block block) {
    return code >= block.first && code <= block.last;
  });
}

/// Calls `body` with each character of `text`.
template <typename Body>
static void eachCharacter(std::string_view text, const Body &body) {
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    Character character = characterAt(at, end);
    body(character.code);
    at += character.bytes;
  }
}

static void cleanCharacter(uint32_t code, const BertOptions &bert,
                           std::string &out) {
  uint8_t kind = characterKinds()[code];
  bool isPlainSpace = code == '\t' || code == '\n' || code == '\r';
  if (bert.cleanText) {
    if (code == 0 || code == 0xfffd || ((kind & Control) && !isPlainSpace))
      return;
    if (kind & Space)
      code = ' ';
  }
  bool isApart = bert.spaceIdeographs && isIdeograph(code);
  if (isApart)
    out += ' ';
  appendCharacter(code, out);
  if (isApart)
    out += ' ';
}

std::string WordPieceTokenizer::clean(std::string_view text) const {
  const BertOptions &bert = *model.bert;
  std::string cleaned;
  cleaned.reserve(text.size() + text.size() / 8);
  eachCharacter(text,
                [&](uint32_t code) { cleanCharacter(code, bert, cleaned); });
  if (bert.stripAccents) {
    std::string apart = normalize(cleaned, NormalForm::Nfd);
    cleaned.clear();
    eachCharacter(apart, [&](uint32_t code) {
      if (!(characterKinds()[code] & NonspacingMark))
        appendCharacter(code, cleaned);
    });
  }
  if (!bert.lowerCase)
    return cleaned;
  std::string lower;
  lower.reserve(cleaned.size());
  eachCharacter(cleaned, [&](uint32_t code) {
    if (code < 0x80)
      lower += code >= 'A' && code <= 'Z' ? char(code + 32) : char(code);
    else
      appendLowerCase(code, lower);
  });
  return lower;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static size_t countCharacters(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) {
    return (uint8_t(c) & 0xc0) != 0x80;
  }));
}

void WordPieceTokenizer::encodeWord(std::string_view word,
                                    std::vector<int32_t> &tokens) const {
  size_t before = tokens.size();
  bool isKnown = countCharacters(word) <= model.mostCharacters;
  const Trie *trie = &beginnings;
  while (isKnown && !word.empty()) {
    Trie::Match match = trie->longest(word);
    isKnown = match.size > 0;
    tokens.push_back(match.value);
    word.remove_prefix(match.size);
    trie = &continuations;
  }
  if (isKnown)
    return;
  tokens.resize(before);
  tokens.push_back(unknown);
}

/// Whether BERT cuts a word on both sides of a character.
static bool isApart(uint32_t code) {
  bool isAsciiSign = (code > 0x20 && code < '0') ||
                     (code > '9' && code < 'A') || (code > 'Z' && code < 'a') ||
                     (code > 'z' && code < 0x7f);
  return isAsciiSign || (characterKinds()[code] & Punctuation);
}

void WordPieceTokenizer::encodeWords(std::string_view text,
                                     std::vector<int32_t> &tokens) const {
  const char *begin = text.data(), *at = begin, *end = at + text.size();
  auto endWord = [&] {
    if (at > begin)
      encodeWord({begin, size_t(at - begin)}, tokens);
  };
  while (at < end) {
    Character character = characterAt(at, end);
    bool isSpace = characterKinds()[character.code] & Space;
    bool isSign = !isSpace && isApart(character.code);
    if (isSpace || isSign) {
      endWord();
      begin = at + character.bytes;
    }
    if (isSign)
      encodeWord({at, character.bytes}, tokens);
    at += character.bytes;
  }
  endWord();
}

void WordPieceTokenizer::encodeText(std::string_view text, bool withSpecial,
                                    std::vector<int32_t> &tokens) const {
  auto push = [&](int32_t token) { tokens.push_back(token); };
  auto words = [&](std::string_view section) { encodeWords(section, tokens); };
  auto cleaned = [&](std::string_view section) {
    std::string form = model.bert ? clean(section) : std::string(section);
    model.added.split(form, /*normalized=*/true, withSpecial, {words, push});
  };
  model.added.split(text, /*normalized=*/false, withSpecial, {cleaned, push});
}

void WordPieceTokenizer::encode(std::string_view text,
                                std::vector<int32_t> &tokens,
                                TextPart part) const {
  encodeText(text, /*withSpecial=*/false, tokens);
}

void WordPieceTokenizer::encodePrompt(std::string_view text,
                                      std::vector<int32_t> &tokens) const {
  tokens.insert(tokens.end(), model.prompt.before.begin(),
                model.prompt.before.end());
  encodeText(text, /*withSpecial=*/true, tokens);
  tokens.insert(tokens.end(), model.prompt.behind.begin(),
                model.prompt.behind.end());
}

size_t WordPieceTokenizer::splitPoint(std::string_view text) const {
  for (const AddedToken &token : model.added.all())
    if (!token.special && (token.stripLeft || token.stripRight ||
                           token.text.find_first_of(" \n") != token.text.npos))
      return 0;
  return lastWordEnd(text);
}

//===----------------------------------------------------------------------===//
// Back to text
//===----------------------------------------------------------------------===//

/// Takes the spaces out that cutting at punctuation has put in.
static void closeUp(std::string &text) {
  constexpr std::array<std::pair<const char *, const char *>, 11> changes = {
      {{" .", "."},
       {" ?", "?"},
       {" !", "!"},
       {" ,", ","},
       {" ' ", "'"},
       {" n't", "n't"},
       {" 'm", "'m"},
       {" do not", " don't"},
       {" 's", "'s"},
       {" 've", "'ve"},
       {" 're", "'re"}}};
  for (auto [from, to] : changes)
    for (size_t at = 0; (at = text.find(from, at)) != text.npos;) {
      text.replace(at, std::string_view(from).size(), to);
      at += std::string_view(to).size();
    }
}

std::string WordPieceTokenizer::decode(std::span<const int32_t> tokens,
                                       SpecialTokens special) const {
  std::string text;
  bool isFirst = true;
  for (int32_t token : tokens) {
    const AddedToken *added = model.added.find(token);
    if (added && added->special && special == SpecialTokens::Skipped)
      continue;
    std::string piece = tokenText(token).value_or("\xef\xbf\xbd");
    if (!isFirst) {
      if (piece.starts_with(model.continuation))
        piece.erase(0, model.continuation.size());
      else
        piece.insert(0, " ");
    }
    closeUp(piece);
    text += piece;
    isFirst = false;
  }
  return text;
}

std::optional<std::string> WordPieceTokenizer::tokenText(int32_t token) const {
  if (const AddedToken *added = model.added.find(token))
    return added->text;
  if (!model.vocabulary.has(token))
    return std::nullopt;
  return std::string(model.vocabulary.text(token));
}

/// The tokens that encodeWord() has behind the first of a word, which are those
/// of the trie of continuations.
std::optional<std::vector<bool>> WordPieceTokenizer::wordContinuations() const {
  if (model.continuation.empty())
    return std::nullopt;
  std::vector<bool> continues(size);
  for (int32_t id = 0; size_t(id) < model.vocabulary.size(); ++id) {
    if (!model.vocabulary.has(id) || model.added.find(id))
      continue;
    std::string_view text = model.vocabulary.text(id);
    continues[size_t(id)] = text.starts_with(model.continuation) &&
                            text.size() > model.continuation.size();
  }
  return continues;
}

std::vector<std::pair<std::string, std::string>>
WordPieceTokenizer::describe() const {
  std::string does;
  auto add = [&](bool done, const char *what) {
    if (done)
      does += (does.empty() ? "" : ", ") + std::string(what);
  };
  if (model.bert) {
    add(model.bert->cleanText, "no control characters");
    add(model.bert->spaceIdeographs, "ideographs apart");
    add(model.bert->stripAccents, "no accents");
    add(model.bert->lowerCase, "lower case");
  }
  return {
      {"normalization", does.empty() ? "none" : does},
      {"longest word", std::to_string(model.mostCharacters) + " characters"}};
}

//===----------------------------------------------------------------------===//
// vocab.txt
//===----------------------------------------------------------------------===//

static bool hasUpperCase(const Vocabulary &vocabulary) {
  for (int32_t id = 0; size_t(id) < vocabulary.size(); ++id) {
    std::string_view text = vocabulary.text(id);
    bool isWord = !text.starts_with('[');
    if (isWord && std::any_of(text.begin(), text.end(),
                              [](char c) { return c >= 'A' && c <= 'Z'; }))
      return true;
  }
  return false;
}

StatusOr<std::unique_ptr<Tokenizer>>
tokenizer::readWordPieceFile(const SourceText &file,
                             std::optional<bool> lowerCase) {
  WordPieceModel model;
  HOCKET_ASSIGN_OR_RETURN(model.vocabulary, readLineVocabulary(file));
  bool lower = lowerCase.value_or(!hasUpperCase(model.vocabulary));
  model.bert = BertOptions();
  model.bert->lowerCase = model.bert->stripAccents = lower;
  std::vector<AddedToken> special;
  for (const char *text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (int32_t id = model.vocabulary.find(text); id != noToken) {
      AddedToken token;
      token.id = id;
      token.text = text;
      token.special = true;
      special.push_back(std::move(token));
    }
  int32_t first = model.vocabulary.find("[CLS]");
  int32_t last = model.vocabulary.find("[SEP]");
  if (first != noToken && last != noToken)
    model.prompt = {{first}, {last}};
  if (last != noToken)
    model.endOfDocument = last;
  model.added.build(std::move(special));
  auto made = WordPieceTokenizer::create(std::move(model));
  if (!made.ok())
    return made.status().withContext(file.path);
  return made;
}
