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

/// An error that names the symbol if `object` (bytes of a relocatable ELF
/// file) needs one that it does not define.
llvm::Error checkSelfContained(llvm::StringRef object);

/// Links `objects` (bytes of relocatable ELF files) in order by lld, in this
/// process: to start a linker takes thirty times as long. The same objects give
/// the same bytes: no build id, no time, no path. Symbols that none defines are
/// an error if `isWhole`, otherwise the loader's to find. Any thread; lld links
/// for one at a time. Temporary files are removed whatever happens.
llvm::Expected<std::string> linkShared(llvm::ArrayRef<std::string> objects,
                                       bool isWhole = true);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_SHAREDOBJECT_H
