//===- StandaloneSource.cpp - A source with its headers inside ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/KernelText.h"

#include "kernels/cuda/Sources.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace {

/// Joins a text and what it includes, each header once.
class SourceJoiner {
public:
  void add(StringRef text, StringRef name) {
    place(1, name);
    unsigned number = 0;
    while (!text.empty()) {
      auto [line, rest] = text.split('\n');
      text = rest;
      ++number;
      const hocket::kernels::CudaHeader *header = included(line);
      if (!header) {
        joined += line.str() + "\n";
        continue;
      }
      if (!known.insert(header->name).second) {
        joined += "\n";
        continue;
      }
      add(header->text, header->name);
      place(number + 1, name);
    }
  }

  std::string joined;

private:
  void place(unsigned line, StringRef name) {
    joined += ("#line " + Twine(line) + " \"" + name + "\"\n").str();
  }

  /// The header of kernels/cuda that `line` includes, or null.
  static const hocket::kernels::CudaHeader *included(StringRef line) {
    line = line.trim();
    if (!line.consume_front("#include \"") || !line.consume_back("\""))
      return nullptr;
    for (const hocket::kernels::CudaHeader &header :
         hocket::kernels::cudaHeaders())
      if (line == header.name)
        return &header;
    return nullptr;
  }

  llvm::StringSet<> known;
};

} // namespace

std::string hocket::cuda::standalone(const std::string &source,
                                     const std::string &name) {
  SourceJoiner joiner;
  joiner.add(source, name);
  return std::move(joiner.joined);
}
