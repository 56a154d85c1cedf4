//===- BytePairTokenizer.cpp - Byte-level BPE -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/BytePairTokenizer.h"

#include "base/Format.h"
#include "runtime/tokenizer/ByteLevel.h"

#include <algorithm>
#include <atomic>

using namespace hocket;
using namespace hocket::tokenizer;

namespace {

/// A word of several tokens that was merged before.
struct RememberedWord {
  static constexpr size_t mostBytes = 24, mostTokens = 8;
  uint8_t bytes = 0, tokens = 0;
  std::array<char, mostBytes> text;
  std::array<int32_t, mostTokens> token;
};

} // namespace

/// What a thread keeps for the tokenizer that it used last.
struct BytePairTokenizer::Memory {
  static constexpr size_t words = 8192;

  uint64_t serial = 0;
  std::vector<RememberedWord> remembered;
  std::vector<int32_t> symbols;
  BytePairMerges::Scratch scratch;
  BytePairSearch::Scratch searching;
};

BytePairTokenizer::Memory &BytePairTokenizer::memory() const {
  thread_local Memory memory;
  if (memory.serial != serial) {
    memory.serial = serial;
    memory.remembered.assign(Memory::words, RememberedWord());
    memory.searching = BytePairSearch::Scratch();
  }
  return memory;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

static uint64_t nextSerial() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

BytePairTokenizer::BytePairTokenizer(BytePairModel given)
    : model(std::move(given)), splitter(model.pattern), serial(nextSerial()) {
  size = model.vocabulary.size();
  for (const AddedToken &token : model.added.all())
    size = std::max(size, uint64_t(token.id) + 1);
}

/// Finds the tokens that their own bytes merge to, and how.
void BytePairTokenizer::findWholeWords() {
  isWholeWord.assign(model.vocabulary.size(), false);
  Memory own;
  std::vector<int32_t> tokens;
  std::vector<BytePairSearch::Derivation> derivations(model.vocabulary.size());
  bool isSearchable = true;
  for (int32_t id = 0; size_t(id) < model.vocabulary.size(); ++id) {
    if (!model.vocabulary.has(id) || model.vocabulary.text(id).empty())
      continue;
    std::string_view text = model.vocabulary.text(id);
    tokens.clear();
    mergeWord(text, own, tokens);
    bool isMerged = tokens.size() == 1 && tokens[0] == id;
    isWholeWord[size_t(id)] = model.ignoreMerges || isMerged;
    isSearchable &= !isMerged || text.size() <= BytePairMerges::shortWord;
    int32_t left = own.scratch.lastLeft, right = own.scratch.lastRight;
    if (isMerged && text.size() > 1)
      derivations[size_t(id)] = {model.merges.rankOf(left, right), left, right};
    else if (isMerged)
      derivations[size_t(id)].rank = BytePairSearch::Derivation::ofByte;
  }
  if (isSearchable)
    search.build(model.merges, model.vocabulary, std::move(derivations));
}

StatusOr<std::unique_ptr<Tokenizer>>
BytePairTokenizer::create(BytePairModel model) {
  std::unique_ptr<BytePairTokenizer> made(
      new BytePairTokenizer(std::move(model)));
  for (int byte = 0; byte < 256; ++byte) {
    char text = char(byte);
    made->tokenOfByte[size_t(byte)] = made->model.vocabulary.find({&text, 1});
    if (made->tokenOfByte[size_t(byte)] == noToken)
      return invalidArgument(formatText(
          "the vocabulary has no token for the byte 0x%02x, which it would "
          "write '%s'; expected a byte-level BPE",
          unsigned(byte), toByteLevel({&text, 1}).c_str()));
  }
  made->findWholeWords();
  return std::unique_ptr<Tokenizer>(std::move(made));
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

void BytePairTokenizer::mergeWord(std::string_view word, Memory &memory,
                                  std::vector<int32_t> &tokens) const {
  size_t before = tokens.size();
  if (search.isReady() && search.encode(word, tokens, memory.searching))
    return;
  tokens.resize(before);
  memory.symbols.resize(word.size());
  std::transform(word.begin(), word.end(), memory.symbols.begin(),
                 [&](char byte) { return tokenOfByte[uint8_t(byte)]; });
  model.merges.encode(memory.symbols, tokens, memory.scratch);
}

void BytePairTokenizer::encodeWord(std::string_view word, Memory &memory,
                                   std::vector<int32_t> &tokens) const {
  int32_t whole = model.vocabulary.find(word);
  if (whole != noToken && isWholeWord[size_t(whole)]) {
    tokens.push_back(whole);
    return;
  }
  if (word.size() > RememberedWord::mostBytes)
    return mergeWord(word, memory, tokens);
  RememberedWord &remembered = memory.remembered[hashOf(word) % Memory::words];
  if (remembered.bytes == word.size() &&
      std::memcmp(remembered.text.data(), word.data(), word.size()) == 0) {
    tokens.insert(tokens.end(), remembered.token.begin(),
                  remembered.token.begin() + remembered.tokens);
    return;
  }
  size_t before = tokens.size();
  mergeWord(word, memory, tokens);
  size_t count = tokens.size() - before;
  if (count > RememberedWord::mostTokens)
    return;
  remembered.bytes = uint8_t(word.size());
  remembered.tokens = uint8_t(count);
  std::copy(word.begin(), word.end(), remembered.text.begin());
  std::copy(tokens.begin() + before, tokens.end(), remembered.token.begin());
}

void BytePairTokenizer::encodeWords(std::string_view text, Memory &memory,
                                    std::vector<int32_t> &tokens) const {
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    const char *next = splitter.wordEnd(at, end);
    encodeWord({at, size_t(next - at)}, memory, tokens);
    at = next;
  }
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// Calls `body` with each number's digits alone, and with what lies between.
template <typename Body>
static void splitDigits(std::string_view text, const Body &body) {
  const uint8_t *kinds = characterKinds();
  const char *done = text.data(), *at = done, *end = at + text.size();
  while (at < end) {
    Character character = characterAt(at, end);
    if (kinds[character.code] & Number) {
      if (at > done)
        body(std::string_view(done, size_t(at - done)));
      body(std::string_view(at, character.bytes));
      done = at + character.bytes;
    }
    at += character.bytes;
  }
  if (end > done)
    body(std::string_view(done, size_t(end - done)));
}

void BytePairTokenizer::encodeText(std::string_view text, bool withSpecial,
                                   std::vector<int32_t> &tokens) const {
  Memory &own = memory();
  auto push = [&](int32_t token) { tokens.push_back(token); };
  auto words = [&](std::string_view section) {
    std::string spaced;
    if (model.addPrefixSpace && section[0] != ' ')
      section = spaced.append(" ").append(section);
    if (model.singleDigits)
      splitDigits(section, [&](std::string_view piece) {
        encodeWords(piece, own, tokens);
      });
    else
      encodeWords(section, own, tokens);
  };
  auto normalized = [&](std::string_view section) {
    if (!model.normalForm)
      return model.added.split(section, /*normalized=*/true, withSpecial,
                               {words, push});
    std::string form = normalize(section, *model.normalForm);
    model.added.split(form, /*normalized=*/true, withSpecial, {words, push});
  };
  model.added.split(text, /*normalized=*/false, withSpecial,
                    {normalized, push});
}

void BytePairTokenizer::encode(std::string_view text,
                               std::vector<int32_t> &tokens,
                               TextPart part) const {
  encodeText(text, /*withSpecial=*/false, tokens);
}

void BytePairTokenizer::encodePrompt(std::string_view text,
                                     std::vector<int32_t> &tokens) const {
  tokens.insert(tokens.end(), model.prompt.before.begin(),
                model.prompt.before.end());
  encodeText(text, /*withSpecial=*/true, tokens);
  tokens.insert(tokens.end(), model.prompt.behind.begin(),
                model.prompt.behind.end());
}

std::string BytePairTokenizer::decode(std::span<const int32_t> tokens,
                                      SpecialTokens special) const {
  std::string text;
  for (int32_t token : tokens) {
    const AddedToken *added = model.added.find(token);
    if (added && (!added->special || special == SpecialTokens::Shown))
      text += added->text;
    else if (!added && model.vocabulary.has(token))
      text += model.vocabulary.text(token);
    else if (!added)
      text += "\xef\xbf\xbd";
  }
  return text;
}

size_t BytePairTokenizer::splitPoint(std::string_view text) const {
  // An added token may have a space within, or take those beside it.
  for (const AddedToken &token : model.added.all())
    if (!token.special && (token.stripLeft || token.stripRight ||
                           token.text.find_first_of(" \n") != token.text.npos))
      return 0;
  // Where a text gets a space before it, a part begins with its own.
  return model.addPrefixSpace ? lastSpace(text) : lastWordEnd(text);
}

std::optional<std::string> BytePairTokenizer::tokenText(int32_t token) const {
  if (const AddedToken *added = model.added.find(token))
    return added->text;
  if (!model.vocabulary.has(token))
    return std::nullopt;
  return toByteLevel(model.vocabulary.text(token));
}

std::vector<std::pair<std::string, std::string>>
BytePairTokenizer::describe() const {
  size_t special = 0;
  for (const AddedToken &token : model.added.all())
    special += token.special;
  return {
      {"merges", formatGrouped(model.merges.size())},
      {"words", nameOf(model.pattern)},
      {"normalization", model.normalForm ? nameOf(*model.normalForm) : "none"},
      {"added tokens", formatGrouped(model.added.all().size()) + ", " +
                           formatGrouped(special) + " of them special"}};
}
