//===- ImageFile.cpp - The images of conversations ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/ImageFile.h"

#include "base/CheckedMath.h"
#include "runtime/data/SideFile.h"

#include <array>
#include <string_view>

using namespace hocket;
using namespace hocket::data;

static constexpr SideFileKind imagesKind{.extension = ".images",
                                         .magic = "HKTIMGS1",
                                         .numbers = 8,
                                         .purpose = "for a file of images",
                                         .foreign = "is no file of images"};
static constexpr uint64_t mostSide = 16384, mostImages = 0xffffffff;
static constexpr uint64_t mostTokens = uint64_t(1) << 31;

using HeadNumbers = std::array<uint64_t, imagesKind.numbers>;

std::string data::imageFilePath(const std::string &prefix) {
  return sideFilePath(prefix, imagesKind);
}

Status data::removeImageFile(const std::string &prefix) {
  return removeSideFile(prefix, imagesKind);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Of a file with this head; nothing if it cannot be.
static std::optional<uint64_t> sizeOf(const ImageFileHead &head) {
  auto pixels = checkedMultiply(head.images, head.imageBytes());
  auto begins = checkedMultiply(head.documents + 1, 8);
  auto uses = checkedMultiply(head.uses, 4);
  if (!pixels || !begins || !uses)
    return std::nullopt;
  auto tables = checkedAdd(*begins, *uses);
  auto body = tables ? checkedAdd(*pixels, *tables) : std::nullopt;
  return body ? checkedAdd(*body, imagesKind.headBytes()) : std::nullopt;
}

static bool isSound(const ImageFileHead &head) {
  return head.imageSize > 0 && head.imageSize <= mostSide &&
         head.tokensPerImage > 0 && head.tokensPerImage <= mostTokens &&
         head.imageToken < mostTokens && head.images <= mostImages &&
         head.uses <= head.tokens / head.tokensPerImage;
}

StatusOr<std::optional<ImageFile>> ImageFile::open(const std::string &prefix,
                                                   uint64_t documents,
                                                   uint64_t tokens) {
  HOCKET_ASSIGN_OR_RETURN(auto side, SideFile::open(prefix, imagesKind));
  if (!side)
    return std::optional<ImageFile>();
  HOCKET_RETURN_IF_ERROR(side->checkCount(documents, "documents", ".idx"));
  const std::vector<uint64_t> &numbers = side->numbers();
  ImageFileHead head{numbers[0], numbers[1], numbers[2], numbers[3],
                     numbers[4], numbers[5], numbers[6], numbers[7]};
  if (head.tokens != tokens)
    return side->wrong("is of " + std::to_string(head.tokens) +
                       " tokens, and " + prefix + ".bin has " +
                       std::to_string(tokens) + "; prepare the data again");
  if (!isSound(head))
    return side->wrong("has numbers that do not go together");
  if (side->file().size() != sizeOf(head))
    return side->wrong("has another size than " + std::to_string(head.images) +
                       " images of " + std::to_string(documents) +
                       " documents");
  ImageFile file(std::move(*side).takeFile(), head);
  HOCKET_RETURN_IF_ERROR(file.readUses());
  return std::optional<ImageFile>(std::move(file));
}

Status ImageFile::readUses() {
  uint64_t at = imagesKind.headBytes() + about.images * about.imageBytes();
  begins.resize(about.documents + 1);
  HOCKET_RETURN_IF_ERROR(file.read(at, begins.data(), 8 * begins.size()));
  uses.resize(about.uses);
  at += 8 * begins.size();
  HOCKET_RETURN_IF_ERROR(file.read(at, uses.data(), 4 * uses.size()));
  auto wrong = [&](uint64_t document) {
    return dataLoss(path() + ": the images of document " +
                    std::to_string(document) + " are not in it");
  };
  if (begins.front() != 0 || begins.back() != about.uses)
    return wrong(0);
  for (uint64_t d = 0; d < about.documents; ++d) {
    if (begins[d + 1] < begins[d] || begins[d + 1] > about.uses ||
        begins[d + 1] - begins[d] > about.mostPerDocument)
      return wrong(d);
    for (uint32_t image : imagesOf(d))
      if (image >= about.images)
        return wrong(d);
  }
  return okStatus();
}

std::span<const uint32_t> ImageFile::imagesOf(uint64_t document) const {
  return std::span(uses).subspan(begins[document],
                                 begins[document + 1] - begins[document]);
}

Status ImageFile::read(uint32_t image, std::span<uint8_t> pixels) const {
  return file.read(imagesKind.headBytes() + image * about.imageBytes(),
                   pixels.data(), pixels.size());
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

StatusOr<ImageFileWriter> ImageFileWriter::create(const std::string &prefix,
                                                  const ImageFileHead &about) {
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file,
                          createSideFile(prefix, imagesKind, HeadNumbers{}));
  ImageFileWriter writer(std::move(file), about);
  writer.about.documents = writer.about.images = writer.about.uses = 0;
  return writer;
}

StatusOr<uint32_t> ImageFileWriter::add(std::span<const uint8_t> pixels) {
  std::string_view bytes(reinterpret_cast<const char *>(pixels.data()),
                         pixels.size());
  auto [known, isNew] =
      this->known.try_emplace(Sha256::of(bytes), uint32_t(about.images));
  if (!isNew)
    return known->second;
  if (about.images == mostImages)
    return resourceExhausted("there are more than 2^32 images");
  ++about.images;
  HOCKET_RETURN_IF_ERROR(file.append(bytes));
  return known->second;
}

void ImageFileWriter::endDocument(std::span<const uint32_t> images) {
  uses.insert(uses.end(), images.begin(), images.end());
  begins.push_back(uses.size());
}

Status ImageFileWriter::finish(uint64_t tokens) {
  about.tokens = tokens;
  about.documents = begins.size() - 1;
  about.uses = uses.size();
  HOCKET_RETURN_IF_ERROR(file.append(begins.data(), 8 * begins.size()));
  HOCKET_RETURN_IF_ERROR(file.append(uses.data(), 4 * uses.size()));
  HOCKET_RETURN_IF_ERROR(writeSideNumbers(
      file, imagesKind,
      HeadNumbers{about.documents, about.tokens, about.imageSize,
                  about.tokensPerImage, about.imageToken, about.mostPerDocument,
                  about.images, about.uses}));
  return file.commit();
}
