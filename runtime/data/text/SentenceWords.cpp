//===- SentenceWords.cpp - Words that say where sentences end -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/SentenceWords.h"

#include "runtime/tokenizer/text/Unicode.h"

#include <string>
#include <unordered_set>

using namespace hocket;
using namespace hocket::data;

using Words = std::unordered_set<std::string_view>;

/// Followed by a name or by what they introduce.
static const Words &titles() {
  static const Words words = {
      // Titles.
      "mr", "mrs", "ms", "messrs", "dr", "drs", "prof", "profs", "st", "ste",
      "rev", "hon", "gen", "adm", "col", "lt", "maj", "capt", "cmdr", "cpl",
      "sgt", "gov", "pres", "sen", "sens", "rep", "reps", "supt", "mt", "ft",
      "hr", "fr", "frl", "dipl", "ing", "mme", "mlle", "mgr", "dott", "sig",
      "sra", "srta", "dra", "profa", "ud", "uds", "vd", "vds", "mevr", "dhr",
      "mons", "fra",
      // What introduces.
      "e.g", "i.e", "viz", "vs", "cf", "ca", "approx", "incl", "esp", "resp",
      "bzw", "z.b", "d.h", "u.a", "o.ä", "u.u", "i.d.r", "z.t", "vgl", "sog",
      "evtl", "ggf", "inkl", "exkl", "zzgl", "insb", "bspw", "sogen", "gem",
      "p.ex", "p.ej", "v.gr", "ej", "env", "bijv", "d.w.z", "m.b.t", "o.a",
      "т.е", "им", "ул", "просп", "акад", "проф", "см", "ср", "напр"};
  return words;
}

static const Words &beforeNumbers() {
  static const Words words = {
      "no",   "nos", "nr",   "nrn", "núm",  "num", "fig",  "figs", "abb",
      "tab",  "eq",  "eqs",  "sec", "sect", "ch",  "chap", "vol",  "vols",
      "bd",   "bde", "kap",  "pp",  "pg",   "pág", "págs", "pag",  "art",
      "arts", "abs", "ver",  "jan", "feb",  "mar", "apr",  "jun",  "jul",
      "aug",  "sep", "sept", "oct", "okt",  "nov", "dec",  "dez",  "рис",
      "табл", "гл",  "стр",  "тел", "tel",  "ext", "op"};
  return words;
}

static const Words &eitherWords() {
  static const Words words = {
      "etc",  "al",  "inc", "ltd",  "co",   "corp", "bros",  "llc", "plc",
      "jr",   "sr",  "esq", "ph.d", "dept", "univ", "assn",  "ave", "blvd",
      "rd",   "est", "min", "max",  "usw",  "usf",  "u.s.w", "jh",  "chr",
      "gmbh", "str", "enz", "ecc",  "тыс",  "млн",  "млрд",  "руб", "гг",
      "др",   "пр",  "т.д", "т.п",  "т.к"};
  return words;
}

bool data::oftenBeginsSentence(std::string_view word) {
  static const Words words = {
      "The",   "A",      "An",    "In",       "On",      "At",     "It",
      "He",    "She",    "They",  "We",       "You",     "I",      "This",
      "That",  "These",  "Those", "There",    "Then",    "When",   "While",
      "If",    "But",    "And",   "So",       "However", "For",    "As",
      "After", "Before", "Since", "Although", "Because", "His",    "Her",
      "Its",   "Their",  "Our",   "My",       "What",    "Who",    "Where",
      "Why",   "How",    "Not",   "Yes",      "Now",     "Der",    "Die",
      "Das",   "Ein",    "Eine",  "Er",       "Sie",     "Es",     "Wir",
      "Ich",   "Und",    "Aber",  "Im",       "Am",      "Als",    "Wenn",
      "Da",    "Doch",   "Dann",  "Diese",    "Dieser",  "Dieses", "Auch",
      "Le",    "La",     "Les",   "Un",       "Une",     "Il",     "Elle",
      "Ils",   "Elles",  "Nous",  "Vous",     "Je",      "Ce",     "Cette",
      "Mais",  "Et",     "Dans",  "El",       "Los",     "Las",    "Una",
      "En",    "Pero",   "Lo",    "Gli",      "Uma",     "Os",     "Het",
      "De",    "Een",    "Он",    "Она",      "Оно",     "Они",    "Мы",
      "Вы",    "Я",      "В",     "На",       "Но",      "И",      "Это",
      "Если",  "Когда"};
  return words.contains(word);
}

bool data::followsOrdinal(std::string_view word) {
  static const Words words = {
      "Januar",       "Jänner",   "Februar",   "März",        "April",
      "Mai",          "Juni",     "Juli",      "August",      "September",
      "Oktober",      "November", "Dezember",  "Jahrhundert", "Jahrhunderts",
      "Jahrhunderte", "Jh",       "Weltkrieg", "Weltkriegs"};
  return words.contains(word);
}

/// "U.S", "p.m", "Ph.D", "J.R.R": letters with stops between.
static bool isDotted(std::string_view word) {
  size_t part = 0, parts = 1;
  const char *at = word.data(), *end = at + word.size();
  while (at < end) {
    tokenizer::Character c = tokenizer::characterAt(at, end);
    at += c.bytes;
    if (c.code == '.') {
      if (part == 0)
        return false;
      part = 0;
      ++parts;
    } else if (!(tokenizer::characterKinds()[c.code] & tokenizer::Letter) ||
               ++part > 2) {
      return false;
    }
  }
  return parts > 1;
}

static bool isOneLetter(std::string_view word) {
  if (word.empty())
    return false;
  tokenizer::Character c =
      tokenizer::characterAt(word.data(), word.data() + word.size());
  return c.bytes == word.size() &&
         tokenizer::characterKinds()[c.code] & tokenizer::Letter;
}

StopAfter data::stopAfter(std::string_view word) {
  std::string lower;
  for (const char *at = word.data(), *end = at + word.size(); at < end;) {
    tokenizer::Character c = tokenizer::characterAt(at, end);
    tokenizer::appendLowerCase(c.code, lower);
    at += c.bytes;
  }
  if (titles().contains(lower))
    return StopAfter::Title;
  if (beforeNumbers().contains(lower))
    return StopAfter::BeforeNumber;
  if (eitherWords().contains(lower) || isOneLetter(word) || isDotted(word))
    return StopAfter::Either;
  return StopAfter::Word;
}
