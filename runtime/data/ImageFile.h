//===- ImageFile.h - The images of conversations ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Beside PREFIX.bin, .idx and .mask of conversations with images stands
/// PREFIX.images with their pixels, resized and cropped (images/Pixels.h):
///
///    0   8   "HKTIMGS1"
///    8   8   u64 D, the documents of the .idx: packed sequences
///   16   8   u64 T, the tokens of the .bin
///   24   8   u64 S, pixels of an image's side, 1 to 16,384
///   32   8   u64 P, tokens of an image
///   40   8   u64 the token that stands for each of these
///   48   8   u64 N, the most images that a document has
///   56   8   u64 M, images, below 2^32
///   64   8   u64 U, how often documents use them
///   72       M x S x S x 3 bytes: red, green, blue; rows from the top
///            (D + 1) x u64: where a document's images begin among the uses
///            U x u32: which image that is
///
/// Numbers are little-endian. A document's images stand in the order of their
/// tokens. An image that several documents use is there once.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_IMAGEFILE_H
#define HOCKET_RUNTIME_DATA_IMAGEFILE_H

#include "base/File.h"
#include "base/Sha256.h"
#include "base/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::data {

/// What the head of a .images says.
struct ImageFileHead {
  uint64_t documents = 0, tokens = 0;
  uint64_t imageSize = 0;      ///< Pixels of a side.
  uint64_t tokensPerImage = 0; ///< Of `imageToken`.
  uint64_t imageToken = 0;
  uint64_t mostPerDocument = 0;
  uint64_t images = 0, uses = 0;

  /// Of its pixels.
  uint64_t imageBytes() const { return imageSize * imageSize * 3; }
};

class ImageFile {
public:
  /// Nothing where there is no PREFIX.images. DataLoss if it is not of so many
  /// documents and tokens, or damaged. Memory: 8 bytes a document and 4 for
  /// each of its images.
  static StatusOr<std::optional<ImageFile>>
  open(const std::string &prefix, uint64_t documents, uint64_t tokens);

  const ImageFileHead &head() const { return about; }
  const std::string &path() const { return file.path(); }

  /// The images of a document, which is there.
  std::span<const uint32_t> imagesOf(uint64_t document) const;

  /// Fills `pixels`, of head().imageBytes(). Any thread.
  Status read(uint32_t image, std::span<uint8_t> pixels) const;

private:
  ImageFile(RandomAccessFile file, const ImageFileHead &about)
      : file(std::move(file)), about(about) {}
  Status readUses();

  RandomAccessFile file;
  ImageFileHead about;
  std::vector<uint64_t> begins; ///< Of each document, in `uses`.
  std::vector<uint32_t> uses;
};

/// Writes one; nothing has its name before finish(). Memory: 100 bytes an
/// image, and as an ImageFile.
class ImageFileWriter {
public:
  /// `about` says what an image is.
  static StatusOr<ImageFileWriter> create(const std::string &prefix,
                                          const ImageFileHead &about);

  /// The number of an image of these pixels. ResourceExhausted if there are
  /// 2^32.
  StatusOr<uint32_t> add(std::span<const uint8_t> pixels);
  /// Ends a document that has these images, at most about.mostPerDocument.
  void endDocument(std::span<const uint32_t> images);
  Status finish(uint64_t tokens);

  const ImageFileHead &head() const { return about; }

private:
  ImageFileWriter(AtomicFile file, const ImageFileHead &about)
      : file(std::move(file)), about(about) {}

  AtomicFile file;
  ImageFileHead about;
  std::map<Sha256::Digest, uint32_t> known;
  std::vector<uint64_t> begins = {0};
  std::vector<uint32_t> uses;
};

/// "PREFIX.images"
std::string imageFilePath(const std::string &prefix);

/// Deletes the images of other documents that PREFIX had before.
Status removeImageFile(const std::string &prefix);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_IMAGEFILE_H
