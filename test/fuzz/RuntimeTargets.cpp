//===- RuntimeTargets.cpp - Executables, weights, data, vocabularies ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"
#include "runtime/chat/ChatTemplate.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/hugging_face/Adapters.h"
#include "runtime/checkpoint/hugging_face/HuggingFace.h"
#include "runtime/data/ImageFile.h"
#include "runtime/data/IndexedDataset.h"
#include "runtime/data/LossMask.h"
#include "runtime/data/WordFile.h"
#include "runtime/data/images/Pixels.h"
#include "runtime/data/retrieval/EmbeddingFile.h"
#include "runtime/data/samples/NeighborFile.h"
#include "runtime/data/text/InputStream.h"
#include "runtime/inference/GenerationConfig.h"
#include "runtime/megatron/Model.h"
#include "runtime/program/check/ProgramCheck.h"
#include "runtime/program/file/ProgramFile.h"
#include "runtime/serve/Chat.h"
#include "runtime/serve/ChatFormat.h"
#include "runtime/serve/Completion.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "test/fuzz/Target.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

using namespace hocket;
using fuzz::asFile;
using fuzz::require;

static std::string parentOf(const std::string &path) {
  return std::filesystem::path(path).parent_path().string();
}

/// The bytes are what follows the header, which is made to fit: damage that
/// the digest finds is found at once.
static void readPayload(std::string_view payload) {
  static const std::string empty = *serializeProgram(program::Program());
  std::string file = empty.substr(0, 8);
  for (int i = 0; i < 8; ++i)
    file += char(uint64_t(payload.size()) >> (8 * i));
  Sha256::Digest digest = Sha256::of(payload);
  file.append(reinterpret_cast<const char *>(digest.data()), digest.size());
  file += payload;
  StatusOr<program::Program> program = parseProgram(file, "fuzz.hkx");
  if (program.ok())
    (void)checkProgram(*program);
}

static void readSafetensors(std::string_view bytes) {
  StatusOr<checkpoint::SafetensorsFile> file =
      checkpoint::SafetensorsFile::open(asFile("fuzz.safetensors", bytes));
  if (!file.ok())
    return;
  for (const checkpoint::TensorInfo &tensor : file->tensors())
    require(file->read(tensor).ok(), "a tensor of a sound file can be read");
}

/// Version 1 of a manifest has no digest; the files that it names are beside.
static void readManifest(std::string_view bytes) {
  std::string path = asFile("manifest.json", bytes);
  StatusOr<checkpoint::Checkpoint> opened =
      checkpoint::Checkpoint::open(parentOf(path));
  if (opened.ok())
    (void)opened->tensors();
}

/// Of a tree that shares its nodes, a few are enough.
static void readTensors(const megatron::TorchFile &file,
                        const megatron::PickleValue &value, int &left) {
  if (--left < 0)
    return;
  if (megatron::TorchFile::isTensor(value)) {
    auto tensor = file.tensor(value, "fuzz");
    if (!tensor.ok())
      return;
    require(tensor->bytes.bytes ==
                *checkpoint::tensorBytes(tensor->shape, tensor->type),
            "a tensor has the bytes of its shape");
    require(tensor->bytes.readAll(UINT64_MAX).ok(), "a tensor can be read");
  }
  for (const megatron::PickleValue *item : value.items)
    readTensors(file, *item, left);
}

static void readTorchFile(std::string_view bytes) {
  auto range = megatron::FileRange::open(asFile("fuzz.pt", bytes));
  if (!range.ok())
    return;
  auto file = megatron::TorchFile::open(*range);
  int most = 4096;
  if (file.ok())
    readTensors(*file, file->root(), most);
}

/// The shards are beside.
static void readMetadata(std::string_view bytes) {
  std::string path = asFile(".metadata", bytes);
  auto model = megatron::openModel(parentOf(path));
  if (!model.ok())
    return;
  for (const auto &[name, tensor] : model->tensors) {
    std::vector<uint8_t> row(tensor.columns() *
                             checkpoint::elementBytes(tensor.type));
    if (tensor.shape[0])
      require(tensor.readRows(0, 1, row).ok(), "a row can be read");
  }
}

