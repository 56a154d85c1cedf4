//===- TokenizerTexts.cpp - Texts that tokenizers are held to -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/tokenizer/TokenizerTexts.h"

#include "base/Sha256.h"
#include "runtime/tokenizer/text/Unicode.h"

#include <set>
#include <unicode/uchar.h>

using namespace hocket;
using namespace hocket::test;

using tokenizer::appendCharacter;

uint64_t TextNumbers::below(uint64_t limit) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (z ^ z >> 31) % limit;
}

static const std::vector<std::string> spaces = {
    "\012",         "\011",         "\015",         " ",
    "\302\240",     "\342\200\203", "\343\200\200", "\302\205",
    "\342\200\213", "\015\012"};
static const std::string signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
static const std::vector<std::string> endings = {
    "'s", "'S", "'ll", "'RE", "'\305\277", "'t", "'d", "'vE", "n't", "'"};
static const std::vector<std::string> special = {
    "<|endoftext|>", "<|begin_of_text|>",
    "<think>",       "</think>",
    "[CLS]",         "[MASK]",
    "[UNK]",         "<s>",
    "</s>",          "<unk>",
    "<0x41>",        "\342\226\201",
    "##a",           "<|endoftext|"};

namespace {
struct Range {
  uint32_t first, count;
};
} // namespace
static const std::vector<Range> ranges = {
    {0x900, 0x78},  {0x1100, 0x100}, {0x4E00, 0x5000}, {0x1F300, 0x100},
    {0x300, 0x70},  {0x620, 0x40},   {0xAC00, 0x2B00}, {0xFF01, 0x5E},
    {0x2460, 0x20}, {0x3041, 0x50}};

static const std::string &oneOf(const std::vector<std::string> &list,
                                TextNumbers &numbers) {
  return list[numbers.below(list.size())];
}

static void appendPiece(TextNumbers &numbers, std::string &text) {
  uint64_t kind = numbers.below(18);
  if (kind < 6) {
    text += char('a' + numbers.below(26));
  } else if (kind == 6) {
    text += char('A' + numbers.below(26));
  } else if (kind == 7) {
    text += char('0' + numbers.below(10));
  } else if (kind < 11) {
    text += ' ';
  } else if (kind == 11) {
    text += oneOf(spaces, numbers);
  } else if (kind == 12) {
    text += signs[numbers.below(signs.size())];
  } else if (kind == 13) {
    text += oneOf(endings, numbers);
  } else if (kind == 14) {
    appendCharacter(uint32_t(0xc0 + numbers.below(0x180)), text);
  } else if (kind == 15) {
    Range range = ranges[numbers.below(ranges.size())];
    appendCharacter(uint32_t(range.first + numbers.below(range.count)), text);
  } else if (kind == 16) {
    text += oneOf(special, numbers);
  } else {
    char letter = char('a' + numbers.below(3));
    text.append(numbers.below(40), letter);
  }
}

std::string test::randomText(TextNumbers &numbers) {
  std::string text;
  for (uint64_t left = numbers.below(40); left > 0; --left)
    appendPiece(numbers, text);
  return text;
}

std::vector<uint32_t> test::codePoints(bool settled) {
  const std::set<UChar32> reclassified = {0x166d, 0x1734, 0x1885, 0x1886};
  std::vector<uint32_t> codes;
  for (UChar32 code = 0; code < 0x110000; ++code) {
    UVersionInfo age;
    u_charAge(code, age);
    bool isKnown = age[0] > 0 && age[0] <= 14;
    if (settled)
      isKnown =
          isKnown && 10 * age[0] + age[1] <= 32 && !reclassified.contains(code);
    int8_t type = u_charType(code);
    if (isKnown && type != U_UNASSIGNED && type != U_SURROGATE)
      codes.push_back(uint32_t(code));
  }
  return codes;
}

std::string test::codePointText(uint32_t code) {
  std::string c;
  appendCharacter(code, c);
  return "a" + c + "b " + c + "1" + c + c + " " + c;
}

static const std::vector<std::string> languages = {
    ("The quick brown fox doesn't jump over 1,234 lazy dogs; it's 12:30 "
     "o'clock."),
    "Der Übergrößenträger läuft über die Straße – fünf Äpfel für 3,50 €.",
    "L'été dernier, nous étions déjà à l'œuvre ; n'est-ce pas « génial » ?",
    "¿Cómo estás? El pingüino comió 12 piñas en la mañana, ¡qué día!",
    "Съешь же ещё этих мягких французских булок, да выпей чаю: 100 рублей.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, είπε ο Σίσυφος στις 5 το πρωί.",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश १२३ बार।",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر ١٢٣٤.",
    "いろはにほへと ちりぬるを、東京タワーは333メートルです。ﾃｽﾄ",
    "敏捷的棕色狐狸跳过了那只懒狗，价格是１２３元。",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다 2024년.",
    ("👩\342\200\215👩\342\200\215👧\342\200\215👦 family, 🇫🇷 flag, ✌🏽 hand… "
     "e\314\201 and é, ﬁne, ½ ² Ⅷ İstanbul")};

const std::vector<std::string> &test::languageTexts() { return languages; }

std::string test::digestOf(const std::vector<std::vector<int32_t>> &lists) {
  Sha256 sha;
  for (const std::vector<int32_t> &ids : lists) {
    int32_t end = -1;
    sha.update(ids.data(), ids.size() * sizeof(int32_t));
    sha.update(&end, sizeof(end));
  }
  return toHex(sha.finish()).substr(0, 16);
}
