//===- SharedObject.h - Object files to one shared object -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_SHAREDOBJECT_H
#define HOCKET_COMPILER_TARGETS_CPU_SHAREDOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace hocket::cpu {

/// The path of ld.lld: `requested` if it is not empty, else the one found when
/// Hocket was configured, else `ld.lld-19` or `ld.lld` of the search path. An
/// error says what was looked for.
llvm::Expected<std::string> findLinker(llvm::StringRef requested);

/// An error that names the symbol if `object` (bytes of a relocatable ELF
/// file) needs one that it does not define.
llvm::Error checkSelfContained(llvm::StringRef object);

/// Links `objects` in order with ld.lld. The same objects give the same bytes:
/// no build id, no time, no path. Temporary files are removed whatever
/// happens.
llvm::Expected<std::string> linkShared(llvm::ArrayRef<std::string> objects,
                                       llvm::StringRef linker);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_SHAREDOBJECT_H