static void readTokenFile(std::string_view bytes) {
  static const std::string tokens(4096, '\1');
  asFile("fuzz.bin", tokens);
  std::string path = asFile("fuzz.idx", bytes);
  StatusOr<data::IndexedDataset> dataset =
      data::IndexedDataset::open(path.substr(0, path.size() - 4));
  if (!dataset.ok())
    return;
  for (uint64_t i = 0; i < std::min<uint64_t>(dataset->sequences(), 64); ++i)
    (void)dataset->byteOffset(i);
}

/// Text that is compressed as `name` says, up to 16 MiB of it: a short file can
/// hold a long one.
static fuzz::Target compressedNamed(const char *name) {
  return [name](std::string_view bytes) {
    std::string path = asFile(name, bytes);
    auto stream = data::InputStream::open(path);
    if (!stream.ok())
      return;
    std::string text(size_t(1) << 16, '\0');
    for (int part = 0; part < 256; ++part) {
      StatusOr<size_t> got = (*stream)->read(text.data(), text.size());
      require((*stream)->consumed() <= bytes.size(),
              "no more is used than the file has");
      if (!got.ok() || *got < text.size())
        return;
    }
  };
}

/// What a tokenizer gives must be tokens of its vocabulary, and text that it
/// can say again without harm.
static void readTokenizer(const std::string &path) {
  auto opened = tokenizer::openTokenizer(path);
  if (!opened.ok())
    return;
  const tokenizer::Tokenizer &read = **opened;
  std::vector<int32_t> tokens;
  for (const char *text : {"", "Hello, world's  \n end",
                           "\xc3\xa9\xe4\xb8\xad"
                           "\xf0\x9f\x98\x80",
                           "<|endoftext|>[UNK]</s>"}) {
    read.encode(text, tokens);
    read.encodePrompt(text, tokens);
    require(read.splitPoint(text) <= std::string_view(text).size(),
            "a text is cut within it");
  }
  for (int32_t token : tokens)
    require(token >= 0 && uint64_t(token) < read.vocabularySize(),
            "a token is one of the vocabulary");
  (void)read.decode(tokens);
  (void)read.decode(std::vector<int32_t>{-1, INT32_MAX, 0});
}

static fuzz::Target tokenizerNamed(const char *name) {
  return [name](std::string_view bytes) { readTokenizer(asFile(name, bytes)); };
}

/// vocab.json up to a zero byte, merges.txt behind it.
static void readMerges(std::string_view bytes) {
  size_t end = std::min(bytes.find('\0'), bytes.size());
  std::string path = asFile("vocab.json", bytes.substr(0, end));
  asFile("merges.txt", bytes.substr(std::min(end + 1, bytes.size())));
  readTokenizer(path);
}

/// A model of bytes; with a chat template it sees images, in the place of '@'.
static serve::ServedModel makeModel(const std::string &chatTemplate) {
  auto tokenizer = tokenizer::openTokenizer("byte");
  auto program = std::make_shared<program::Program>();
  program->mutable_model()->set_vocab_size((*tokenizer)->vocabularySize());
  program->mutable_model()->set_sequence_length(64);
  serve::ServedModel model{"fuzz", program, *std::move(tokenizer), 0};
  if (chatTemplate.empty())
    return model;
  auto &images = *program->mutable_training()->mutable_images();
  images.set_image_token('@');
  images.set_images(2);
  images.set_image_size(8);
  images.set_patch_size(4);
  auto form = chat::ChatTemplate::parse(chatTemplate, "fuzz.jinja");
  serve::ChatFormat format(*std::move(form));
  format.mostPixels = uint64_t(1) << 20;
  model.chat = std::make_shared<const serve::ChatFormat>(std::move(format));
  return model;
}

/// What a model would write that goes on with what the prompt begins with.
static std::vector<inference::GeneratedText>
answersTo(const serve::Completion &completion) {
  std::vector<inference::GeneratedText> texts;
  for (const serve::Question &question : completion.questions) {
    const inference::GenerateRequest &request = question.request;
    require(request.prompt.size() + request.tokens <= 65,
            "what is asked for fits into the model");
    inference::GeneratedText &text = texts.emplace_back();
    text.tokens.assign(request.tokens, request.prompt.front());
    text.logProbabilities.assign(request.tokens, -1);
    text.likeliest.resize(request.tokens);
    if (request.tellsOfPrompt)
      for (size_t i = 1; i < request.prompt.size(); ++i)
        text.prompt.push_back({{request.prompt[i], -1}, {}});
  }
  return texts;
}

