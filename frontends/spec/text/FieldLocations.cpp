//===- FieldLocations.cpp - Where each field was written ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/text/FieldLocations.h"

using namespace hocket::spec;

std::string SourcePlace::str() const {
  if (line == 0)
    return file;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

void FieldLocations::set(const std::string &path, SourcePlace place) {
  // Whatever was known of the fields inside is of the message replaced, and of
  // elements of the list replaced.
  for (const char *begin : {".", "["}) {
    std::string inside = path + begin;
    auto first = places.lower_bound(inside), last = first;
    while (last != places.end() && last->first.starts_with(inside))
      ++last;
    places.erase(first, last);
  }
  places[path] = std::move(place);
}

void FieldLocations::setIfAbsent(const std::string &path,
                                 const SourcePlace &place) {
  places.try_emplace(path, place);
}

const SourcePlace &FieldLocations::find(std::string_view path) const {
  while (true) {
    if (auto found = places.find(path); found != places.end())
      return found->second;
    // The list of an element, or the message of a field.
    size_t end = path.find_last_of(".[");
    if (end == std::string_view::npos)
      return root;
    path = path.substr(0, end);
  }
}
