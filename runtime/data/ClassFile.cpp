//===- ClassFile.cpp - The classes of labelled texts ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/ClassFile.h"

#include "runtime/data/SideFile.h"

#include <array>
#include <string_view>

using namespace hocket;
using namespace hocket::data;

static constexpr SideFileKind classKind{.extension = ".classes",
                                        .magic = "HKTCLSS1",
                                        .numbers = 4,
                                        .purpose = "for a file of classes",
                                        .foreign = "is no file of classes"};
static constexpr uint64_t leastNames = 2, mostNames = 1 << 16;
static constexpr uint64_t mostNameBytes = uint64_t(1) << 24;

std::string data::classFilePath(const std::string &prefix) {
  return sideFilePath(prefix, classKind);
}

Status data::removeClassFile(const std::string &prefix) {
  return removeSideFile(prefix, classKind);
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
  HOCKET_ASSIGN_OR_RETURN(auto side, SideFile::open(prefix, classKind));
  if (!side)
    return std::optional<DocumentClasses>();
  HOCKET_RETURN_IF_ERROR(side->checkCount(documents, "documents", ".idx"));
  const RandomAccessFile &file = side->file();
  uint64_t count = side->numbers()[1], choices = side->numbers()[2];
  uint64_t nameBytes = side->numbers()[3];
  if (count < leastNames || count > mostNames || nameBytes > mostNameBytes ||
      (choices != 0 && choices != count))
    return side->wrong("has numbers that do not go together");
  if (file.size() != classKind.headBytes() + nameBytes + 2 * documents)
    return side->wrong("has another size than the classes of " +
                       std::to_string(documents) + " documents");
  std::string names(nameBytes, '\0');
  HOCKET_RETURN_IF_ERROR(
      file.read(classKind.headBytes(), names.data(), names.size()));
  DocumentClasses classes;
  classes.names = linesOf(names);
  classes.areChoices = choices != 0;
  if (classes.names.size() != count)
    return side->wrong("has not as many names as classes");
  classes.labels.resize(documents);
  HOCKET_RETURN_IF_ERROR(file.read(classKind.headBytes() + nameBytes,
                                   classes.labels.data(),
                                   2 * classes.labels.size()));
  for (size_t d = 0; d < classes.labels.size(); ++d)
    if (classes.labels[d] >= count)
      return side->wrong("document " + std::to_string(d) + " is of class " +
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
  HOCKET_ASSIGN_OR_RETURN(
      AtomicFile file,
      createSideFile(prefix, classKind,
                     std::array<uint64_t, classKind.numbers>{
                         classes.labels.size(), count,
                         classes.areChoices ? count : 0, names.size()}));
  HOCKET_RETURN_IF_ERROR(file.append(names));
  HOCKET_RETURN_IF_ERROR(
      file.append(classes.labels.data(), 2 * classes.labels.size()));
  return file.commit();
}
