//===- OutputFile.h - A file, or standard output ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Options that name a file to write take `-` for standard output. What a
/// command says of its work goes to standard error then.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_OUTPUTFILE_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_OUTPUTFILE_H

#include "base/Status.h"

#include <iosfwd>
#include <string>

namespace hocket {

enum class OutputKind {
  Text,
  Binary, ///< Not for a terminal.
};

/// Whether a path stands for standard output.
bool isStandardOutput(const std::string &path);

/// Where a command speaks of its work if it writes `path`: standard output, or
/// standard error where that is taken.
std::ostream &reportStream(const std::string &path);

/// Whether a file can be written there, if `path` is not empty; of standard
/// output, InvalidArgument where that is a terminal and what is to be written
/// is no text. To be asked before long work.
Status checkOutput(const std::string &path, OutputKind kind);

/// Writes the whole of a file, or nothing; or to standard output, whose
/// failure (a full disk, a closed pipe) is an error too.
Status writeOutput(const std::string &path, const std::string &bytes,
                   OutputKind kind = OutputKind::Text);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_OUTPUTFILE_H
