//===- SentencePieceTokenizer.cpp - SentencePiece's tokenizers ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/SentencePieceTokenizer.h"

#include "runtime/tokenizer/EndOfDocument.h"
#include "runtime/tokenizer/text/Unicode.h"
#include "runtime/tokenizer/text/WordSplitter.h"

#include <algorithm>
#include <cfloat>
#include <map>

using namespace hocket;
using namespace hocket::tokenizer;

static constexpr std::string_view spaceSymbol = "\xe2\x96\x81";

/// How much worse than the worst piece an unknown character is.
static constexpr float unknownPenalty = 10;

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel given)
    : model(std::move(given)) {
  tokenOfByte.fill(noToken);
}

/// The value of a byte piece, "<0x41>", or -1.
static int byteOfPiece(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>')
    return -1;
  size_t high = digits.find(text[3]), low = digits.find(text[4]);
  return high == digits.npos || low == digits.npos ? -1 : int(high * 16 + low);
}

/// Whether a piece goes on behind the end of a word.
static bool spansWords(std::string_view text) {
  size_t first = text.find(spaceSymbol);
  while (first == 0) {
    text.remove_prefix(spaceSymbol.size());
    first = text.find(spaceSymbol);
  }
  return first != text.npos;
}

Status SentencePieceTokenizer::prepare() {
  std::vector<std::pair<std::string_view, int32_t>> all, user;
  float least = FLT_MAX, greatest = FLT_MIN;
  for (int32_t id = 0; size_t(id) < model.types.size(); ++id) {
    std::string_view text = model.pieces.text(id);
    PieceType type = typeOf(id);
    if (type == PieceType::Unknown) {
      if (unknown != noToken)
        return invalidArgument("expected one unknown piece, found " +
                               inQuotes(model.pieces.text(unknown)) + " and " +
                               inQuotes(text));
      unknown = id;
    }
    if (type == PieceType::Byte) {
      if (byteOfPiece(text) < 0)
        return invalidArgument("the piece " + inQuotes(text) +
                               " is no byte, as <0x41> is");
      tokenOfByte[size_t(byteOfPiece(text))] = id;
    }
    if (type == PieceType::Normal) {
      least = std::min(least, model.scores[size_t(id)]);
      greatest = std::max(greatest, model.scores[size_t(id)]);
    }
    if (type == PieceType::UserDefined)
      user.emplace_back(text, id);
    if (type == PieceType::Normal || type == PieceType::UserDefined ||
        type == PieceType::Unused) {
      all.emplace_back(text, id);
      crossesSpaces |= spansWords(text);
    }
  }
  unknownScore = least - unknownPenalty;
  greatestScore = greatest;
  if (unknown == noToken)
    return invalidArgument("there is no unknown piece");
  if (model.hasByteFallback &&
      std::count(tokenOfByte.begin(), tokenOfByte.end(), noToken) > 0)
    return invalidArgument("the model falls back to bytes, but not every byte "
                           "has a piece");
  if (!pieces.build(std::move(all)) || !userDefined.build(std::move(user)))
    return invalidArgument("the pieces are too long");
  return okStatus();
}

