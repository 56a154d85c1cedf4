//===- BadSpec.h - What is said about a wrong spec --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_FRONTENDS_SPEC_BADSPEC_H
#define HOCKET_TEST_FRONTENDS_SPEC_BADSPEC_H

#include "frontends/spec/LoadSpec.h"

#include <gtest/gtest.h>

namespace hocket::spec::test {

/// A sound spec, for overrides to break.
inline const char *const sound =
    "model { layers: 2 hidden: 64 heads: 4 vocab_size: 257 "
    "max_positions: 32 }\n";

/// The errors of a spec with overrides, or "accepted".
inline std::string messageOf(const std::string &text,
                             std::vector<std::string> overrides = {}) {
  StatusOr<LoadedSpec> loaded =
      parseSpec(text, "a.textproto", {"", std::move(overrides)});
  if (loaded.ok())
    return "accepted";
  EXPECT_EQ(loaded.status().code(), StatusCode::InvalidArgument);
  return loaded.status().message();
}

} // namespace hocket::spec::test

#endif // HOCKET_TEST_FRONTENDS_SPEC_BADSPEC_H
