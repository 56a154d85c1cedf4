//===- PagedFile.cpp - A file whose every page is checked -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/PagedFile.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

using namespace hocket;
using namespace hocket::data;

/// What stands behind the content of page `number`.
static uint32_t checkOf(uint64_t number, const uint8_t *content) {
  uint8_t bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  uLong check = crc32(0, bytes, sizeof(bytes));
  return uint32_t(crc32(check, content, pageContent));
}

std::array<uint8_t, pageBytes>
data::makePage(uint64_t number, const void *content, uint64_t size) {
  std::array<uint8_t, pageBytes> page = {};
  std::memcpy(page.data(), content, size);
  uint32_t check = checkOf(number, page.data());
  std::memcpy(page.data() + pageContent, &check, sizeof(check));
  return page;
}

bool data::isWholePage(uint64_t number,
                       const std::array<uint8_t, pageBytes> &page) {
  uint32_t check = 0;
  std::memcpy(&check, page.data() + pageContent, sizeof(check));
  return check == checkOf(number, page.data());
}

StatusOr<PagedFileWriter> PagedFileWriter::create(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  return PagedFileWriter(std::move(file));
}

Status PagedFileWriter::append(const void *data, uint64_t size) {
  const auto *from = static_cast<const uint8_t *>(data);
  while (size > 0) {
    uint64_t count = std::min(size, pageContent - used);
    std::memcpy(page.data() + used, from, count);
    used += count;
    from += count;
    size -= count;
    if (used == pageContent)
      HOCKET_RETURN_IF_ERROR(flush());
  }
  return okStatus();
}

Status PagedFileWriter::flush() {
  std::array<uint8_t, pageBytes> whole = makePage(number++, page.data(), used);
  used = 0;
  return file.append(whole.data(), whole.size());
}

Status PagedFileWriter::commit() {
  if (used > 0)
    HOCKET_RETURN_IF_ERROR(flush());
  return file.commit();
}

StatusOr<PagedFile> PagedFile::open(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::open(path));
  if (file.size() % pageBytes != 0)
    return dataLoss(path + ": its " + std::to_string(file.size()) +
                    " bytes are no row of whole pages");
  return PagedFile(std::move(file));
}

Status PagedFile::read(uint64_t offset, void *out, uint64_t size) const {
  auto *to = static_cast<uint8_t *>(out);
  std::array<uint8_t, pageBytes> page;
  while (size > 0) {
    uint64_t number = offset / pageContent, from = offset % pageContent;
    uint64_t count = std::min(size, pageContent - from);
    HOCKET_RETURN_IF_ERROR(
        file.read(number * pageBytes, page.data(), page.size()));
    if (!isWholePage(number, page))
      return dataLoss(path() + ": page " + std::to_string(number) +
                      " is not what was written");
    std::memcpy(to, page.data() + from, count);
    to += count;
    offset += count;
    size -= count;
  }
  return okStatus();
}
