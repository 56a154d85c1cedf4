//===- StoredZip.cpp - The members of a torch.save file -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/StoredZip.h"

#include "base/CheckedMath.h"

#include <algorithm>
#include <string_view>
#include <utility>

using namespace hocket;
using namespace hocket::megatron;

static constexpr uint64_t kEndBytes = 22, kEnd64Bytes = 56,
                          kLocator64Bytes = 20;
static constexpr uint64_t kEntryBytes = 46, kLocalBytes = 30;
static constexpr uint64_t kMostComment = 65535;
static constexpr uint64_t kMostDirectory = uint64_t{64} << 20;
static constexpr std::string_view kEnd = "PK\5\6", kEnd64 = "PK\6\6",
                                  kLocator64 = "PK\6\7", kEntry = "PK\1\2",
                                  kLocal = "PK\3\4";

/// A little-endian number of `bytes` bytes at `at`, which lies inside.
static uint64_t number(std::string_view text, uint64_t at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;)
    value = value << 8 | uint8_t(text[at + uint64_t(i)]);
  return value;
}

//===----------------------------------------------------------------------===//
// A part of a file
//===----------------------------------------------------------------------===//

StatusOr<FileRange> FileRange::open(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::open(path));
  uint64_t size = file.size();
  return FileRange{std::make_shared<const RandomAccessFile>(std::move(file)), 0,
                   size};
}

StatusOr<FileRange> FileRange::part(uint64_t offset, uint64_t size) const {
  auto end = checkedAdd(offset, size);
  if (!end || *end > bytes)
    return dataLoss(path() + ": expected " + std::to_string(size) +
                    " bytes at byte " + std::to_string(offset) + " of " +
                    std::to_string(bytes) +
                    "; the file is cut short or "
                    "damaged");
  return FileRange{file, begin + offset, size};
}

Status FileRange::read(uint64_t offset, void *out, uint64_t size) const {
  HOCKET_ASSIGN_OR_RETURN(FileRange wanted, part(offset, size));
  return file->read(wanted.begin, out, size);
}

StatusOr<std::string> FileRange::readAll(uint64_t limit) const {
  if (bytes > limit)
    return dataLoss(path() + ": a part of " + std::to_string(bytes) +
                    " bytes, where at most " + std::to_string(limit) +
                    " are read");
  std::string text(bytes, '\0');
  HOCKET_RETURN_IF_ERROR(read(0, text.data(), bytes));
  return text;
}

//===----------------------------------------------------------------------===//
// The archive
//===----------------------------------------------------------------------===//

struct StoredZip::Directory {
  uint64_t entries = 0, bytes = 0, offset = 0;
};

Status StoredZip::wrong(const std::string &what) const {
  return dataLoss(path() + ": " + what +
                  "; expected a file as torch.save writes it");
}

/// The end record lies behind all else, before a comment.
StatusOr<StoredZip::Directory> StoredZip::findDirectory() const {
  uint64_t tail = std::min(range.bytes, kEndBytes + kMostComment);
  std::string text(tail, '\0');
  HOCKET_RETURN_IF_ERROR(range.read(range.bytes - tail, text.data(), tail));
  size_t at = text.rfind(kEnd);
  while (at != std::string::npos && at + kEndBytes > tail)
    at = at == 0 ? std::string::npos : text.rfind(kEnd, at - 1);
  if (at == std::string::npos)
    return wrong("this is no zip archive, or the file is cut short");
  if (number(text, at + 4, 2) != 0 || number(text, at + 6, 2) != 0)
    return wrong("an archive of several disks");
  Directory directory{number(text, at + 10, 2), number(text, at + 12, 4),
                      number(text, at + 16, 4)};
  bool is64 =
      at >= kLocator64Bytes &&
      std::string_view(text).substr(at - kLocator64Bytes, 4) == kLocator64;
  if (is64) {
    uint64_t place = number(text, at - kLocator64Bytes + 8, 8);
    std::string end(kEnd64Bytes, '\0');
    HOCKET_RETURN_IF_ERROR(range.read(place, end.data(), kEnd64Bytes));
    if (!end.starts_with(kEnd64))
      return wrong("the end record of the archive is damaged");
    directory = {number(end, 32, 8), number(end, 40, 8), number(end, 48, 8)};
  }
  if (directory.bytes > kMostDirectory)
    return wrong("a table of members of " + std::to_string(directory.bytes) +
                 " bytes");
  return directory;
}

