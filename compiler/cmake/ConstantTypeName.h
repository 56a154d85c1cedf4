//===- ConstantTypeName.h - LLVM's names of types, as constants -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In the place of "llvm/Support/TypeName.h", which searches a string at every
/// call. With assertions MLIR asks for a name whenever it looks whether a type
/// or an op has an interface, as verifiers do all the time. The names are those
/// that LLVM gives. Included first by the sources that include MLIR.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_CMAKE_CONSTANTTYPENAME_H
#define HOCKET_COMPILER_CMAKE_CONSTANTTYPENAME_H

#ifndef LLVM_SUPPORT_TYPENAME_H
#define LLVM_SUPPORT_TYPENAME_H

#include "llvm/ADT/StringRef.h"

#include <string_view>

namespace llvm {

// The parameter's name is in the string.
template <typename DesiredTypeName> inline StringRef getTypeName() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view key = "DesiredTypeName = ";
  constexpr size_t at = text.find(key);
  static_assert(at != text.npos && text.ends_with(']'));
  constexpr std::string_view name = text.substr(at + key.size());
  return StringRef(name.data(), name.size() - 1);
}

} // namespace llvm

#endif // LLVM_SUPPORT_TYPENAME_H

#endif // HOCKET_COMPILER_CMAKE_CONSTANTTYPENAME_H
