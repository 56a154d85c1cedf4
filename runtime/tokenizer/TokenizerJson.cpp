//===- TokenizerJson.cpp - Reads tokenizer.json ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/TokenizerJson.h"

#include "runtime/tokenizer/BytePairTokenizer.h"
#include "runtime/tokenizer/EndOfDocument.h"
#include "runtime/tokenizer/JsonParts.h"
#include "runtime/tokenizer/VocabularyReader.h"
#include "runtime/tokenizer/WordPieceTokenizer.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::tokenizer;

//===----------------------------------------------------------------------===//
// Normalizers
//===----------------------------------------------------------------------===//

namespace {
struct Normalizers {
  std::optional<NormalForm> form;
  std::optional<BertOptions> bert;
};
} // namespace

static StatusOr<BertOptions> readBertNormalizer(const JsonObject &object) {
  BertOptions bert;
  HOCKET_ASSIGN_OR_RETURN(bert.cleanText, object.boolean("clean_text", true));
  HOCKET_ASSIGN_OR_RETURN(bert.spaceIdeographs,
                          object.boolean("handle_chinese_chars", true));
  HOCKET_ASSIGN_OR_RETURN(bert.lowerCase, object.boolean("lowercase", true));
  HOCKET_ASSIGN_OR_RETURN(bert.stripAccents,
                          object.boolean("strip_accents", bert.lowerCase));
  return bert;
}

/// The normalizer itself, or those of a sequence, of which there is one.
static StatusOr<Normalizers> readNormalizer(const JsonPart &part) {
  Normalizers found;
  HOCKET_ASSIGN_OR_RETURN(JsonObject object, JsonObject::read(part));
  HOCKET_ASSIGN_OR_RETURN(std::string type, object.type());
  std::optional<JsonObject> inner = object;
  if (type == "Sequence") {
    HOCKET_ASSIGN_OR_RETURN(JsonPart list, object.need("normalizers"));
    HOCKET_ASSIGN_OR_RETURN(auto elements, list.elements());
    if (elements.empty())
      return found;
    if (elements.size() > 1)
      return list.wrong("expected one normalizer, found " +
                        std::to_string(elements.size()));
    HOCKET_ASSIGN_OR_RETURN(inner, JsonObject::read(elements[0]));
    HOCKET_ASSIGN_OR_RETURN(type, inner->type());
  }
  if ((found.form = parseNormalForm(type)))
    return found;
  if (type != "BertNormalizer")
    return inner->part().wrong("the normalizer " + inQuotes(type) +
                               " is not supported; expected NFC, NFD, NFKC, "
                               "NFKD or BertNormalizer");
  HOCKET_ASSIGN_OR_RETURN(found.bert, readBertNormalizer(*inner));
  return found;
}

//===----------------------------------------------------------------------===//
// Pre-tokenizers
//===----------------------------------------------------------------------===//

static StatusOr<WordPattern> readSplit(const JsonObject &object) {
  HOCKET_ASSIGN_OR_RETURN(JsonPart part, object.need("pattern"));
  HOCKET_ASSIGN_OR_RETURN(JsonObject holder, JsonObject::read(part));
  HOCKET_ASSIGN_OR_RETURN(JsonPart expression, holder.need("Regex"));
  HOCKET_ASSIGN_OR_RETURN(std::string text, expression.string());
  HOCKET_ASSIGN_OR_RETURN(std::string behavior,
                          object.string("behavior", "Isolated"));
  HOCKET_ASSIGN_OR_RETURN(bool invert, object.boolean("invert", false));
  // Removing what lies between matches: of these patterns, nothing does.
  bool isIsolated = behavior == "Isolated" && !invert;
  bool isRemoved = behavior == "Removed" && invert;
  if (!isIsolated && !isRemoved)
    return object.part().wrong("expected a split with the behavior Isolated");
  if (auto pattern = patternOf(text))
    return *pattern;
  return expression.wrong("the pattern " + inQuotes(text) +
                          " is not supported; expected that of GPT-2, Llama-3 "
                          "or Qwen2");
}

