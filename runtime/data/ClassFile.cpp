//===- ClassFile.cpp - The classes of labelled texts ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/ClassFile.h"

#include "base/File.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <string_view>

using namespace hocket;
using namespace hocket::data;

static_assert(std::endian::native == std::endian::little);

static constexpr std::string_view magic = "HKTCLSS1";
static constexpr uint64_t headBytes = 40, leastNames = 2, mostNames = 1 << 16;
static constexpr uint64_t mostNameBytes = uint64_t(1) << 24;

std::string data::classFilePath(const std::string &prefix) {
  return prefix + ".classes";
}

Status data::removeClassFile(const std::string &prefix) {
  std::error_code error;
  std::filesystem::remove(classFilePath(prefix), error);
  if (error)
    return invalidArgument(classFilePath(prefix) +
                           ": cannot be removed: " + error.message());
  return okStatus();
}

/// The lines of `text`; none if it does not end with a line.
static std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    if (end == text.npos)
      return {};
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

StatusOr<std::optional<DocumentClasses>>
data::readClassFile(const std::string &prefix, uint64_t documents) {
  std::string path = classFilePath(prefix);
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return std::optional<DocumentClasses>();
  auto wrong = [&](const std::string &what) {
    return dataLoss(path + ": " + what);
  };
  HOCKET_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::open(path));
  std::array<uint8_t, headBytes> head;
  if (file.size() < headBytes)
    return wrong("is too short for a file of classes");
  HOCKET_RETURN_IF_ERROR(file.read(0, head.data(), head.size()));
  if (std::memcmp(head.data(), magic.data(), magic.size()) != 0)
    return wrong("is no file of classes");
  std::array<uint64_t, 4> numbers;
  std::memcpy(numbers.data(), head.data() + magic.size(), sizeof(numbers));
  auto [ofDocuments, count, choices, nameBytes] = numbers;
  if (ofDocuments != documents)
    return wrong("is of " + std::to_string(ofDocuments) + " documents, and " +
                 prefix + ".idx has " + std::to_string(documents) +
                 "; prepare the data again");
  if (count < leastNames || count > mostNames || nameBytes > mostNameBytes ||
      (choices != 0 && choices != count))
    return wrong("has numbers that do not go together");
  if (file.size() != headBytes + nameBytes + 2 * documents)
    return wrong("has another size than the classes of " +
                 std::to_string(documents) + " documents");
  std::string names(nameBytes, '\0');
  HOCKET_RETURN_IF_ERROR(file.read(headBytes, names.data(), names.size()));
  DocumentClasses classes;
  classes.names = linesOf(names);
  classes.areChoices = choices != 0;
  if (classes.names.size() != count)
    return wrong("has not as many names as classes");
  classes.labels.resize(documents);
  HOCKET_RETURN_IF_ERROR(file.read(headBytes + nameBytes, classes.labels.data(),
                                   2 * classes.labels.size()));
  for (size_t d = 0; d < classes.labels.size(); ++d)
    if (classes.labels[d] >= count)
      return wrong("document " + std::to_string(d) + " is of class " +
                   std::to_string(classes.labels[d]) + ", of " +
                   std::to_string(count));
  return std::optional<DocumentClasses>(std::move(classes));
}

Status data::writeClassFile(const std::string &prefix,
                            const DocumentClasses &classes) {
  std::string names;
  for (const std::string &name : classes.names) {
    if (name.empty() || name.find('\n') != name.npos)
      return invalidArgument("the name of a class is one line, not '" + name +
                             "'");
    names += name + "\n";
  }
  uint64_t count = classes.names.size();
  if (count < leastNames || count > mostNames || names.size() > mostNameBytes)
    return invalidArgument("there are 2 to 65536 classes, not " +
                           std::to_string(count));
  std::array<uint64_t, 4> numbers = {classes.labels.size(), count,
                                     classes.areChoices ? count : 0,
                                     names.size()};
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file,
                          AtomicFile::create(classFilePath(prefix)));
  HOCKET_RETURN_IF_ERROR(file.append(magic));
  HOCKET_RETURN_IF_ERROR(file.append(numbers.data(), sizeof(numbers)));
  HOCKET_RETURN_IF_ERROR(file.append(names));
  HOCKET_RETURN_IF_ERROR(
      file.append(classes.labels.data(), 2 * classes.labels.size()));
  return file.commit();
}