/// A request for an answer, of a template that takes texts and of one that
/// takes parts.
static void readChat(std::string_view bytes) {
  static const std::vector<serve::ServedModel> models = {
      makeModel("{% for m in messages %}{{ m.role }}{{ m.content }}"
                "{% endfor %}{{ eos_token }}"),
      makeModel("{% for m in messages %}{% for p in m.content %}"
                "{{ '@' if p.type == 'image' else p.text }}"
                "{% endfor %}{% endfor %}")};
  for (const serve::ServedModel &model : models) {
    (void)serve::tokenizeJson(bytes, model);
    auto parsed = serve::parseChat(bytes, model);
    if (!parsed.ok())
      continue;
    for (const serve::Question &question : parsed->questions)
      require(inference::checkImages(*model.program, question.request.images,
                                     question.request.prompt)
                  .ok(),
              "a prompt has the tokens of its images");
    (void)serve::chatJson(*parsed, answersTo(*parsed), model, 1);
  }
}

/// A request that a server gets, as each of its parsers reads it; and the
/// answer.
static void readRequest(std::string_view bytes) {
  static const serve::ServedModel model = makeModel("");
  readChat(bytes);
  (void)serve::tokenizeJson(bytes, model);
  (void)serve::detokenizeJson(bytes, model);
  auto completion = serve::parseCompletion(bytes, model);
  auto megatron = serve::parseMegatron(bytes, model);
  for (const auto *parsed : {&completion, &megatron}) {
    if (!parsed->ok())
      continue;
    std::vector<inference::GeneratedText> texts = answersTo(**parsed);
    (void)serve::completionJson(**parsed, texts, model, 1);
    (void)serve::megatronJson(**parsed, texts, model);
  }
}

/// Of two messages, with and without the prompt for an answer.
static void renderTemplate(std::string_view bytes) {
  auto parsed = chat::ChatTemplate::parse(std::string(bytes), "fuzz.jinja");
  if (!parsed.ok())
    return;
  auto message = [](const char *role, const char *text) {
    return chat::Value::dict({{"role", role}, {"content", text}});
  };
  chat::Value messages = chat::Value::list(
      {message("user", "to be"), message("assistant", "or not")});
  (void)parsed->render(messages, true);
  auto learned = parsed->renderToLearn(messages, parsed->contentForms());
  if (!learned.ok())
    return;
  for (auto [begin, end] : learned->answers)
    require(begin <= end && end <= learned->text.size(),
            "an answer is a part of the text");
}

static void readLossMask(std::string_view bytes) {
  std::string path = asFile("fuzz.mask", bytes);
  std::string prefix = path.substr(0, path.size() - 5);
  constexpr uint64_t tokens = 13; // As the seed has.
  auto mask = data::LossMask::open(prefix, tokens);
  if (!mask.ok() || !*mask)
    return;
  std::vector<uint8_t> learned(tokens);
  require((*mask)->read(0, learned).ok(), "a sound mask can be read");
}

/// What was read is written as it was, but for bits behind the last token.
static void readWords(std::string_view bytes) {
  std::string path = asFile("fuzz.words", bytes);
  std::string prefix = path.substr(0, path.size() - 6);
  constexpr uint64_t tokens = 13; // As the seed has.
  auto words = data::readWordFile(prefix, tokens);
  if (!words.ok() || !*words)
    return;
  require(data::writeWordFile(prefix, tokens, **words).ok(),
          "what was read can be written");
  auto again = data::readWordFile(prefix, tokens);
  require(again.ok() && *again == *words, "what was written is read again");
}

/// Up to a million pixels: a short file can have many.
static void readImage(std::string_view bytes) {
  data::ImageLimits limits;
  limits.pixels = uint64_t(1) << 20;
  auto image = data::decodeImage(bytes, limits);
  if (!image.ok())
    return;
  require(image->pixels.size() == image->width * image->height * 3,
          "an image has the pixels of its size");
  constexpr uint64_t size = 8;
  require(data::resizeAndCrop(*image, size).size() == size * size * 3,
          "an image can be cropped");
}

