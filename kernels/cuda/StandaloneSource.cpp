//===- StandaloneSource.cpp - A source with its headers inside ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/Sources.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

using namespace hocket::kernels;

namespace {

/// Joins a text and what it includes, each header once.
class SourceJoiner {
public:
  void add(std::string_view text, std::string_view name) {
    place(1, name);
    for (unsigned number = 1; !text.empty(); ++number) {
      size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      const CudaHeader *header = included(line);
      if (!header) {
        joined.append(line).append("\n");
      } else if (!known.insert(header->name).second) {
        joined += "\n";
      } else {
        add(header->text, header->name);
        place(number + 1, name);
      }
    }
  }

  std::string joined;

private:
  void place(unsigned line, std::string_view name) {
    joined +=
        "#line " + std::to_string(line) + " \"" + std::string(name) + "\"\n";
  }

  /// The header of this folder that `line` includes, or null.
  static const CudaHeader *included(std::string_view line) {
    constexpr std::string_view start = "#include \"";
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(start) || !line.ends_with('"'))
      return nullptr;
    line = line.substr(start.size(), line.size() - start.size() - 1);
    for (const CudaHeader &header : cudaHeaders())
      if (line == header.name)
        return &header;
    return nullptr;
  }

  std::set<std::string_view> known;
};

} // namespace

std::string hocket::kernels::standaloneSource(std::string_view source,
                                              std::string_view name) {
  SourceJoiner joiner;
  joiner.add(source, name);
  return std::move(joiner.joined);
}