namespace {
struct Entry {
  std::string name;
  uint64_t flags = 0, method = 0, compressed = 0, size = 0, offset = 0;
};
} // namespace

/// Sizes that 32 bits do not hold are in an extra field, in this order.
static bool readExtra64(std::string_view extra, Entry &entry) {
  constexpr uint64_t inExtra = 0xffffffff;
  while (extra.size() >= 4) {
    uint64_t tag = number(extra, 0, 2), bytes = number(extra, 2, 2);
    if (bytes > extra.size() - 4)
      return false;
    std::string_view field = extra.substr(4, bytes);
    extra.remove_prefix(4 + bytes);
    if (tag != 1)
      continue;
    for (uint64_t *value : {&entry.size, &entry.compressed, &entry.offset}) {
      if (*value != inExtra)
        continue;
      if (field.size() < 8)
        return false;
      *value = number(field, 0, 8);
      field.remove_prefix(8);
    }
  }
  return true;
}

Status StoredZip::readDirectory(const Directory &directory) {
  HOCKET_ASSIGN_OR_RETURN(FileRange part,
                          range.part(directory.offset, directory.bytes));
  HOCKET_ASSIGN_OR_RETURN(std::string text, part.readAll(kMostDirectory));
  std::string_view rest = text;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (rest.size() < kEntryBytes || !rest.starts_with(kEntry))
      return wrong("member " + std::to_string(i) + " of the table is damaged");
    uint64_t nameBytes = number(rest, 28, 2), extra = number(rest, 30, 2);
    uint64_t all = kEntryBytes + nameBytes + extra + number(rest, 32, 2);
    if (all > rest.size())
      return wrong("member " + std::to_string(i) + " of the table is damaged");
    Entry entry{std::string(rest.substr(kEntryBytes, nameBytes)),
                number(rest, 8, 2),
                number(rest, 10, 2),
                number(rest, 20, 4),
                number(rest, 24, 4),
                number(rest, 42, 4)};
    if (!readExtra64(rest.substr(kEntryBytes + nameBytes, extra), entry))
      return wrong("the sizes of member '" + entry.name + "' are damaged");
    if (entry.method != 0 || entry.size != entry.compressed)
      return wrong("member '" + entry.name + "' is compressed");
    if (entry.flags & 1)
      return wrong("member '" + entry.name + "' is encrypted");
    char local[kLocalBytes];
    HOCKET_RETURN_IF_ERROR(range.read(entry.offset, local, kLocalBytes));
    std::string_view header(local, kLocalBytes);
    if (!header.starts_with(kLocal))
      return wrong("member '" + entry.name + "' is not where the table says");
    uint64_t begin = entry.offset + kLocalBytes + number(header, 26, 2) +
                     number(header, 28, 2);
    HOCKET_ASSIGN_OR_RETURN(FileRange bytes, range.part(begin, entry.size));
    if (!found.emplace(entry.name, std::move(bytes)).second)
      return wrong("two members are called '" + entry.name + "'");
    rest.remove_prefix(all);
  }
  return okStatus();
}

StatusOr<StoredZip> StoredZip::open(const FileRange &range) {
  StoredZip zip(range);
  HOCKET_ASSIGN_OR_RETURN(Directory directory, zip.findDirectory());
  HOCKET_RETURN_IF_ERROR(zip.readDirectory(directory));
  return zip;
}
