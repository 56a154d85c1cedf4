//===- PrepareImages.cpp - What images become, of options and models ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/PrepareImages.h"

#include "base/File.h"
#include "base/json/JsonObject.h"

#include <filesystem>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::data;
using nlohmann::json;

static constexpr uint64_t configLimit = uint64_t(16) << 20;
static constexpr uint64_t mostPixels = 16384;

namespace {
/// What is known of the images of a model.
struct ImageNumbers {
  uint64_t imageSize = 0, patchSize = 0;
  std::string features;
};
} // namespace

/// A whole number of a model's configuration; 0 where there is none.
static uint64_t numberIn(const json &object, const char *key) {
  auto found = object.find(key);
  bool isThere = found != object.end() && found->is_number_unsigned();
  return isThere ? found->get<uint64_t>() : 0;
}

/// Fills in what the command line leaves out, of config.json.
static Status readModel(const std::string &folder, ImageNumbers &numbers) {
  std::string path = (std::filesystem::path(folder) / "config.json").string();
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return invalidArgument(
        "images have no size; write --image-size N and --patch-size N, or name "
        "the folder of a model with a config.json as --tokenizer");
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(path, configLimit));
  HOCKET_ASSIGN_OR_RETURN(json config, parseJsonObject(text, path, 1));
  auto vision = config.find("vision_config");
  if (vision == config.end() || !vision->is_object())
    return invalidArgument(path +
                           ": has no \"vision_config\", so this model sees no "
                           "images; write --image-size N and --patch-size N");
  if (numbers.imageSize == 0)
    numbers.imageSize = numberIn(*vision, "image_size");
  if (numbers.patchSize == 0)
    numbers.patchSize = numberIn(*vision, "patch_size");
  if (numbers.imageSize == 0 || numbers.patchSize == 0)
    return invalidArgument(path + ": its \"vision_config\" has no image_size "
                                  "or no patch_size; write --image-size N and "
                                  "--patch-size N");
  auto features = config.find("vision_feature_select_strategy");
  if (numbers.features.empty() && features != config.end() &&
      features->is_string())
    numbers.features = features->get<std::string>();
  return okStatus();
}

static StatusOr<ImageNumbers> numbersOf(const PrepareOptions &options) {
  const ImagePreparation &given = options.images;
  ImageNumbers numbers{given.imageSize, given.patchSize, given.features};
  if (numbers.imageSize == 0 || numbers.patchSize == 0)
    HOCKET_RETURN_IF_ERROR(readModel(options.tokenizer, numbers));
  if (numbers.features.empty())
    numbers.features = "default";
  if (numbers.features != "default" && numbers.features != "full")
    return invalidArgument("expected the features \"default\" or \"full\" of "
                           "an image, found \"" +
                           numbers.features + "\"");
  if (numbers.imageSize > mostPixels ||
      numbers.imageSize % numbers.patchSize != 0)
    return invalidArgument("an image of 1 to 16384 pixels a side is cut into "
                           "whole patches, not " +
                           std::to_string(numbers.imageSize) +
                           " pixels into patches of " +
                           std::to_string(numbers.patchSize));
  return numbers;
}

StatusOr<ImageEncoding>
data::imageEncodingOf(const PrepareOptions &options,
                      const tokenizer::Tokenizer &tokenizer) {
  HOCKET_ASSIGN_OR_RETURN(ImageNumbers numbers, numbersOf(options));
  const ImagePreparation &given = options.images;
  ImageEncoding encoding;
  encoding.imageSize = numbers.imageSize;
  uint64_t perSide = numbers.imageSize / numbers.patchSize;
  encoding.tokensPerImage = perSide * perSide + (numbers.features == "full");
  encoding.imagesPerSequence = given.perSequence;
  encoding.placeholder = given.token;
  encoding.folder = given.folder;
  std::vector<int32_t> tokens;
  tokenizer.encodeMarkup(given.token, tokens);
  if (tokens.size() != 1)
    return invalidArgument(
        options.tokenizer + ": makes " + std::to_string(tokens.size()) +
        " tokens of \"" + given.token +
        "\", which stands for an image; name a special token of it with "
        "--image-token");
  encoding.token = tokens.front();
  if (encoding.tokensPerImage >= options.packedLength)
    return invalidArgument(
        "an image has " + std::to_string(encoding.tokensPerImage) +
        " tokens, and a sequence " + std::to_string(options.packedLength) +
        "; write a larger --pack");
  return encoding;
}