/// Takes one pre-tokenizer into `model`. `cut` says whether a pattern has been
/// given.
static Status takePreTokenizer(const JsonObject &object, bool &cut,
                               BytePairModel &model) {
  HOCKET_ASSIGN_OR_RETURN(std::string type, object.type());
  if (type == "Digits") {
    HOCKET_ASSIGN_OR_RETURN(model.singleDigits,
                            object.boolean("individual_digits", false));
    if (!model.singleDigits || cut)
      return object.part().wrong("expected Digits with individual_digits, "
                                 "before any split");
    return okStatus();
  }
  if (type == "Split") {
    if (std::exchange(cut, true))
      return object.part().wrong("expected one split");
    HOCKET_ASSIGN_OR_RETURN(model.pattern, readSplit(object));
    return okStatus();
  }
  if (type != "ByteLevel")
    return object.part().wrong("the pre-tokenizer " + inQuotes(type) +
                               " is not supported; expected Split, Digits or "
                               "ByteLevel");
  HOCKET_ASSIGN_OR_RETURN(bool usesPattern, object.boolean("use_regex", true));
  HOCKET_ASSIGN_OR_RETURN(model.addPrefixSpace,
                          object.boolean("add_prefix_space", true));
  if (usesPattern == cut)
    return object.part().wrong(cut ? "expected \"use_regex\": false behind a "
                                     "split"
                                   : "expected \"use_regex\": true, or a "
                                     "split before it");
  if (model.addPrefixSpace && (cut || model.singleDigits))
    return object.part().wrong("expected \"add_prefix_space\": false behind "
                               "another pre-tokenizer");
  cut = true;
  return okStatus();
}

