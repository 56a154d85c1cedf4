//===- Tokenizer.cpp - The bytes, and tokenizers of files -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/Tokenizer.h"

#include "base/Sha256.h"
#include "runtime/tokenizer/BytePairTokenizer.h"
#include "runtime/tokenizer/EndOfDocument.h"
#include "runtime/tokenizer/JsonParts.h"
#include "runtime/tokenizer/SentencePieceTokenizer.h"
#include "runtime/tokenizer/TokenizerJson.h"
#include "runtime/tokenizer/VocabularyReader.h"
#include "runtime/tokenizer/WordPieceTokenizer.h"

#include <algorithm>
#include <filesystem>

using namespace hocket;
using namespace hocket::tokenizer;

using Made = StatusOr<std::unique_ptr<Tokenizer>>;

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

namespace {

class ByteTokenizer : public Tokenizer {
public:
  std::string name() const override { return "byte"; }
  uint64_t vocabularySize() const override { return 257; }
  std::optional<int32_t> endOfDocument() const override { return 256; }

  void encode(std::string_view text, std::vector<int32_t> &tokens,
              TextPart part) const override {
    size_t begin = tokens.size();
    tokens.resize(begin + text.size());
    std::transform(text.begin(), text.end(), tokens.begin() + begin,
                   [](char c) { return int32_t(uint8_t(c)); });
  }

  std::string decode(std::span<const int32_t> tokens,
                     SpecialTokens special) const override;
  size_t splitPoint(std::string_view text) const override;
  std::optional<std::string> tokenText(int32_t token) const override;
};

} // namespace

static constexpr const char *endOfBytes = "<|endoftext|>";

std::string ByteTokenizer::decode(std::span<const int32_t> tokens,
                                  SpecialTokens special) const {
  std::string text;
  text.reserve(tokens.size());
  for (int32_t token : tokens) {
    if (token >= 0 && token < 256)
      text.push_back(char(token));
    else if (token != 256)
      text += "\xef\xbf\xbd";
    else if (special == SpecialTokens::Shown)
      text += endOfBytes;
  }
  return text;
}

/// Keeps a character that may be incomplete for the next part.
size_t ByteTokenizer::splitPoint(std::string_view text) const {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    auto byte = uint8_t(text[text.size() - back]);
    if (byte < 0x80)
      break;
    if (byte >= 0xc0)
      return text.size() - back;
  }
  return text.size();
}

std::optional<std::string> ByteTokenizer::tokenText(int32_t token) const {
  if (token < 0 || token > 256)
    return std::nullopt;
  return token == 256 ? endOfBytes : std::string(1, char(token));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {
/// The files of one tokenizer, and what they add up to.
class Opener {
public:
  Made open(const std::string &path);

private:
  StatusOr<SourceText> read(const std::string &path);
  Made openFolder(const std::string &path);
  Made openJson(const std::string &path);
  Made openMerges(const std::string &folder);
  Made openPieces(const std::string &path);
  Made openWords(const std::string &path);

  Sha256 digest;
};
} // namespace

static bool exists(const std::string &path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

/// The folder of a file, as a prefix of the names in it.
static std::string folderOf(const std::string &path) {
  return path.substr(0, path.rfind('/') + 1);
}

StatusOr<SourceText> Opener::read(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(SourceText file, SourceText::read(path));
  digest.update(file.text.data(), file.text.size());
  return file;
}

Made Opener::openJson(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(SourceText file, read(path));
  return readTokenizerJson(file);
}

Made Opener::openMerges(const std::string &folder) {
  HOCKET_ASSIGN_OR_RETURN(SourceText file, read(folder + "vocab.json"));
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  HOCKET_ASSIGN_OR_RETURN(Vocabulary characters,
                          readJsonVocabulary(file, file.text));
  BytePairModel model;
  HOCKET_ASSIGN_OR_RETURN(SourceText lines, read(folder + "merges.txt"));
  HOCKET_ASSIGN_OR_RETURN(model.merges, readLineMerges(lines, characters));
  for (std::string_view name : documentEnds)
    if (int32_t id = characters.find(name); id != noToken) {
      AddedToken token;
      token.id = id;
      token.text = name;
      token.special = true;
      model.added.build({std::move(token)});
      model.endOfDocument = id;
      break;
    }
  model.vocabulary = toBytes(characters);
  auto made = BytePairTokenizer::create(std::move(model));
  if (!made.ok())
    return made.status().withContext(file.path);
  return made;
}

Made Opener::openPieces(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(SourceText file, read(path));
  HOCKET_ASSIGN_OR_RETURN(SentencePieceModel model,
                          readSentencePieceModel(file));
  auto made = SentencePieceTokenizer::create(std::move(model));
  if (!made.ok())
    return made.status().withContext(path);
  return made;
}

Made Opener::openWords(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(SourceText file, read(path));
  std::optional<bool> lowerCase;
  std::string config = folderOf(path) + "tokenizer_config.json";
  if (exists(config)) {
    HOCKET_ASSIGN_OR_RETURN(SourceText settings, read(config));
    HOCKET_ASSIGN_OR_RETURN(JsonObject object,
                            JsonObject::read({settings, settings.text}));
    if (const JsonPart *part = object.find("do_lower_case")) {
      HOCKET_ASSIGN_OR_RETURN(lowerCase, part->boolean());
    }
  }
  return readWordPieceFile(file, lowerCase);
}

Made Opener::openFolder(const std::string &path) {
  std::string folder = path.ends_with('/') ? path : path + "/";
  if (exists(folder + "tokenizer.json"))
    return openJson(folder + "tokenizer.json");
  if (exists(folder + "tokenizer.model"))
    return openPieces(folder + "tokenizer.model");
  if (exists(folder + "vocab.json"))
    return openMerges(folder);
  if (exists(folder + "vocab.txt"))
    return openWords(folder + "vocab.txt");
  return invalidArgument(path + ": holds no tokenizer: expected "
                                "tokenizer.json, tokenizer.model, vocab.json "
                                "with merges.txt, or vocab.txt");
}

Made Opener::open(const std::string &path) {
  std::error_code error;
  std::string name = path.substr(path.rfind('/') + 1);
  Made made = invalidArgument("");
  if (std::filesystem::is_directory(path, error))
    made = openFolder(path);
  else if (!exists(path))
    return notFound(path + ": there is no such file; expected the tokenizer "
                           "byte, or a folder, tokenizer.json, "
                           "tokenizer.model, vocab.json or vocab.txt");
  else if (name == "vocab.json" || name == "merges.txt")
    made = openMerges(folderOf(path));
  else if (name.ends_with(".json"))
    made = openJson(path);
  else if (name.ends_with(".model"))
    made = openPieces(path);
  else if (name.ends_with(".txt"))
    made = openWords(path);
  else
    return invalidArgument(path + ": is no tokenizer by its name: expected "
                                  "tokenizer.json, tokenizer.model, vocab.json "
                                  "or vocab.txt");
  if (made.ok())
    (*made)->setDigest(toHex(digest.finish()));
  return made;
}

Made tokenizer::openTokenizer(const std::string &path) {
  if (path != "byte")
    return Opener().open(path);
  std::unique_ptr<Tokenizer> made = std::make_unique<ByteTokenizer>();
  made->setDigest("byte");
  return made;
}
