//===- NativeObject.h - What a shared object may hold -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_NATIVEOBJECT_H
#define HOCKET_RUNTIME_PROGRAM_NATIVEOBJECT_H

#include <string>
#include <string_view>

namespace hocket {

/// Why an ELF shared object for x86-64 is none that the compiler makes, or "":
/// loading it would run code (constructors, indirect functions), load another
/// library or bind names of the process, or it has memory that is writable and
/// executable. Reads nothing outside of `image`.
///
/// An object without a fault can still do anything once one of its functions
/// is called. This only means that loading it, or asking it for a symbol, does
/// not call one.
std::string nativeObjectFault(std::string_view image);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_NATIVEOBJECT_H
