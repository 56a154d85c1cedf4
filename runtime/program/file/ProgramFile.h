//===- ProgramFile.h - The executable file ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes and reads `program.hkx`: the 8 bytes "HOCKET\0\2" (the last one is
/// the format's version), a u64 payload length, the payload's SHA-256, and the
/// payload, one serialized program::Program. Little-endian. The same Program
/// always gives the same bytes.
///
/// A file is data from elsewhere: readProgram() returns a Program only after
/// every size, offset and reference in it has been checked, so that what runs
/// it can index without looking.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_FILE_PROGRAMFILE_H
#define HOCKET_RUNTIME_PROGRAM_FILE_PROGRAMFILE_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"

#include <string>
#include <string_view>

namespace hocket {

/// Bytes before the payload.
inline constexpr size_t programHeaderBytes = 8 + 8 + 32;

/// The file's bytes. ResourceExhausted from 2 GiB on (protobuf's limit).
StatusOr<std::string> serializeProgram(const program::Program &program);

/// Replaces `path` in one step. The program is not checked here.
Status writeProgram(const program::Program &program, const std::string &path);

/// The Program in `bytes`, undamaged (length and digest match) but otherwise
/// unchecked. `name` starts the messages. DataLoss for anything wrong.
StatusOr<program::Program> parseProgram(std::string_view bytes,
                                        const std::string &name);

/// parseProgram() of a file: undamaged, but unchecked. What `hocket verify`
/// starts from; everything else wants readProgram().
StatusOr<program::Program> readProgramUnchecked(const std::string &path);

/// A Program that passed checkProgram(). NotFound if there is no file.
StatusOr<program::Program> readProgram(const std::string &path);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_FILE_PROGRAMFILE_H
