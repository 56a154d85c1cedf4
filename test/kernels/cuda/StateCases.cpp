//===- StateCases.cpp - Calls of the ops of state-space layers ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/kernels/cuda/LibraryCases.h"

#include <array>
#include <cfloat>

namespace hocket::kernels::test {

/// Tokens of two rows, one of which goes on, and padding; a row without any.
static void addCachedStates(std::vector<LibraryCase> &cases) {
  Fill rows = list({2, 0, -1, 2, 0, 2}), row = of(f32);
  Fill positions = list({7, 0, 0, 8, 1, 9});
  for (auto [dtype, taps] :
       {std::pair<int64_t, int64_t>{f32, 4}, {bf16, 2}, {f16, 8}}) {
    Fill x = of(dtype);
    std::vector<int64_t> n = {dtype, 6, 300, taps, 3};
    cases.push_back({"cached_conv",
                     n,
                     {},
                     {},
                     {x, x, x, x, positions, rows, x, x},
                     0,
                     {1}});
    cases.push_back(
        {"cached_conv", n, {}, {}, {x, x, x, x, positions, rows, x}, 0, {1}});
  }
  for (auto [dtype, heads, width, groups, state] :
       {std::array<int64_t, 5>{f32, 2, 3, 1, 5},
        {bf16, 4, 9, 2, 33},
        {f16, 2, 17, 1, 70}}) {
    Fill x = of(dtype);
    cases.push_back({"cached_scan",
                     {dtype, 6, heads, width, groups, state, 3},
                     {0, dtype == bf16 ? 0.9 : FLT_MAX},
                     {},
                     {x, row, x, x, x, x, row, row, row, positions, rows, row},
                     0,
                     {1}});
  }
}

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
  addCachedStates(cases);
  return cases;
}

} // namespace hocket::kernels::test
