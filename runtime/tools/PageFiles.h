//===- PageFiles.h - The page's own files -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_PAGEFILES_H
#define HOCKET_RUNTIME_TOOLS_PAGEFILES_H

namespace hocket {

/// The files of runtime/tools/page; the build writes them into the program.
extern const char *const pageHtml, *const pageStyle, *const pageScript;

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_PAGEFILES_H