static Status readPreTokenizer(const JsonPart &part, BytePairModel &model) {
  bool cut = false;
  HOCKET_ASSIGN_OR_RETURN(JsonObject object, JsonObject::read(part));
  HOCKET_ASSIGN_OR_RETURN(std::string type, object.type());
  if (type != "Sequence") {
    HOCKET_RETURN_IF_ERROR(takePreTokenizer(object, cut, model));
  } else {
    HOCKET_ASSIGN_OR_RETURN(JsonPart list, object.need("pretokenizers"));
    HOCKET_ASSIGN_OR_RETURN(auto elements, list.elements());
    for (const JsonPart &element : elements) {
      type.clear();
      HOCKET_ASSIGN_OR_RETURN(JsonObject one, JsonObject::read(element));
      HOCKET_ASSIGN_OR_RETURN(type, one.type());
      HOCKET_RETURN_IF_ERROR(takePreTokenizer(one, cut, model));
    }
  }
  if (type != "ByteLevel")
    return part.wrong("expected ByteLevel as the last pre-tokenizer");
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Post-processors
//===----------------------------------------------------------------------===//

/// The numbers of a template's special token.
static StatusOr<std::vector<int32_t>> idsOfSpecial(const JsonPart &table,
                                                   const std::string &name) {
  HOCKET_ASSIGN_OR_RETURN(JsonObject rows, JsonObject::read(table));
  HOCKET_ASSIGN_OR_RETURN(JsonPart row, rows.need(name));
  HOCKET_ASSIGN_OR_RETURN(JsonObject object, JsonObject::read(row));
  HOCKET_ASSIGN_OR_RETURN(JsonPart list, object.need("ids"));
  HOCKET_ASSIGN_OR_RETURN(auto elements, list.elements());
  std::vector<int32_t> ids;
  for (const JsonPart &element : elements) {
    HOCKET_ASSIGN_OR_RETURN(int64_t id, element.whole(mostTokens));
    ids.push_back(int32_t(id));
  }
  return ids;
}

static Status readTemplate(const JsonObject &object, PromptTemplate &prompt) {
  HOCKET_ASSIGN_OR_RETURN(JsonPart single, object.need("single"));
  HOCKET_ASSIGN_OR_RETURN(JsonPart table, object.need("special_tokens"));
  HOCKET_ASSIGN_OR_RETURN(auto elements, single.elements());
  unsigned texts = 0;
  for (const JsonPart &element : elements) {
    HOCKET_ASSIGN_OR_RETURN(JsonObject item, JsonObject::read(element));
    const JsonPart *special = item.find("SpecialToken");
    if (!special) {
      HOCKET_RETURN_IF_ERROR(item.need("Sequence").status());
      ++texts;
      continue;
    }
    HOCKET_ASSIGN_OR_RETURN(JsonObject token, JsonObject::read(*special));
    HOCKET_ASSIGN_OR_RETURN(JsonPart id, token.need("id"));
    HOCKET_ASSIGN_OR_RETURN(std::string name, id.string());
    HOCKET_ASSIGN_OR_RETURN(auto ids, idsOfSpecial(table, name));
    auto &side = texts ? prompt.behind : prompt.before;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (texts != 1)
    return single.wrong("expected one Sequence");
  return okStatus();
}

/// "sep" and "cls" of BertProcessing and RobertaProcessing.
static StatusOr<int32_t> readPair(const JsonObject &object, const char *key) {
  HOCKET_ASSIGN_OR_RETURN(JsonPart part, object.need(key));
  HOCKET_ASSIGN_OR_RETURN(auto pair, part.elements());
  if (pair.size() != 2)
    return part.wrong("expected a token and its number");
  HOCKET_ASSIGN_OR_RETURN(int64_t id, pair[1].whole(mostTokens));
  return int32_t(id);
}

static Status readProcessor(const JsonObject &object, PromptTemplate &prompt) {
  HOCKET_ASSIGN_OR_RETURN(std::string type, object.type());
  if (type == "ByteLevel")
    return okStatus();
  if (type == "TemplateProcessing")
    return readTemplate(object, prompt);
  if (type != "BertProcessing" && type != "RobertaProcessing")
    return object.part().wrong("the post-processor " + inQuotes(type) +
                               " is not supported; expected "
                               "TemplateProcessing, ByteLevel, "
                               "BertProcessing or RobertaProcessing");
  HOCKET_ASSIGN_OR_RETURN(int32_t first, readPair(object, "cls"));
  HOCKET_ASSIGN_OR_RETURN(int32_t last, readPair(object, "sep"));
  prompt.before.insert(prompt.before.begin(), first);
  prompt.behind.push_back(last);
  return okStatus();
}

static StatusOr<PromptTemplate> readPostProcessor(const JsonPart &part) {
  PromptTemplate prompt;
  HOCKET_ASSIGN_OR_RETURN(JsonObject object, JsonObject::read(part));
  HOCKET_ASSIGN_OR_RETURN(std::string type, object.type());
  std::vector<JsonPart> elements = {part};
  if (type == "Sequence") {
    HOCKET_ASSIGN_OR_RETURN(JsonPart list, object.need("processors"));
    HOCKET_ASSIGN_OR_RETURN(elements, list.elements());
  }
  for (const JsonPart &element : elements) {
    HOCKET_ASSIGN_OR_RETURN(JsonObject one, JsonObject::read(element));
    HOCKET_RETURN_IF_ERROR(readProcessor(one, prompt));
  }
  return prompt;
}

//===----------------------------------------------------------------------===//
// Added tokens
//===----------------------------------------------------------------------===//

static StatusOr<AddedToken> readAddedToken(const JsonPart &part) {
  AddedToken token;
  HOCKET_ASSIGN_OR_RETURN(JsonObject object, JsonObject::read(part));
  HOCKET_ASSIGN_OR_RETURN(JsonPart number, object.need("id"));
  HOCKET_ASSIGN_OR_RETURN(int64_t id, number.whole(mostTokens));
  token.id = int32_t(id);
  HOCKET_ASSIGN_OR_RETURN(JsonPart content, object.need("content"));
  HOCKET_ASSIGN_OR_RETURN(token.text, content.string());
  if (token.text.empty())
    return content.wrong("expected a token that is not empty");
  HOCKET_ASSIGN_OR_RETURN(token.singleWord,
                          object.boolean("single_word", false));
  HOCKET_ASSIGN_OR_RETURN(token.stripLeft, object.boolean("lstrip", false));
  HOCKET_ASSIGN_OR_RETURN(token.stripRight, object.boolean("rstrip", false));
  HOCKET_ASSIGN_OR_RETURN(token.special, object.boolean("special", false));
  HOCKET_ASSIGN_OR_RETURN(token.normalized,
                          object.boolean("normalized", !token.special));
  return token;
}

static StatusOr<std::vector<AddedToken>>
readAddedTokens(const JsonPart &part, const Vocabulary &vocabulary) {
  std::vector<AddedToken> tokens;
  std::map<std::string, int32_t> seen;
  std::map<int32_t, std::string> named;
  HOCKET_ASSIGN_OR_RETURN(auto elements, part.elements());
  for (const JsonPart &element : elements) {
    HOCKET_ASSIGN_OR_RETURN(AddedToken token, readAddedToken(element));
    if (!seen.emplace(token.text, token.id).second)
      return element.wrong("the added token " + inQuotes(token.text) +
                           " appears twice");
    if (!named.emplace(token.id, token.text).second)
      return element.wrong("the number " + std::to_string(token.id) +
                           " is taken by " + inQuotes(named[token.id]));
    int32_t known = vocabulary.find(token.text);
    if (known != token.id && (known != noToken || vocabulary.has(token.id)))
      return element.wrong(
          "the added token " + inQuotes(token.text) + " has the number " +
          std::to_string(token.id) + ", but in the vocabulary " +
          (known != noToken
               ? "it has " + std::to_string(known)
               : "that is " + inQuotes(vocabulary.text(token.id))));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

static std::optional<int32_t>
findDocumentEnd(const std::vector<AddedToken> &tokens,
                const Vocabulary &vocabulary) {
  for (std::string_view name : documentEnds) {
    for (const AddedToken &token : tokens)
      if (token.text == name)
        return token.id;
    if (int32_t id = vocabulary.find(name); id != noToken)
      return id;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// What both models have in common.
namespace {
struct Document {
  JsonObject root, model;
  Vocabulary vocabulary; ///< As the file writes it.
  std::vector<AddedToken> added;
  Normalizers normalizers;
  PromptTemplate prompt;
};
} // namespace

/// Settings of a BPE that would change what it does.
static Status checkBytePairSettings(const JsonObject &model) {
  for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    HOCKET_ASSIGN_OR_RETURN(std::string value, model.string(key, ""));
    if (!value.empty())
      return model.find(key)->wrong("a byte-level BPE with " +
                                    std::string(key) + " is not supported");
  }
  HOCKET_ASSIGN_OR_RETURN(bool fallback, model.boolean("byte_fallback", false));
  if (fallback)
    return model.find("byte_fallback")
        ->wrong("a BPE over characters, as this is, is read from its "
                "tokenizer.model");
  if (const JsonPart *dropout = model.find("dropout"))
    if (dropout->raw() != "0" && dropout->raw() != "0.0")
      return dropout->wrong("expected no dropout, which would give other "
                            "tokens each time");
  return okStatus();
}

static StatusOr<std::unique_ptr<Tokenizer>> makeBytePair(const SourceText &file,
                                                         Document &&document) {
  HOCKET_RETURN_IF_ERROR(checkBytePairSettings(document.model));
  BytePairModel model;
  if (document.normalizers.bert)
    return document.root.find("normalizer")
        ->wrong("BertNormalizer goes with WordPiece, not with BPE");
  model.normalForm = document.normalizers.form;
  HOCKET_ASSIGN_OR_RETURN(JsonPart pre, document.root.need("pre_tokenizer"));
  HOCKET_RETURN_IF_ERROR(readPreTokenizer(pre, model));
  HOCKET_ASSIGN_OR_RETURN(model.ignoreMerges,
                          document.model.boolean("ignore_merges", false));
  HOCKET_ASSIGN_OR_RETURN(JsonPart merges, document.model.need("merges"));
  HOCKET_ASSIGN_OR_RETURN(
      model.merges, readJsonMerges(file, merges.raw(), document.vocabulary));
  model.endOfDocument = findDocumentEnd(document.added, document.vocabulary);
  model.vocabulary = toBytes(document.vocabulary);
  document.vocabulary = Vocabulary();
  model.prompt = std::move(document.prompt);
  if (model.normalForm)
    for (AddedToken &token : document.added)
      if (token.normalized)
        token.pattern = normalize(token.text, *model.normalForm);
  if (!model.added.build(std::move(document.added)))
    return document.root.find("added_tokens")->wrong("they are too long");
  auto made = BytePairTokenizer::create(std::move(model));
  if (!made.ok())
    return document.model.find("vocab")->wrong(made.status().message());
  return made;
}

static StatusOr<std::unique_ptr<Tokenizer>> makeWordPiece(Document &&document) {
  WordPieceModel model;
  if (document.normalizers.form)
    return document.root.find("normalizer")
        ->wrong("expected BertNormalizer, which goes with WordPiece");
  model.bert = document.normalizers.bert;
  HOCKET_ASSIGN_OR_RETURN(JsonPart pre, document.root.need("pre_tokenizer"));
  HOCKET_ASSIGN_OR_RETURN(JsonObject object, JsonObject::read(pre));
  HOCKET_ASSIGN_OR_RETURN(std::string type, object.type());
  if (type != "BertPreTokenizer")
    return pre.wrong("the pre-tokenizer " + inQuotes(type) +
                     " is not supported for WordPiece; expected "
                     "BertPreTokenizer");
  HOCKET_ASSIGN_OR_RETURN(
      model.continuation,
      document.model.string("continuing_subword_prefix", "##"));
  HOCKET_ASSIGN_OR_RETURN(model.unknownText,
                          document.model.string("unk_token", "[UNK]"));
  if (const JsonPart *most = document.model.find("max_input_chars_per_word")) {
    HOCKET_ASSIGN_OR_RETURN(int64_t characters, most->whole(1 << 20));
    model.mostCharacters = size_t(characters);
  }
  model.endOfDocument = findDocumentEnd(document.added, document.vocabulary);
  model.vocabulary = std::move(document.vocabulary);
  model.prompt = std::move(document.prompt);
  if (!model.added.build(std::move(document.added)))
    return document.root.find("added_tokens")->wrong("they are too long");
  auto made = WordPieceTokenizer::create(std::move(model));
  if (!made.ok())
    return document.model.part().wrong(made.status().message());
  return made;
}

/// "BPE" or "WordPiece"; older files do not say it.
static StatusOr<std::string> typeOfModel(const JsonObject &model) {
  HOCKET_ASSIGN_OR_RETURN(
      std::string type,
      model.string("type", model.find("merges") ? "BPE" : "WordPiece"));
  if (type == "BPE" || type == "WordPiece")
    return type;
  return model.part().wrong(
      "the model " + inQuotes(type) +
      " is not supported; expected BPE or "
      "WordPiece" +
      (type == "Unigram" ? ", or the tokenizer.model that this was made of"
                         : ""));
}

StatusOr<std::unique_ptr<Tokenizer>>
tokenizer::readTokenizerJson(const SourceText &file) {
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  JsonPart whole(file, file.text);
  HOCKET_ASSIGN_OR_RETURN(JsonObject root, JsonObject::read(whole));
  HOCKET_ASSIGN_OR_RETURN(JsonPart modelPart, root.need("model"));
  HOCKET_ASSIGN_OR_RETURN(JsonObject model, JsonObject::read(modelPart));
  HOCKET_ASSIGN_OR_RETURN(std::string type, typeOfModel(model));
  HOCKET_ASSIGN_OR_RETURN(JsonPart vocabulary, model.need("vocab"));
  Document document{root, model, {}, {}, {}, {}};
  HOCKET_ASSIGN_OR_RETURN(document.vocabulary,
                          readJsonVocabulary(file, vocabulary.raw()));
  if (const JsonPart *added = root.find("added_tokens")) {
    HOCKET_ASSIGN_OR_RETURN(document.added,
                            readAddedTokens(*added, document.vocabulary));
  }
  if (const JsonPart *part = root.find("normalizer")) {
    HOCKET_ASSIGN_OR_RETURN(document.normalizers, readNormalizer(*part));
  }
  if (const JsonPart *part = root.find("post_processor")) {
    HOCKET_ASSIGN_OR_RETURN(document.prompt, readPostProcessor(*part));
  }
  return type == "BPE" ? makeBytePair(file, std::move(document))
                       : makeWordPiece(std::move(document));
}
