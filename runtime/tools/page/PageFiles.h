//===- PageFiles.h - The pages' own files -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_PAGE_PAGEFILES_H
#define HOCKET_RUNTIME_TOOLS_PAGE_PAGEFILES_H

#include "runtime/tools/page/Page.h"

namespace hocket {

/// page.css and draw.js of this folder, which every page has; the build writes
/// them into the program.
extern const char *const pageStyle, *const pageDrawing;

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_PAGE_PAGEFILES_H
