//===- ModuleText.h - A .mlir file before it is parsed ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_MLIR_MODULETEXT_H
#define HOCKET_FRONTENDS_MLIR_MODULETEXT_H

#include "base/Status.h"

#include <string>
#include <string_view>

namespace hocket {

/// MLIR's parser recurses on every bracket, and makes room for as many results
/// as the greatest number behind `%name#` says, before it knows what they are.
/// InvalidArgument with "path:line:column" where `text` has either beyond what
/// any module needs, so that the parser can be called without fear.
Status checkModuleText(std::string_view text, const std::string &path);

} // namespace hocket

#endif // HOCKET_FRONTENDS_MLIR_MODULETEXT_H