static void readImageFile(std::string_view bytes) {
  std::string path = asFile("fuzz.images", bytes);
  std::string prefix = path.substr(0, path.size() - 7);
  constexpr uint64_t documents = 2, tokens = 14; // As the seed has.
  auto file = data::ImageFile::open(prefix, documents, tokens);
  if (!file.ok() || !*file)
    return;
  std::vector<uint8_t> pixels((*file)->head().imageBytes());
  for (uint64_t d = 0; d < documents; ++d)
    for (uint32_t image : (*file)->imagesOf(d))
      require((*file)->read(image, pixels).ok(), "a sound image can be read");
}

/// What pages hold, as their checks keep other damage out.
static void readRowFile(std::string_view bytes) {
  std::string pages;
  for (uint64_t number = 0; number * data::pageContent < bytes.size();
       ++number) {
    auto content = bytes.substr(number * data::pageContent, data::pageContent);
    auto page = data::makePage(number, content.data(), content.size());
    pages.append(reinterpret_cast<const char *>(page.data()), page.size());
  }
  auto file =
      data::RowFile::open(asFile("fuzz.neighbors", pages), data::neighborsKind);
  if (!file.ok() || file->head().rows == 0)
    return;
  std::vector<uint8_t> row(file->head().rowBytes);
  for (uint64_t at : {uint64_t(0), file->head().rows - 1})
    require(file->read(at, 1, row.data()).ok(), "a sound row can be read");
}

static void readNpy(std::string_view bytes) {
  constexpr uint64_t rows = 3; // As the seed has.
  auto file =
      data::openNpyEmbeddings(asFile("fuzz.npy", bytes), rows, "chunks");
  if (!file.ok())
    return;
  data::RowMatrix all(rows, (*file)->dim());
  (void)(*file)->read(0, rows, all);
}

static void readAdapterConfig(std::string_view bytes) {
  std::string path = asFile("adapter_config.json", bytes);
  for (const char *family : {"llama", "qwen2_moe"})
    (void)checkpoint::readAdapterConfig(parentOf(path), family);
}

/// What is accepted can be written with.
static void readGenerationConfig(std::string_view bytes) {
  std::string path = asFile("generation_config.json", bytes);
  (void)chat::readModelEnds(path);
  auto config = inference::readGenerationConfig(path);
  if (!config.ok())
    return;
  require(inference::checkSampling(config->choices.over({})).ok(),
          "what was read is in range");
  (void)config->notes({});
}

void fuzz::addRuntimeTargets(std::map<std::string, Target> &targets) {
  targets["hkx"] = readPayload;
  targets["hkx-file"] = [](std::string_view bytes) {
    (void)parseProgram(bytes, "fuzz.hkx");
  };
  targets["safetensors"] = readSafetensors;
  targets["safetensors-index"] = [](std::string_view bytes) {
    std::string path = asFile("model.safetensors.index.json", bytes);
    (void)checkpoint::HuggingFaceFolder::open(parentOf(path));
  };
  targets["manifest"] = readManifest;
  targets["pickle"] = [](std::string_view bytes) {
    (void)megatron::Pickle::parse(bytes);
  };
  targets["torch-save"] = readTorchFile;
  targets["torch-metadata"] = readMetadata;
  targets["idx"] = readTokenFile;
  targets["gzip"] = compressedNamed("text.gz");
  targets["xz"] = compressedNamed("text.xz");
  targets["zstandard"] = compressedNamed("text.zst");
  targets["tokenizer-json"] = tokenizerNamed("tokenizer.json");
  targets["sentencepiece"] = tokenizerNamed("tokenizer.model");
  targets["wordpiece"] = tokenizerNamed("vocab.txt");
  targets["merges"] = readMerges;
  targets["request"] = readRequest;
  targets["chat-template"] = renderTemplate;
  targets["generation-config"] = readGenerationConfig;
  targets["loss-mask"] = readLossMask;
  targets["words"] = readWords;
  targets["image"] = readImage;
  targets["images-file"] = readImageFile;
  targets["neighbors"] = readRowFile;
  targets["npy"] = readNpy;
  targets["adapter-config"] = readAdapterConfig;
}
