//===- Target.h - Parsers of files that others made -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One function for each parser of a file that Hocket did not write itself. It
/// takes the bytes of a file, damaged in any way, and returns: what is wrong
/// with them is the parser's to say, in a Status. What it accepts is written
/// and read again where the parser has a writer, and used where a use is cheap.
///
/// libFuzzer calls them (`make fuzz`), and Replay.cpp with seeds and damaged
/// seeds (test_fuzz.py).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_FUZZ_TARGET_H
#define HOCKET_TEST_FUZZ_TARGET_H

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace hocket::fuzz {

using Target = std::function<void(std::string_view bytes)>;

/// By name, as `make fuzz ONLY=name` takes them.
const std::map<std::string, Target> &targets();

void addFrontendTargets(std::map<std::string, Target> &targets);
void addRuntimeTargets(std::map<std::string, Target> &targets);
void addPlanningTargets(std::map<std::string, Target> &targets);

/// A file that holds `bytes`, for parsers that want a path: beside the files of
/// HOCKET_FUZZ_FOLDER, if it is set, in a folder that this process alone has.
/// Each call replaces what the last one of the same name has written.
std::string asFile(const std::string &name, std::string_view bytes);

/// Ends the process unless `holds`, so that the input is kept.
void require(bool holds, const char *what);

} // namespace hocket::fuzz

#endif // HOCKET_TEST_FUZZ_TARGET_H
