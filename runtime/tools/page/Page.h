//===- Page.h - A page for a browser ----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Pages are one file each and load nothing. All of them have one style sheet
/// (page.css, which also says the colour of each kind of memory) and one set of
/// drawing functions (draw.js); a page adds its own HTML and script.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_PAGE_PAGE_H
#define HOCKET_RUNTIME_TOOLS_PAGE_PAGE_H

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hocket {

/// What a page adds.
struct PageParts {
  const char *html, *script;
};

/// Of an executable, of a plan that was searched, and of token files.
extern const PageParts inspectPage, planPageParts, dataPage;

/// The page that shows `data`, which stands in its element #data.
std::string pageText(const PageParts &parts,
                     const nlohmann::ordered_json &data);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_PAGE_PAGE_H
