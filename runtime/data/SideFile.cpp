//===- SideFile.cpp - Files that lie beside a token file ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/SideFile.h"

#include <bit>
#include <cstring>
#include <filesystem>

using namespace hocket;
using namespace hocket::data;

static_assert(std::endian::native == std::endian::little);

std::string data::sideFilePath(const std::string &prefix,
                               const SideFileKind &kind) {
  return prefix + std::string(kind.extension);
}

Status data::removeSideFile(const std::string &prefix,
                            const SideFileKind &kind) {
  std::string path = sideFilePath(prefix, kind);
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error)
    return invalidArgument(path + ": cannot be removed: " + error.message());
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

StatusOr<std::optional<SideFile>> SideFile::open(const std::string &prefix,
                                                 const SideFileKind &kind) {
  std::string path = sideFilePath(prefix, kind);
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return std::optional<SideFile>();
  HOCKET_ASSIGN_OR_RETURN(RandomAccessFile opened,
                          RandomAccessFile::open(path));
  SideFile side(prefix, std::move(opened), {});
  if (side.opened.size() < kind.headBytes())
    return side.wrong("is too short " + std::string(kind.purpose));
  std::vector<uint8_t> bytes(kind.headBytes());
  HOCKET_RETURN_IF_ERROR(side.opened.read(0, bytes.data(), bytes.size()));
  if (std::memcmp(bytes.data(), kind.magic.data(), kind.magic.size()) != 0)
    return side.wrong(std::string(kind.foreign));
  side.head.resize(kind.numbers);
  std::memcpy(side.head.data(), bytes.data() + kind.magic.size(),
              8 * kind.numbers);
  return std::optional<SideFile>(std::move(side));
}

Status SideFile::wrong(const std::string &what) const {
  return dataLoss(opened.path() + ": " + what);
}

Status SideFile::checkCount(uint64_t count, std::string_view noun,
                            std::string_view extension) const {
  if (head.front() == count)
    return okStatus();
  return wrong("is of " + std::to_string(head.front()) + " " +
               std::string(noun) + ", and " + prefix + std::string(extension) +
               " has " + std::to_string(count) + "; prepare the data again");
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

StatusOr<AtomicFile> data::createSideFile(const std::string &prefix,
                                          const SideFileKind &kind,
                                          std::span<const uint64_t> numbers) {
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file,
                          AtomicFile::create(sideFilePath(prefix, kind)));
  HOCKET_RETURN_IF_ERROR(file.append(kind.magic));
  HOCKET_RETURN_IF_ERROR(file.append(numbers.data(), numbers.size_bytes()));
  return file;
}

Status data::writeSideNumbers(AtomicFile &file, const SideFileKind &kind,
                              std::span<const uint64_t> numbers) {
  return file.writeAt(kind.magic.size(), numbers.data(), numbers.size_bytes());
}
