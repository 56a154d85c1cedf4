//===- FailureText.cpp - What a rank says that could not go on ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/FailureText.h"

#include <string_view>

using namespace hocket;
using namespace hocket::comm;

static constexpr std::string_view below = "\n  ";

Status comm::waitError(const std::string &cause, const std::string &waiting) {
  return unavailable(cause + std::string(below) + waiting);
}

Status comm::atPlace(const Status &error, const std::string &place) {
  if (error.code() != StatusCode::Unavailable)
    return error.withContext(place);
  const std::string &text = error.message();
  size_t line = text.rfind(below);
  if (line == text.npos)
    return waitError(text, place);
  return waitError(text.substr(0, line),
                   place + ": " + text.substr(line + below.size()));
}

std::string comm::failureText(unsigned rank, const Status &error) {
  std::string name = "rank " + std::to_string(rank);
  const std::string &text = error.message();
  bool isNamed = text.starts_with(name + ",") || text.starts_with(name + " ");
  return isNamed ? text : name + " failed: " + text;
}

std::string comm::waitTextOf(const Status &error) {
  const std::string &text = error.message();
  size_t line = text.rfind(below);
  return line == text.npos ? text : text.substr(line + below.size());
}
