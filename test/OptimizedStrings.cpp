//===- OptimizedStrings.cpp - Strings for tests that are not --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program has one copy of each function of std::string. In C++20 every
/// source brings its own, and those of a test's sources, which are compiled
/// without optimisation, would serve what is tested too, and LLVM and MLIR,
/// whose printers do little else than append. Linked first, these do.
///
//===----------------------------------------------------------------------===//

#include <string>

template class std::basic_string<char>;
