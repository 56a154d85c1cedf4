//===- StepWindow.cpp - Steps of a run ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/StepWindow.h"

#include <algorithm>
#include <charconv>
#include <string_view>

using namespace hocket;

StatusOr<StepWindow> hocket::parseStepWindow(const std::string &text) {
  StepWindow window;
  size_t colon = std::min(text.find(':'), text.size());
  auto read = [](std::string_view word, uint64_t &to) {
    const char *begin = word.data(), *end = begin + word.size();
    auto [rest, error] = std::from_chars(begin, end, to);
    return error == std::errc() && rest == end && to > 0;
  };
  std::string_view all = text;
  bool sound = read(all.substr(0, colon), window.first);
  if (colon == text.size())
    window.last = window.first;
  else if (colon + 1 < text.size())
    sound &= read(all.substr(colon + 1), window.last);
  if (!sound || window.last < window.first)
    return invalidArgument("--trace-steps " + text +
                           ": write the first and the last step, counted from "
                           "1, as in 100:110");
  return window;
}
