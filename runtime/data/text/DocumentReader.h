//===- DocumentReader.h - Documents, a chunk at a time ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads text and JSON-lines files in chunks that can be encoded one by one:
/// a chunk of JSON lines holds whole lines, a chunk of text is cut where the
/// tokenizer allows it, or between sentences. Memory is one chunk, however long
/// the files are; a line of JSON, or a sentence of text, has at most 64 MiB.
///
/// A file whose name ends in .jsonl, .ndjson or .json holds one JSON object a
/// line, each a document; any other file is one document of plain text. Behind
/// that may stand how it is compressed (InputStream.h).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_DOCUMENTREADER_H
#define HOCKET_RUNTIME_DATA_TEXT_DOCUMENTREADER_H

#include "base/Status.h"
#include "runtime/data/text/InputStream.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::data {

/// Where a chunk begins; lines and columns count from 1, columns in bytes.
struct TextPlace {
  uint64_t line = 1;
  uint64_t column = 1;
  /// The place after `text`.
  TextPlace after(std::string_view text) const;
};

struct DocumentChunk {
  std::string path;
  bool jsonLines = false;
  TextPlace begin;
  std::string bytes;          ///< The chunk, then `padding` zeros.
  size_t size = 0;            ///< Without the padding.
  uint64_t fileBytes = 0;     ///< That it takes in its file.
  bool beginsDocument = true; ///< Plain text: the first part of its file.
  bool endsDocument = true;   ///< Plain text: the last part.

  static constexpr size_t padding = 64;
  std::string_view text() const { return {bytes.data(), size}; }
};

/// Whether the file is one of JSON lines, by its name.
bool holdsJsonLines(std::string_view path);

class DocumentReader {
public:
  using SplitPoint = std::function<size_t(std::string_view)>;

  /// Checks that every input is a readable regular file that is not empty.
  /// `splitPoint` says where text that goes on can be cut, or 0, as
  /// Tokenizer::splitPoint() and lastSentenceEnd() do. `chunkBytes` is a
  /// target: a longer line is read whole, up to 64 MiB.
  static StatusOr<DocumentReader> open(std::vector<std::string> inputs,
                                       SplitPoint splitPoint,
                                       size_t chunkBytes);

  /// The next chunk, or nullopt at the end of the last input.
  StatusOr<std::optional<DocumentChunk>> next();

  /// Bytes of all inputs, as they lie on disk.
  uint64_t totalBytes() const { return total; }

private:
  DocumentReader(std::vector<std::string> inputs, SplitPoint splitPoint,
                 size_t chunkBytes)
      : inputs(std::move(inputs)), splitPoint(std::move(splitPoint)),
        chunkBytes(chunkBytes) {}

  Status openInput();
  Status fill(std::string &bytes, size_t size);
  uint64_t fileBytesOf(const DocumentChunk &chunk);
  StatusOr<size_t> cut(std::string &bytes);

  std::vector<std::string> inputs;
  SplitPoint splitPoint;
  size_t chunkBytes;
  uint64_t total = 0;

  size_t current = 0; ///< Index into inputs.
  std::unique_ptr<InputStream> file;
  uint64_t handedOut = 0; ///< Bytes of the file that chunks have told of.
  bool jsonLines = false, ended = false, first = true;
  std::string carried; ///< Read from the file, not yet handed out.
  TextPlace place;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_DOCUMENTREADER_H
