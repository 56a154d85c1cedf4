//===- Fuzzer.cpp - A target for libFuzzer --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// HOCKET_FUZZ_TARGET=NAME names the target; the options are libFuzzer's.
///
//===----------------------------------------------------------------------===//

#include "test/fuzz/Target.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace hocket;

static const fuzz::Target *chosen;

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  const char *name = std::getenv("HOCKET_FUZZ_TARGET");
  auto found = fuzz::targets().find(name ? name : "");
  if (found != fuzz::targets().end()) {
    chosen = &found->second;
    return 0;
  }
  std::fputs("error: HOCKET_FUZZ_TARGET names none of the targets:", stderr);
  for (const auto &[known, target] : fuzz::targets())
    std::fprintf(stderr, " %s", known.c_str());
  std::fputs("\n", stderr);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  (*chosen)({reinterpret_cast<const char *>(bytes), size});
  return 0;
}
