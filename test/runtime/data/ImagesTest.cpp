//===- ImagesTest.cpp - Images to pixels ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"
#include "runtime/data/images/Pixels.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <zlib.h>

using namespace hocket;
using namespace hocket::data;
using test::fromHex;

namespace {

/// A line of golden/images.txt: its kind, then words.
using ImageWords = std::vector<std::string>;

std::vector<ImageWords> goldenImages(const std::string &kind) {
  std::ifstream file(HOCKET_SOURCE_DIR "/test/runtime/data/golden/images.txt");
  EXPECT_TRUE(file);
  std::vector<ImageWords> lines;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    ImageWords words{std::istream_iterator<std::string>(in), {}};
    if (words.front() == kind)
      lines.push_back(std::move(words));
  }
  EXPECT_FALSE(lines.empty());
  return lines;
}

const std::map<std::string, std::string> &imageFiles() {
  static const auto all = [] {
    std::map<std::string, std::string> result;
    for (const ImageWords &words : goldenImages("image"))
      result[words[1]] = fromHex(words[2]);
    return result;
  }();
  return all;
}

RgbImage decodedFile(const std::string &name) {
  auto image = decodeImage(imageFiles().at(name));
  EXPECT_TRUE(image.ok()) << name << ": " << image.status().message();
  return image.ok() ? *std::move(image) : RgbImage{1, 1, {0, 0, 0}};
}

std::string pixelText(const std::vector<uint8_t> &bytes) {
  return {bytes.begin(), bytes.end()};
}

std::string decodeMessage(const std::string &bytes,
                          const ImageLimits &limits = {}) {
  auto image = decodeImage(bytes, limits);
  return image.ok() ? "it was decoded" : image.status().message();
}

/// A PNG file with other bytes from `at` on in its header, whose checksum fits.
std::string withPngHeader(std::string png, size_t at,
                          const std::string &bytes) {
  png.replace(at, bytes.size(), bytes);
  auto sum =
      uint32_t(crc32(0, reinterpret_cast<const Bytef *>(png.data()) + 12, 17));
  for (int i = 0; i < 4; ++i)
    png[29 + size_t(i)] = char(sum >> (24 - 8 * i));
  return png;
}

//===----------------------------------------------------------------------===//
// As transformers
//===----------------------------------------------------------------------===//

TEST(Images, PixelsAreThoseOfTransformers) {
  size_t count = 0;
  for (const ImageWords &words : goldenImages("decoded")) {
    RgbImage image = decodedFile(words[1]);
    EXPECT_EQ(std::to_string(image.width), words[2]) << words[1];
    EXPECT_EQ(std::to_string(image.height), words[3]) << words[1];
    EXPECT_EQ(pixelText(image.pixels), fromHex(words[4])) << words[1];
    ++count;
  }
  EXPECT_EQ(count, imageFiles().size());
}

TEST(Images, CropsAreThoseOfTransformers) {
  for (const ImageWords &words : goldenImages("crop"))
    EXPECT_EQ(
        pixelText(resizeAndCrop(decodedFile(words[1]), std::stoul(words[2]))),
        fromHex(words[3]))
        << words[1] << " " << words[2];
}

TEST(Images, ResizingIsThatOfPillow) {
  for (const ImageWords &words : goldenImages("resize")) {
    RgbImage image{std::stoul(words[1]), std::stoul(words[2]), {}};
    for (uint64_t i = 0; i < image.width * image.height * 3; ++i)
      image.pixels.push_back(uint8_t((i * 2654435761u & 0xffffffffu) >> 24));
    auto crop = resizeAndCrop(image, std::stoul(words[3]));
    EXPECT_EQ(toHex(Sha256::of(pixelText(crop))), words[4])
        << words[1] << " x " << words[2] << " to " << words[3];
  }
}

TEST(Images, PatchesAreThoseOfTransformers) {
  for (const ImageWords &words : goldenImages("patches")) {
    uint64_t size = std::stoul(words[2]), patch = std::stoul(words[3]);
    Patches patches(size, patch, PixelScale());
    std::vector<float> out(patches.count() * patches.width());
    patches.cut(resizeAndCrop(decodedFile(words[1]), size), out);
    std::string bytes(out.size() * 4, '\0');
    std::memcpy(bytes.data(), out.data(), bytes.size());
    EXPECT_EQ(bytes, fromHex(words[4])) << words[1];
  }
}

TEST(Images, ALongImageCostsNoMoreThanItsCrop) {
  RgbImage image{1, uint64_t(1) << 20, {}};
  image.pixels.assign(image.height * 3, 7); // Whole: 128 x 2^27 pixels.
  auto crop = resizeAndCrop(image, 128);
  EXPECT_EQ(crop, std::vector<uint8_t>(128 * 128 * 3, 7));
}

//===----------------------------------------------------------------------===//
// Hostile files
//===----------------------------------------------------------------------===//

TEST(Images, WhatIsNoImageIsRefused) {
  EXPECT_EQ(decodeMessage(""), "is empty, and no image");
  EXPECT_EQ(decodeMessage("GIF89a"), "expected a PNG or JPEG file, found a GIF "
                                     "file");
  EXPECT_EQ(decodeMessage("RIFF1234WEBPVP8 "),
            "expected a PNG or JPEG file, found a WebP file");
  EXPECT_EQ(decodeMessage("<svg/>"),
            "expected a PNG or JPEG file, found something "
            "else");
}

