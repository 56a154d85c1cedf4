//===- Page.cpp - A page for a browser ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/page/Page.h"

#include "base/json/JsonLines.h"
#include "runtime/tools/page/PageFiles.h"

#include <nlohmann/json.hpp>

using namespace hocket;
using nlohmann::ordered_json;

/// JSON as it may stand inside a script element: `<` cannot end one.
static std::string scriptText(const ordered_json &value) {
  std::string json = toJsonText(value), text;
  text.reserve(json.size());
  for (char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

/// Replaces the one `mark` in `text`.
static void fill(std::string &text, const std::string &mark,
                 const std::string &by) {
  if (size_t at = text.find(mark); at != std::string::npos)
    text.replace(at, mark.size(), by);
}

std::string hocket::pageText(const PageParts &parts, const ordered_json &data) {
  std::string text = parts.html;
  fill(text, "/*style*/", pageStyle);
  // The script first: the data may hold any text, the script's mark too.
  fill(text, "/*script*/", std::string(pageDrawing) + parts.script);
  fill(text, "/*data*/", scriptText(data));
  return text;
}