StatusOr<std::unique_ptr<Tokenizer>>
SentencePieceTokenizer::create(SentencePieceModel given) {
  std::unique_ptr<SentencePieceTokenizer> made(
      new SentencePieceTokenizer(std::move(given)));
  HOCKET_RETURN_IF_ERROR(made->prepare());
  for (std::string_view name : documentEnds)
    if (int32_t id = made->model.pieces.find(name); id != noToken) {
      made->end = id;
      break;
    }
  int32_t first = made->model.pieces.find("<s>");
  if (first != noToken && made->typeOf(first) == PieceType::Control)
    made->begin = first;
  return std::unique_ptr<Tokenizer>(std::move(made));
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

/// What the beginning of `text` becomes: a piece that the user defined, itself;
/// the longest string of the model's map, its replacement; else one character.
CharacterMap::Match
SentencePieceTokenizer::normalizePrefix(std::string_view text) const {
  if (size_t size = userDefined.longest(text).size)
    return {text.substr(0, size), size};
  if (CharacterMap::Match match = model.map.longest(text); match.size > 0)
    return match;
  size_t size = characterAt(text.data(), text.data() + text.size()).bytes;
  return {text.substr(0, size), size};
}

std::string SentencePieceTokenizer::normalize(std::string_view text,
                                              TextPart part) const {
  std::string_view space = model.escapeSpaces ? spaceSymbol : " ";
  bool isFirst = part == TextPart::First;
  while (model.removeExtraSpaces && isFirst && !text.empty()) {
    CharacterMap::Match match = normalizePrefix(text);
    if (match.replacement != " ")
      break;
    text.remove_prefix(match.size);
  }
  std::string out;
  if (text.empty())
    return out;
  out.reserve(text.size() + text.size() / 2);
  if (model.addDummyPrefix && isFirst && !model.spaceIsSuffix)
    out += space;
  bool followsSpace = model.removeExtraSpaces && isFirst;
  while (!text.empty()) {
    auto [replacement, size] = normalizePrefix(text);
    while (followsSpace && replacement.starts_with(' '))
      replacement.remove_prefix(1);
    if (!replacement.empty()) {
      for (char c : replacement)
        if (c == ' ')
          out += space;
        else
          out += c;
      followsSpace = model.removeExtraSpaces && replacement.ends_with(' ');
    }
    text.remove_prefix(size);
  }
  while (model.removeExtraSpaces && out.ends_with(space))
    out.resize(out.size() - space.size());
  if (model.addDummyPrefix && isFirst && model.spaceIsSuffix)
    out += space;
  return out;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

void SentencePieceTokenizer::emit(std::string_view piece, int32_t id,
                                  bool &followsUnknown,
                                  std::vector<int32_t> &tokens) const {
  bool isUnknown = id == unknown;
  if (isUnknown && model.hasByteFallback) {
    for (char byte : piece)
      tokens.push_back(tokenOfByte[uint8_t(byte)]);
  } else if (!isUnknown || !followsUnknown) {
    // Unknown characters beside each other are one token.
    tokens.push_back(id);
  }
  followsUnknown = isUnknown && !model.hasByteFallback;
}

namespace {
/// The best way to cut a text up to a place.
struct BestPath {
  int32_t id = noToken;
  float score = 0;
  uint32_t begin = UINT32_MAX; ///< Of the last piece; none so far.
};
} // namespace

/// The most probable pieces. Scores add up in the order and the precision that
/// SentencePiece adds them in, on which it depends which of equals wins.
void SentencePieceTokenizer::encodeUnigram(std::string_view text,
                                           std::vector<int32_t> &tokens) const {
  std::vector<BestPath> best(text.size() + 1);
  const char *last = text.data() + text.size();
  for (size_t at = 0; at < text.size();) {
    float till = best[at].score;
    size_t one = characterAt(text.data() + at, last).bytes;
    bool hasOne = false;
    Trie::Node node = Trie::root;
    for (size_t to = at; to < text.size();) {
      node = pieces.next(node, uint8_t(text[to++]));
      if (node == Trie::none)
        break;
      int32_t id = pieces.value(node);
      if (id < 0 || typeOf(id) == PieceType::Unused)
        continue;
      double score = typeOf(id) == PieceType::UserDefined
                         ? float(to - at) * greatestScore - 0.1
                         : double(model.scores[size_t(id)]);
      auto candidate = float(score + double(till));
      if (best[to].begin == UINT32_MAX || candidate > best[to].score)
        best[to] = {id, candidate, uint32_t(at)};
      hasOne |= to - at == one;
    }
    float candidate = unknownScore + till;
    BestPath &next = best[at + one];
    if (!hasOne && (next.begin == UINT32_MAX || candidate > next.score))
      next = {unknown, candidate, uint32_t(at)};
    at += one;
  }
  std::vector<uint32_t> ends;
  for (auto to = uint32_t(text.size()); to > 0; to = best[to].begin)
    ends.push_back(to);
  bool followsUnknown = false;
  for (auto to = ends.rbegin(); to != ends.rend(); ++to)
    emit(text.substr(best[*to].begin, *to - best[*to].begin), best[*to].id,
         followsUnknown, tokens);
}

//===----------------------------------------------------------------------===//
// BPE
//===----------------------------------------------------------------------===//

namespace {

struct Symbol {
  uint32_t begin, size; ///< Size 0: part of another one.
  int previous, next;
  bool isFrozen; ///< Defined by the user: takes part in no merge.
};

struct Candidate {
  float score;
  int left, right;
  uint32_t size; ///< Of both; another size is another pair.

  bool operator<(const Candidate &other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

/// Merges the symbols of one text, the best-scored pair first.
class BytePairMerging {
public:
  BytePairMerging(const SentencePieceModel &model, std::string_view text)
      : model(model), text(text) {}

  void add(size_t begin, size_t size, bool isFrozen) {
    int at = int(symbols.size());
    symbols.push_back(
        {uint32_t(begin), uint32_t(size), at - 1, at + 1, isFrozen});
  }
  void run();

  const std::vector<Symbol> &result() const { return symbols; }

  /// The two parts that an unused piece was made of; sizes in bytes.
  std::pair<uint32_t, uint32_t> partsOf(int32_t id) const {
    auto at = parts.find(id);
    return at == parts.end() ? std::pair<uint32_t, uint32_t>{0, 0} : at->second;
  }

private:
  void offer(int left, int right);

  const SentencePieceModel &model;
  std::string_view text;
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::map<int32_t, std::pair<uint32_t, uint32_t>> parts;
};

} // namespace

void BytePairMerging::offer(int left, int right) {
  if (left < 0 || right < 0)
    return;
  const Symbol &a = symbols[size_t(left)], &b = symbols[size_t(right)];
  if (a.isFrozen || b.isFrozen)
    return;
  int32_t id = model.pieces.find(text.substr(a.begin, a.size + b.size));
  if (id == noToken)
    return;
  PieceType type = model.types[size_t(id)];
  if (type != PieceType::Normal && type != PieceType::UserDefined &&
      type != PieceType::Unused)
    return;
  if (type == PieceType::Unused)
    parts[id] = {a.size, b.size};
  heap.push_back({model.scores[size_t(id)], left, right, a.size + b.size});
  std::push_heap(heap.begin(), heap.end());
}

void BytePairMerging::run() {
  if (symbols.empty())
    return;
  symbols.back().next = -1;
  for (int i = 1; i < int(symbols.size()); ++i)
    offer(i - 1, i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Candidate best = heap.back();
    heap.pop_back();
    Symbol &left = symbols[size_t(best.left)];
    Symbol &right = symbols[size_t(best.right)];
    if (left.size == 0 || right.size == 0 ||
        left.size + right.size != best.size)
      continue;
    left.size = best.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0)
      symbols[size_t(left.next)].previous = best.left;
    offer(left.previous, best.left);
    offer(best.left, left.next);
  }
}

void SentencePieceTokenizer::encodeBytePairs(
    std::string_view text, std::vector<int32_t> &tokens) const {
  BytePairMerging merging(model, text);
  const char *last = text.data() + text.size();
  for (size_t at = 0; at < text.size();) {
    size_t user = userDefined.longest(text.substr(at)).size;
    size_t size = user ? user : characterAt(text.data() + at, last).bytes;
    merging.add(at, size, user > 0);
    at += size;
  }
  merging.run();
  bool followsUnknown = false;
  std::vector<std::string_view> open;
  for (int at = text.empty() ? -1 : 0; at >= 0;
       at = merging.result()[size_t(at)].next) {
    const Symbol &symbol = merging.result()[size_t(at)];
    open.assign(1, text.substr(symbol.begin, symbol.size));
    while (!open.empty()) {
      std::string_view piece = open.back();
      open.pop_back();
      int32_t id = model.pieces.find(piece);
      auto parts = id != noToken && typeOf(id) == PieceType::Unused
                       ? merging.partsOf(id)
                       : std::pair<uint32_t, uint32_t>{0, 0};
      if (parts.first == 0) {
        emit(piece, id == noToken ? unknown : id, followsUnknown, tokens);
        continue;
      }
      open.push_back(piece.substr(parts.first));
      open.push_back(piece.substr(0, parts.first));
    }
  }
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

void SentencePieceTokenizer::encode(std::string_view text,
                                    std::vector<int32_t> &tokens,
                                    TextPart part) const {
  std::string normalized = normalize(text, part);
  if (model.isUnigram)
    encodeUnigram(normalized, tokens);
  else
    encodeBytePairs(normalized, tokens);
}

void SentencePieceTokenizer::encodePrompt(std::string_view text,
                                          std::vector<int32_t> &tokens) const {
  if (begin)
    tokens.push_back(*begin);
  encode(text, tokens, TextPart::First);
}

size_t SentencePieceTokenizer::splitPoint(std::string_view text) const {
  return crossesSpaces || model.spaceIsSuffix || !model.escapeSpaces
             ? 0
             : lastSpace(text);
}

std::string SentencePieceTokenizer::decode(std::span<const int32_t> tokens,
                                           SpecialTokens special) const {
  std::string text;
  bool isBegin = true;
  for (int32_t token : tokens) {
    if (!model.pieces.has(token)) {
      text += "\xef\xbf\xbd";
      continue;
    }
    std::string_view piece = model.pieces.text(token);
    PieceType type = typeOf(token);
    if (type == PieceType::Control) {
      if (special == SpecialTokens::Shown)
        text += piece;
      continue;
    }
    if (type == PieceType::Byte) {
      text += char(byteOfPiece(piece));
    } else if (type == PieceType::Unknown) {
      text += model.unknownSurface;
    } else {
      bool drops = isBegin && text.empty() &&
                   (model.addDummyPrefix || model.removeExtraSpaces) &&
                   piece.starts_with(spaceSymbol);
      if (drops)
        piece.remove_prefix(spaceSymbol.size());
      isBegin = drops && model.removeExtraSpaces;
      for (size_t at; (at = piece.find(spaceSymbol)) != piece.npos;) {
        text.append(piece.substr(0, at)).append(" ");
        piece.remove_prefix(at + spaceSymbol.size());
      }
      text += piece;
    }
  }
  return text;
}

std::optional<std::string>
SentencePieceTokenizer::tokenText(int32_t token) const {
  if (!model.pieces.has(token))
    return std::nullopt;
  return std::string(model.pieces.text(token));
}

std::vector<std::pair<std::string, std::string>>
SentencePieceTokenizer::describe() const {
  return {{"normalization", model.map.empty() ? "none" : "the model's own map"},
          {"spaces", std::string(model.removeExtraSpaces ? "single" : "kept") +
                         (model.addDummyPrefix ? ", one before the text" : "")},
          {"unknown characters",
           model.hasByteFallback ? "as bytes" : "as one token"}};
}
