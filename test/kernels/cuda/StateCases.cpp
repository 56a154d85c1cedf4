//===- StateCases.cpp - Calls of the ops of state-space layers ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/kernels/cuda/LibraryCases.h"

#include <array>
#include <cfloat>

namespace hocket::kernels::test {

std::vector<LibraryCase> stateCases() {
  std::vector<LibraryCase> cases;
  Fill row = of(f32), sum = row;
  sum.slack = 20; // Of terms of both signs over all tokens.
  for (auto [dtype, taps] :
       {std::pair<int64_t, int64_t>{f32, 4}, {bf16, 3}, {f16, 8}}) {
    Fill x = of(dtype);
    std::vector<int64_t> n = {dtype, 2, 21, 37, taps};
    cases.push_back({"causal_conv", n, {}, {}, {x, x, x, x}});
    cases.push_back({"causal_conv", n, {}, {}, {x, x, x}});
    cases.push_back(
        {"causal_conv_gradient", n, {}, {}, {x, row, row, x, x, x}});
  }
  // More tokens than threads; several groups; numbers of a state, and rows,
  // that no warp has evenly.
  for (auto [dtype, batch, sequence, heads, width, groups, state] :
       {std::array<int64_t, 7>{f32, 1, 270, 2, 3, 1, 5},
        {bf16, 2, 13, 4, 9, 2, 33},
        {f16, 1, 9, 2, 17, 1, 70}}) {
    Fill x = of(dtype), sums = workspace(row);
    std::vector<int64_t> n = {dtype, batch,  sequence, heads,
                              width, groups, state};
    for (const std::vector<double> &limits :
         {std::vector<double>{0, FLT_MAX}, {0.5, 0.9}}) {
      cases.push_back(
          {"state_scan", n, limits, {}, {x, x, x, x, x, row, row, row}});
      cases.push_back(
          {"state_scan_gradient",
           n,
           limits,
           {},
           {x, x, x, x, sum, sum, sum, sums, x, x, x, x, x, row, row, row}});
    }
  }
  return cases;
}

} // namespace hocket::kernels::test
