//===- Unicode.cpp - Characters and their kinds ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/text/Unicode.h"

#include <algorithm>
#include <memory>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <utility>

using namespace hocket::tokenizer;

static uint8_t kindOfCategory(UCharCategory category) {
  uint32_t mask = U_MASK(category);
  uint8_t kind = 0;
  if (mask & U_GC_L_MASK)
    kind |= Letter | WordCharacter;
  if (mask & U_GC_N_MASK)
    kind |= Number;
  if (mask & U_GC_MN_MASK)
    kind |= NonspacingMark;
  if (mask & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK | U_GC_NL_MASK))
    kind |= WordCharacter;
  if (mask & U_GC_P_MASK)
    kind |= Punctuation;
  if (mask & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK))
    kind |= Control;
  return kind;
}

static UBool fillRange(const void *context, UChar32 start, UChar32 limit,
                       UCharCategory category) {
  auto *kinds = static_cast<uint8_t *>(const_cast<void *>(context));
  std::fill(kinds + start, kinds + limit, kindOfCategory(category));
  return true;
}

static std::unique_ptr<uint8_t[]> makeKinds() {
  auto kinds = std::make_unique<uint8_t[]>(characterCount);
  u_enumCharTypes(fillRange, kinds.get());
  // All white space is below U+3001.
  for (UChar32 code = 0; code <= 0x3000; ++code)
    if (u_isUWhiteSpace(code))
      kinds[size_t(code)] |= Space;
  // Letters of \w that are no \p{L}: circled and parenthesized ones; and the
  // two joiners.
  for (UChar32 code : {0x200c, 0x200d})
    kinds[size_t(code)] |= WordCharacter;
  for (auto [first, last] : {std::pair(0x24b6, 0x24e9),
                             {0x1f130, 0x1f149},
                             {0x1f150, 0x1f169},
                             {0x1f170, 0x1f189}})
    for (UChar32 code = first; code <= last; ++code)
      kinds[size_t(code)] |= WordCharacter;
  return kinds;
}

const uint8_t *hocket::tokenizer::characterKinds() {
  static const std::unique_ptr<uint8_t[]> kinds = makeKinds();
  return kinds.get();
}

void hocket::tokenizer::appendCharacter(uint32_t code, std::string &text) {
  if (code < 0x80) {
    text += char(code);
    return;
  }
  if (code < 0x800) {
    text += char(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      text += char(0xe0 | code >> 12);
    } else {
      text += char(0xf0 | code >> 18);
      text += char(0x80 | (code >> 12 & 0x3f));
    }
    text += char(0x80 | (code >> 6 & 0x3f));
  }
  text += char(0x80 | (code & 0x3f));
}

const char *hocket::tokenizer::nameOf(NormalForm form) {
  constexpr const char *names[] = {"NFC", "NFD", "NFKC", "NFKD"};
  return names[size_t(form)];
}

std::optional<NormalForm>
hocket::tokenizer::parseNormalForm(std::string_view name) {
  for (NormalForm form :
       {NormalForm::Nfc, NormalForm::Nfd, NormalForm::Nfkc, NormalForm::Nfkd})
    if (name == nameOf(form))
      return form;
  return std::nullopt;
}

static const icu::Normalizer2 *normalizerOf(NormalForm form) {
  UErrorCode error = U_ZERO_ERROR;
  switch (form) {
  case NormalForm::Nfc:
    return icu::Normalizer2::getNFCInstance(error);
  case NormalForm::Nfd:
    return icu::Normalizer2::getNFDInstance(error);
  case NormalForm::Nfkc:
    return icu::Normalizer2::getNFKCInstance(error);
  case NormalForm::Nfkd:
    return icu::Normalizer2::getNFKDInstance(error);
  }
  return nullptr;
}

std::string hocket::tokenizer::normalize(std::string_view text,
                                         NormalForm form) {
  std::string out;
  bool isAscii = std::all_of(text.begin(), text.end(),
                             [](char c) { return uint8_t(c) < 0x80; });
  const icu::Normalizer2 *normalizer = isAscii ? nullptr : normalizerOf(form);
  if (!normalizer)
    return std::string(text);
  UErrorCode error = U_ZERO_ERROR;
  icu::StringByteSink<std::string> sink(&out, int32_t(text.size()));
  normalizer->normalizeUTF8(0,
                            icu::StringPiece(text.data(), int32_t(text.size())),
                            sink, nullptr, error);
  return U_SUCCESS(error) ? out : std::string(text);
}

void hocket::tokenizer::appendLowerCase(uint32_t code, std::string &text) {
  appendCharacter(uint32_t(u_tolower(UChar32(code))), text);
  // The one character whose lower case is two, whatever stands around it.
  if (code == 0x130)
    text += "\xcc\x87";
}

bool hocket::tokenizer::isLowerCase(uint32_t code) {
  return u_charType(UChar32(code)) == U_LOWERCASE_LETTER;
}
