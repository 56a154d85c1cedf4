//===- Safetensors.h - Reading and writing safetensors ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A safetensors file is a u64 N, N bytes of JSON and the tensors' bytes:
///
///   {"__metadata__": {"format": "pt"},
///    "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
///
/// Offsets count from the end of the header; tensors are dense, row-major,
/// little-endian, and fill the rest of the file without gap or overlap.
///
/// A file's whole header is checked when it is opened, so that no later read
/// leaves it; bytes that are gone by then, since the file was cut short, are an
/// error of that read. A header has at most 100,000,000 bytes, as the
/// format says, 16 KiB of them for a tensor and 8 MiB for the metadata; tensors
/// are parsed one by one, so that memory is what is kept of them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define HOCKET_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "base/File.h"
#include "base/Status.h"
#include "runtime/checkpoint/ElementType.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace hocket::checkpoint {

struct TensorInfo {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<uint64_t> shape;
  uint64_t begin = 0; ///< Bytes [begin, end) after the header.
  uint64_t end = 0;
};

/// The bytes of one tensor, for one thread. What is asked for in the order of
/// the bytes is read from the file once, at most 4 MiB at a time.
class TensorReader {
public:
  /// Copies `out.size()` bytes of the tensor from `offset` on.
  Status read(uint64_t offset, std::span<uint8_t> out);

private:
  friend class SafetensorsFile;
  TensorReader(RandomAccessFile file, uint64_t begin, uint64_t end)
      : file(std::move(file)), begin(begin), end(end) {}

  RandomAccessFile file;
  uint64_t begin, end; ///< Of the tensor, in the file.
  std::vector<uint8_t> window;
  uint64_t windowBegin = 0;
};

class SafetensorsFile {
public:
  /// NotFound if there is no such file, DataLoss with the path and the reason
  /// for whatever else is wrong with it.
  static StatusOr<SafetensorsFile> open(const std::string &path);

  const std::string &path() const { return filePath; }

  const std::map<std::string, std::string> &metadata() const { return texts; }

  /// In the order of their bytes.
  const std::vector<TensorInfo> &tensors() const { return infos; }

  /// nullptr if there is none of this name.
  const TensorInfo *find(const std::string &name) const;

  /// The file is open for as long as the reader lives. DataLoss if it does not
  /// have the size that it had.
  StatusOr<TensorReader> reader(const TensorInfo &tensor) const;

  /// All bytes of the tensor.
  StatusOr<std::vector<uint8_t>> read(const TensorInfo &tensor) const;

private:
  std::string filePath;
  uint64_t fileBytes = 0, dataBegin = 0;
  std::map<std::string, std::string> texts;
  std::vector<TensorInfo> infos;
  std::vector<uint32_t> byName;
};

/// What a safetensors header says.
struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorInfo> tensors; ///< In the order of their bytes.
  std::vector<uint32_t> byName;    ///< Indices of tensors, sorted by name.
};

/// Reads and checks a header by itself; `dataBytes` is what follows it in the
/// file. DataLoss without a path.
StatusOr<SafetensorsHeader> parseSafetensorsHeader(std::string_view header,
                                                   uint64_t dataBytes);

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Takes the next bytes of a tensor.
using ByteSink = std::function<Status(std::span<const uint8_t>)>;

/// Gives all bytes of a tensor, in chunks of any size, to a sink. Called when
/// the tensor is written, so that not all tensors need to be in memory.
using ByteProducer = std::function<Status(const ByteSink &)>;

/// Gives `bytes`, which must outlive the call that writes them.
ByteProducer bytesInMemory(std::span<const uint8_t> bytes);

struct TensorToWrite {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<uint64_t> shape;
  ByteProducer bytes;
};

struct WrittenFile {
  uint64_t bytes = 0;
  std::string sha256; ///< Lower-case hexadecimal.
};

/// Writes `path` in one step, tensors sorted by type (wide ones first), then
/// by name, with the metadata {"format": "pt"} that other readers ask for.
/// InvalidArgument for equal names, names that are not UTF-8 and sizes that
/// overflow; Internal if a producer gives other than the shape's bytes.
StatusOr<WrittenFile> writeSafetensors(const std::string &path,
                                       std::vector<TensorToWrite> tensors);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_SAFETENSORS_H