TEST(Images, EveryCutIsNoticed) {
  for (const auto &[name, bytes] : imageFiles()) {
    // The end of a JPEG file's image is not needed for its pixels.
    size_t end = name.starts_with("jpeg") ? bytes.size() - 8 : bytes.size();
    for (size_t size = 0; size < end; ++size) {
      auto image = decodeImage(std::string_view(bytes).substr(0, size));
      EXPECT_FALSE(image.ok()) << name << " cut to " << size;
      EXPECT_EQ(image.status().code(), StatusCode::DataLoss);
    }
  }
  const std::string &png = imageFiles().at("rgb"),
                    &jpeg = imageFiles().at("jpeg420");
  EXPECT_EQ(decodeMessage(png.substr(0, png.size() - 100)),
            "is a damaged PNG file: the file is cut short");
  EXPECT_EQ(decodeMessage(jpeg.substr(0, jpeg.size() - 20)),
            "is a damaged JPEG file: the file is cut short");
}

TEST(Images, DamageOfPngIsNoticed) {
  std::string png = imageFiles().at("rgb");
  png[60] ^= 1;
  EXPECT_TRUE(decodeMessage(png).starts_with("is a damaged PNG file: "));
}

TEST(Images, SizesThatLieAreRefused) {
  // 60,000 x 60,000 pixels in a few bytes.
  std::string many("\0\0\xea\x60\0\0\xea\x60", 8);
  std::string png = imageFiles().at("gray");
  EXPECT_EQ(decodeMessage(withPngHeader(png, 16, many)),
            "says that it has 60000 x 60000 pixels; expected at most 67108864");
  // 8,000 x 8,000, and pixels of a few.
  std::string lies("\0\0\x1f\x40\0\0\x1f\x40", 8);
  EXPECT_TRUE(decodeMessage(withPngHeader(png, 16, lies))
                  .starts_with("is a damaged PNG file: "));
  EXPECT_TRUE(decodeMessage(withPngHeader(png, 16, std::string(8, '\0')))
                  .starts_with("is a damaged PNG file: "));
  std::string jpeg = imageFiles().at("jpeg444");
  size_t frame = jpeg.find("\xff\xc0");
  std::string large = jpeg;
  large.replace(frame + 5, 4, "\xea\x60\xea\x60");
  EXPECT_EQ(decodeMessage(large),
            "says that it has 60000 x 60000 pixels; expected at most 67108864");
  large.replace(frame + 5, 4, "\x1f\x40\x1f\x40");
  EXPECT_EQ(decodeMessage(large), "is a damaged JPEG file: Corrupt JPEG data: "
                                  "premature end of data segment");
  large.replace(frame + 5, 4, std::string(4, '\0'));
  EXPECT_TRUE(decodeMessage(large).starts_with("is a damaged JPEG file: "));
  ImageLimits limits;
  limits.pixels = 19 * 13 - 1;
  EXPECT_EQ(decodeMessage(png, limits),
            "says that it has 19 x 13 pixels; expected at most 246");
  limits.pixels = 19 * 13;
  EXPECT_EQ(decodeMessage(png, limits), "it was decoded");
}

TEST(Images, KindsThatOthersReadWrongAreRefused) {
  std::string png = imageFiles().at("gray");
  EXPECT_EQ(decodeMessage(withPngHeader(png, 24, "\x10")),
            "is grey of 16 bits, which other programs clip at 255 of 65,535; "
            "convert it to 8 bits");
  EXPECT_EQ(decodeMessage(
                withPngHeader(imageFiles().at("gray-transparent"), 24, "\x04")),
            "has a transparent colour of 4 bits; expected 8 bits");
}

TEST(Images, AColourThatThePaletteLacksIsRefused) {
  std::string png = imageFiles().at("palette2");
  // Without the palette's last colour: 4 of 3 bytes.
  size_t at = png.find("PLTE");
  ASSERT_NE(at, png.npos);
  png.erase(at + 4 + 9, 3);
  png[at - 1] = 9;
  auto sum = uint32_t(
      crc32(0, reinterpret_cast<const Bytef *>(png.data()) + at, 4 + 9));
  for (size_t i = 0; i < 4; ++i)
    png[at + 13 + i] = char(sum >> (24 - 8 * i));
  EXPECT_EQ(decodeMessage(png),
            "is a damaged PNG file: a pixel has a colour that "
            "its palette lacks");
}

TEST(Images, EndlessScansAreRefused) {
  const std::string &jpeg = imageFiles().at("jpeg-progressive");
  // Its first scan again and again.
  size_t scan = jpeg.find("\xff\xda"), next = jpeg.find("\xff\xc4", scan);
  ASSERT_NE(next, jpeg.npos);
  std::string many = jpeg.substr(0, next);
  for (int i = 0; i < 200; ++i)
    many += jpeg.substr(scan, next - scan);
  many += jpeg.substr(next);
  EXPECT_TRUE(decodeMessage(many).starts_with("is a damaged JPEG file: "));
}

TEST(Images, ErrorsNameTheFile) {
  test::ScratchFolder folder;
  test::writeBytes(folder / "a.png", "PNG");
  EXPECT_EQ(readImage(folder / "a.png").status().message(),
            (folder / "a.png") +
                ": expected a PNG or JPEG file, found something else");
  EXPECT_EQ(readImage(folder / "b.png").status().code(), StatusCode::NotFound);
  ImageLimits limits;
  limits.fileBytes = 2;
  EXPECT_FALSE(readImage(folder / "a.png", limits).ok());
}

} // namespace
