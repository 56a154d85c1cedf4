//===- TextWriter.h - Indented lines of source text -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes numbers, and lines, two spaces deeper inside each block.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_TEXTWRITER_H
#define HOCKET_COMPILER_TARGETS_CUDA_TEXTWRITER_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace hocket::cuda {

inline std::string number(int64_t value) { return std::to_string(value); }

class TextWriter {
public:
  void line(const llvm::Twine &text) {
    this->text.append(2 * depth, ' ');
    this->text += text.str() + "\n";
  }
  /// `head {` until the matching close().
  void open(const llvm::Twine &head) {
    line(head + " {");
    ++depth;
  }
  void close(const llvm::Twine &end = "}") {
    --depth;
    line(end);
  }
  /// A loop over 0 .. `end`-1 that the compiler is to unroll.
  void openUnrolled(const llvm::Twine &type, const llvm::Twine &name,
                    const llvm::Twine &end) {
    line("#pragma unroll");
    open("for (" + type + " " + name + " = 0; " + name + " < " + end + "; ++" +
         name + ")");
  }

  std::string text;

private:
  unsigned depth = 0;
};

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_TEXTWRITER_H
