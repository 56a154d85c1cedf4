//===- NativeOrigin.h - Whose compiler made the native code -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program's machine code can do what the process that loads it can, and no
/// check of the file changes that. What can be known is whether the very bytes
/// came out of a compiler that this user ran on this machine: the compiler
/// notes their digest in the user's cache (base/CacheFolder.h), where a
/// file from elsewhere cannot put anything.
///
/// Sources ("cuda-c++") are compiled where they run, and are not meant here.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_NATIVEORIGIN_H
#define HOCKET_RUNTIME_PROGRAM_NATIVEORIGIN_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"

#include <string>
#include <vector>

namespace hocket {

/// Notes that the machine code in `program` was compiled here. Fails where the
/// cache cannot be used; such code is then unknown later, no worse.
Status noteNativeCode(const program::Program &program);

/// The digests (SHA-256, hexadecimal) of machine code in `program` that was not
/// compiled here, as far as the cache knows.
std::vector<std::string> foreignNativeCode(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_NATIVEORIGIN_H
