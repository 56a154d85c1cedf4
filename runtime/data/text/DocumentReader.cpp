//===- DocumentReader.cpp - Documents, a chunk at a time ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/DocumentReader.h"

#include "base/Format.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

using namespace hocket;
using namespace hocket::data;

static constexpr size_t longestPart = size_t(64) << 20;

TextPlace TextPlace::after(std::string_view text) const {
  size_t last = text.rfind('\n');
  if (last == std::string_view::npos)
    return {line, column + text.size()};
  auto lines = uint64_t(std::count(text.begin(), text.end(), '\n'));
  return {line + lines, text.size() - last};
}

bool data::holdsJsonLines(std::string_view path) {
  path = withoutCompression(path);
  return path.ends_with(".jsonl") || path.ends_with(".ndjson") ||
         path.ends_with(".json");
}

/// Bytes of the input, which must be a regular file with some.
static StatusOr<uint64_t> inputBytes(const std::string &path) {
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  if (error)
    return cannotRead(path, error.value());
  if (std::filesystem::is_directory(status))
    return invalidArgument(path + ": is a folder; name the files inside it");
  if (!std::filesystem::is_regular_file(status))
    return invalidArgument(path + ": is not a regular file");
  uint64_t bytes = std::filesystem::file_size(path, error);
  if (error)
    return cannotRead(path, error.value());
  if (bytes == 0)
    return invalidArgument(path + ": is empty");
  HOCKET_RETURN_IF_ERROR(InputStream::open(path).status());
  return bytes;
}

StatusOr<DocumentReader> DocumentReader::open(std::vector<std::string> inputs,
                                              SplitPoint splitPoint,
                                              size_t chunkBytes) {
  if (inputs.empty())
    return invalidArgument("expected at least one input file");
  DocumentReader reader(std::move(inputs), std::move(splitPoint),
                        std::max<size_t>(chunkBytes, 4));
  for (const std::string &path : reader.inputs) {
    HOCKET_ASSIGN_OR_RETURN(uint64_t bytes, inputBytes(path));
    reader.total += bytes;
  }
  return reader;
}

Status DocumentReader::openInput() {
  const std::string &path = inputs[current];
  HOCKET_ASSIGN_OR_RETURN(file, InputStream::open(path));
  handedOut = 0;
  jsonLines = holdsJsonLines(path);
  ended = false;
  first = true;
  carried.clear();
  place = TextPlace();
  return okStatus();
}

/// Reads until `bytes` has `size` or the file ends.
Status DocumentReader::fill(std::string &bytes, size_t size) {
  size_t begin = bytes.size();
  if (ended || begin >= size)
    return okStatus();
  bytes.resize(size);
  HOCKET_ASSIGN_OR_RETURN(size_t got,
                          file->read(bytes.data() + begin, size - begin));
  bytes.resize(begin + got);
  ended = begin + got < size;
  return okStatus();
}

/// Of a plain file its own bytes; of a compressed one, what was read for it.
uint64_t DocumentReader::fileBytesOf(const DocumentChunk &chunk) {
  bool isPlain = withoutCompression(chunk.path) == chunk.path;
  uint64_t until = isPlain ? handedOut + chunk.size : file->consumed();
  return until - std::exchange(handedOut, until);
}

/// How much of `bytes` makes a chunk; reads on while there is no place to cut.
StatusOr<size_t> DocumentReader::cut(std::string &bytes) {
  // One byte more than the longest part shows that it goes on.
  constexpr size_t most = longestPart + 1;
  for (size_t size = std::min(chunkBytes, most);;
       size = std::min(2 * bytes.size(), most)) {
    HOCKET_RETURN_IF_ERROR(fill(bytes, size));
    size_t at = ended       ? bytes.size()
                : jsonLines ? bytes.rfind('\n') + 1
                            : splitPoint(bytes);
    bool isOneLine = jsonLines && bytes.find('\n') == std::string::npos;
    if (bytes.size() >= most && (at == 0 || isOneLine))
      return invalidArgument(
          inputs[current] + ":" + std::to_string(place.line) + ":1: expected " +
          (jsonLines ? "lines" : "sentences") + " of at most " +
          formatBytes(longestPart) +
          ", found a longer one; cut it into several documents");
    if (ended || at > 0)
      return at;
  }
}

StatusOr<std::optional<DocumentChunk>> DocumentReader::next() {
  if (!file) {
    if (current == inputs.size())
      return std::optional<DocumentChunk>();
    HOCKET_RETURN_IF_ERROR(openInput());
  }
  DocumentChunk chunk;
  chunk.path = inputs[current];
  chunk.jsonLines = jsonLines;
  chunk.begin = place;
  chunk.beginsDocument = std::exchange(first, false);
  chunk.bytes = std::move(carried);
  HOCKET_ASSIGN_OR_RETURN(chunk.size, cut(chunk.bytes));
  carried = chunk.bytes.substr(chunk.size);
  chunk.bytes.resize(chunk.size);
  chunk.bytes.append(DocumentChunk::padding, '\0');
  if (chunk.beginsDocument && ended && chunk.size == 0)
    return invalidArgument(chunk.path + ": is empty");
  chunk.fileBytes = fileBytesOf(chunk);
  place = place.after(chunk.text());
  chunk.endsDocument = ended && carried.empty();
  if (chunk.endsDocument) {
    file.reset();
    ++current;
  }
  return std::optional<DocumentChunk>(std::move(chunk));
}
