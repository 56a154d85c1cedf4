//===- Prefix.cpp - Finding a token file by what a person typed -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/IndexedDataset.h"

#include <algorithm>
#include <filesystem>

using namespace hocket;
using namespace hocket::data;

namespace fs = std::filesystem;

/// `given` without a trailing ".bin" or ".idx".
static std::string withoutExtension(const std::string &given) {
  if (given.ends_with(".bin") || given.ends_with(".idx"))
    return given.substr(0, given.size() - 4);
  return given;
}

/// Whether `name` is `<key>_document.idx` or `<key>_sentence.idx`.
static bool isPreparedIndex(std::string_view name) {
  for (std::string_view end : {"_document.idx", "_sentence.idx"})
    if (name.ends_with(end) && name.size() > end.size())
      return true;
  return false;
}

/// The prefixes `<prefix>_<key>_document` and `<prefix>_<key>_sentence` whose
/// index exists, sorted.
static std::vector<std::string> preparedPrefixes(const std::string &prefix) {
  fs::path path(prefix);
  std::string start = path.filename().string() + "_";
  std::vector<std::string> found;
  std::error_code error;
  fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), last; !error && it != last;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(start) &&
        isPreparedIndex(std::string_view(name).substr(start.size())))
      found.push_back((path.parent_path() / name.substr(0, name.size() - 4)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

StatusOr<std::string> data::resolvePrefix(const std::string &given) {
  std::string prefix = withoutExtension(given);
  std::error_code error;
  if (fs::exists(prefix + ".idx", error))
    return prefix;
  std::vector<std::string> found = preparedPrefixes(prefix);
  if (found.size() == 1)
    return found.front();
  if (found.empty())
    return notFound(prefix + ".idx: there is no such file, and no " + prefix +
                    "_<key>_document.idx; `hocket data prepare INPUT -o " +
                    prefix + "` writes one");
  std::string message = prefix + ": several files were prepared, name one:";
  for (const std::string &name : found)
    message += " " + name;
  return invalidArgument(message);
}
