//===- RowFile.cpp - Rows that take days to make --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/retrieval/RowFile.h"

#include "base/CheckedMath.h"
#include "base/Quantity.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace hocket;
using namespace hocket::data;

static_assert(std::endian::native == std::endian::little);

static constexpr size_t kindBytes = 8;
static constexpr uint64_t mostRowBytes = uint64_t(1) << 30;

std::string data::rowFilePath(const std::string &prefix,
                              const Sha256::Digest &of,
                              std::string_view extension) {
  return prefix + "." + toHex(of).substr(0, 12) + "." + std::string(extension);
}

//===----------------------------------------------------------------------===//
// The head
//===----------------------------------------------------------------------===//

using HeadBytes = std::array<uint8_t, rowFileHeadBytes>;

static HeadBytes bytesOf(const RowFileHead &head) {
  HeadBytes bytes = {};
  uint8_t *at = bytes.data();
  auto put = [&](const void *data, size_t size) {
    std::memcpy(at, data, size);
    at += size;
  };
  put(head.kind.data(), kindBytes);
  put(head.of.data(), head.of.size());
  put(head.made.data(), head.made.size());
  put(&head.rowBytes, sizeof(head.rowBytes));
  put(&head.rows, sizeof(head.rows));
  return bytes;
}

/// Nothing if it is of another kind, or cannot be.
static std::optional<RowFileHead> headOf(const uint8_t *at,
                                         std::string_view kind) {
  RowFileHead head;
  head.kind = kind;
  auto take = [&](void *data, size_t size) {
    std::memcpy(data, at, size);
    at += size;
  };
  if (std::memcmp(at, kind.data(), kindBytes) != 0)
    return std::nullopt;
  at += kindBytes;
  take(head.of.data(), head.of.size());
  take(head.made.data(), head.made.size());
  take(&head.rowBytes, sizeof(head.rowBytes));
  take(&head.rows, sizeof(head.rows));
  if (head.rowBytes == 0 || head.rowBytes > mostRowBytes ||
      !checkedMultiply(head.rows, head.rowBytes))
    return std::nullopt;
  return head;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

StatusOr<RowFile> RowFile::open(const std::string &path,
                                std::string_view kind) {
  HOCKET_ASSIGN_OR_RETURN(PagedFile file, PagedFile::open(path));
  HeadBytes bytes;
  if (file.size() < bytes.size())
    return dataLoss(path + ": is too short for a table of rows");
  HOCKET_RETURN_IF_ERROR(file.read(0, bytes.data(), bytes.size()));
  auto head = headOf(bytes.data(), kind);
  if (!head)
    return dataLoss(path + ": is no table of such rows");
  uint64_t content = head->rows * head->rowBytes;
  auto size = checkedAdd(content, rowFileHeadBytes);
  if (!size || file.size() < *size || file.size() - *size >= pageContent)
    return dataLoss(path + ": has another size than " +
                    formatNoun(head->rows, "row") + " of " +
                    formatNoun(head->rowBytes, "byte"));
  return RowFile(std::move(file), *head);
}

Status RowFile::read(uint64_t first, uint64_t count, void *out) const {
  if (!rangeInside(first, count, about.rows))
    return internalError(path() + ": has no row " +
                         std::to_string(first + count));
  return file.read(rowFileHeadBytes + first * about.rowBytes, out,
                   count * about.rowBytes);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string partOf(const std::string &path) { return path + ".part"; }

/// A table that has all its rows becomes the beginning of a longer one.
static Status continueWhole(const std::string &path, const RowFileHead &head) {
  std::error_code error;
  if (std::filesystem::exists(partOf(path), error) ||
      !std::filesystem::exists(path, error))
    return okStatus();
  auto whole = RowFile::open(path, head.kind);
  if (!whole.ok() || whole->head().of != head.of ||
      whole->head().rowBytes != head.rowBytes)
    return okStatus(); // It is replaced.
  if (whole->head().made != head.made)
    return invalidArgument(path +
                           ": was made with another embedder or index; remove "
                           "it to make it anew");
  std::filesystem::copy_file(path, partOf(path), error);
  if (error)
    return invalidArgument(partOf(path) +
                           ": cannot be written: " + error.message());
  return okStatus();
}

StatusOr<RowFileWriter> RowFileWriter::open(const std::string &path,
                                            const RowFileHead &head) {
  if (head.kind.size() != kindBytes || head.rowBytes == 0 ||
      head.rowBytes > mostRowBytes ||
      !checkedMultiply(head.rows, head.rowBytes))
    return internalError(path + ": there is no table of such rows");
  HOCKET_RETURN_IF_ERROR(continueWhole(path, head));
  std::string part = partOf(path);
  int descriptor = ::open(part.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return fileError(part, "open", errno);
  RowFileWriter writer(path, descriptor, head);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return failedPrecondition(part + ": another process is writing it");
  HOCKET_RETURN_IF_ERROR(writer.takeWhatIsThere());
  return writer;
}

RowFileWriter::RowFileWriter(RowFileWriter &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)), head(other.head),
      done(other.done), page(other.page), content(std::move(other.content)) {}

RowFileWriter::~RowFileWriter() {
  if (descriptor >= 0)
    ::close(descriptor);
}

/// Of an open file, from its beginning, the pages that are whole.
static uint64_t countWholePages(int descriptor, const auto &visit) {
  constexpr size_t pagesAtOnce = 256;
  std::vector<std::array<uint8_t, pageBytes>> pages(pagesAtOnce);
  for (uint64_t number = 0;;) {
    ssize_t got = ::pread(descriptor, pages.data(), pagesAtOnce * pageBytes,
                          off_t(number * pageBytes));
    if (got < ssize_t(pageBytes))
      return number;
    for (size_t i = 0; i < size_t(got) / pageBytes; ++i, ++number) {
      if (!isWholePage(number, pages[i]))
        return number;
      visit(number, pages[i]);
    }
  }
}

Status RowFileWriter::takeWhatIsThere() {
  std::optional<RowFileHead> found;
  uint64_t pages =
      countWholePages(descriptor, [&](uint64_t number, const auto &content) {
        if (number == 0)
          found = headOf(content.data(), head.kind);
      });
  if (found && (found->of != head.of || found->rowBytes != head.rowBytes))
    found.reset();
  if (found && found->made != head.made)
    return invalidArgument(partOf(path) +
                           ": was begun with another embedder or index; remove "
                           "it to begin anew");
  if (found)
    done = std::min({(pages * pageContent - rowFileHeadBytes) / head.rowBytes,
                     found->rows, head.rows});
  // What the page that goes on has so far.
  uint64_t end = rowFileHeadBytes + done * head.rowBytes;
  page = found ? end / pageContent : 0;
  if (found && end % pageContent > 0) {
    content.resize(end % pageContent);
    if (::pread(descriptor, content.data(), content.size(),
                off_t(page * pageBytes)) != ssize_t(content.size()))
      return fileError(partOf(path), "read", errno);
  }
  if (::ftruncate(descriptor, off_t(page * pageBytes)) != 0)
    return fileError(partOf(path), "write", errno);
  return writeHead();
}

/// Says how many rows there will be, which may have been fewer.
Status RowFileWriter::writeHead() {
  HeadBytes bytes = bytesOf(head);
  if (page == 0) {
    content.resize(std::max(content.size(), bytes.size()));
    std::memcpy(content.data(), bytes.data(), bytes.size());
    return okStatus();
  }
  std::array<uint8_t, pageBytes> first;
  if (::pread(descriptor, first.data(), first.size(), 0) !=
      ssize_t(first.size()))
    return fileError(partOf(path), "read", errno);
  std::memcpy(first.data(), bytes.data(), bytes.size());
  first = makePage(0, first.data(), pageContent);
  return writePages(
      0, {reinterpret_cast<const char *>(first.data()), first.size()});
}

Status RowFileWriter::writePages(uint64_t first, const std::string &pages) {
  for (size_t at = 0; at < pages.size();) {
    ssize_t wrote = ::pwrite(descriptor, pages.data() + at, pages.size() - at,
                             off_t(first * pageBytes + at));
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0)
      return fileError(partOf(path), "write", errno);
    at += size_t(wrote);
  }
  return okStatus();
}

Status RowFileWriter::append(const void *data, uint64_t rows) {
  if (rows > head.rows - done)
    return internalError(path + ": has no room for another row");
  done += rows;
  content.append(static_cast<const char *>(data), rows * head.rowBytes);
  std::string pages;
  size_t at = 0;
  uint64_t first = page;
  for (; content.size() - at >= pageContent; at += pageContent) {
    auto whole = makePage(page++, content.data() + at, pageContent);
    pages.append(reinterpret_cast<const char *>(whole.data()), whole.size());
  }
  content.erase(0, at);
  return writePages(first, pages);
}

Status RowFileWriter::commit() {
  if (done != head.rows)
    return internalError(path + ": lacks " +
                         formatNoun(head.rows - done, "row"));
  if (!content.empty()) {
    auto last = makePage(page, content.data(), content.size());
    HOCKET_RETURN_IF_ERROR(writePages(
        page, {reinterpret_cast<const char *>(last.data()), last.size()}));
  }
  if (::fsync(descriptor) != 0)
    return fileError(partOf(path), "write", errno);
  if (::rename(partOf(path).c_str(), path.c_str()) != 0)
    return fileError(path, "replace", errno);
  ::close(std::exchange(descriptor, -1));
  return okStatus();
}
