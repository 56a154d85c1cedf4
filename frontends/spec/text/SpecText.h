//===- SpecText.h - Text to message, with places ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads protobuf's text format as written by people. The input is hostile
/// until read: its size and its nesting are bounded, and an error names the
/// place and what could be written instead.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_TEXT_SPECTEXT_H
#define HOCKET_FRONTENDS_SPEC_TEXT_SPECTEXT_H

#include "base/Status.h"
#include "frontends/spec/text/FieldLocations.h"

#include <google/protobuf/message.h>

#include <string>

namespace hocket::spec {

/// Most bytes of a spec, a plan or a config.json.
inline constexpr size_t maxInputBytes = 1 << 20;

/// Most levels of nested messages; the schema itself needs five.
inline constexpr int maxNesting = 16;

/// The bytes of the regular file `path`. NotFound where it does not exist,
/// InvalidArgument where it is a folder, cannot be read or is too large.
StatusOr<std::string> readInput(const std::string &path);

/// What is read, and under which name and path its errors and fields go.
struct TextSource {
  std::string text;
  std::string file;   ///< For messages, e.g. "spec.textproto".
  std::string prefix; ///< Path of the message inside the Spec, "" or "plan".
};

/// Parses `source` into `message`, which must be empty, and records where each
/// of its fields was written. Errors are InvalidArgument,
/// `file:line:column: S1: ...`.
Status parseText(const TextSource &source, google::protobuf::Message &message,
                 FieldLocations &locations);

/// The first 64 bytes of `text`, with "..." after them where there are more.
std::string elide(std::string_view text);

/// "prefix.name", or "name" where the prefix is empty.
std::string joinPath(const std::string &prefix, const std::string &name);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_TEXT_SPECTEXT_H
