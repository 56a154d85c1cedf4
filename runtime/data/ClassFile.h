//===- ClassFile.h - The classes of labelled texts --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Beside PREFIX.bin and PREFIX.idx of labelled texts stands PREFIX.classes,
/// which says of which class each document is:
///
///    0   8   "HKTCLSS1"
///    8   8   u64 D, the documents of the .idx
///   16   8   u64 N, how many classes there are, 2 to 65,536
///   24   8   u64 C: 0, or N where classes are choices
///   32   8   u64 B, bytes of the names
///   40   B   the names of the classes, each ended by a line feed
///        2D  u16 the class of each document
///
/// Numbers are little-endian. A document's sequences are its texts: one or two,
/// or, of choices, one that all of them share and then one for each.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_CLASSFILE_H
#define HOCKET_RUNTIME_DATA_CLASSFILE_H

#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hocket::data {

/// What a .classes holds. Memory: 2 bytes a document.
struct DocumentClasses {
  std::vector<std::string> names;
  bool areChoices = false;
  std::vector<uint16_t> labels; ///< Of each document, below names.size().
};

/// Reads PREFIX.classes; nothing where there is none. DataLoss if it is not of
/// an .idx of `documents` documents, or damaged.
StatusOr<std::optional<DocumentClasses>>
readClassFile(const std::string &prefix, uint64_t documents);

/// Writes it, in place of whatever had its name.
Status writeClassFile(const std::string &prefix,
                      const DocumentClasses &classes);

/// "PREFIX.classes"
std::string classFilePath(const std::string &prefix);

/// Deletes the classes of other documents that PREFIX had before.
Status removeClassFile(const std::string &prefix);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_CLASSFILE_H
