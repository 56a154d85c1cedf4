//===- SourceExcerpt.h - The line that an error speaks of -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A message that begins with `file:line:column: ` is followed by that line of
/// the file and a caret below the column:
///
///   nano.textproto:2:3: S6: model.kv_heads is 3, ...
///       2 |   heads: 4 kv_heads: 3
///         |            ^
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_SOURCEEXCERPT_H
#define HOCKET_BASE_SOURCEEXCERPT_H

#include <string>

namespace hocket {

/// `message` with an excerpt behind each of its lines that begins with the
/// place of a text file; at most eight of them. A place that cannot be shown
/// (no such file or line, not text, not a regular file) is left as it is.
/// Control characters of the file are shown as '?', of a long line the part
/// around the column.
std::string withExcerpts(const std::string &message);

} // namespace hocket

#endif // HOCKET_BASE_SOURCEEXCERPT_H
