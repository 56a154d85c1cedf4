//===- AllWorkers.h - Every way to run a kernel -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_KERNELS_ALLWORKERS_H
#define HOCKET_TEST_KERNELS_ALLWORKERS_H

#include "test/kernels/TestWorkers.h"

#include <gtest/gtest.h>

namespace hocket::kernels::test {

inline constexpr DType kTypes[] = {DType::F32, DType::BF16, DType::F16};

/// Runs `fn(workers)` for every instruction set and 1, 2 and 3 workers; the
/// results must have the same bits for all counts.
template <typename Fn> void forAllWorkers(Fn fn) {
  for (Isa isa : machineIsas()) {
    SCOPED_TRACE(std::string(nameOf(isa)));
    TestWorkers one(1, isa);
    Array first = fn(one);
    for (int count : {2, 3}) {
      TestWorkers several(count, isa);
      EXPECT_TRUE(fn(several).sameBits(first)) << count << " workers";
    }
  }
}

} // namespace hocket::kernels::test

#endif // HOCKET_TEST_KERNELS_ALLWORKERS_H
