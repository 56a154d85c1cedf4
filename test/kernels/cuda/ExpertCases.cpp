//===- ExpertCases.cpp - Calls of the ops of mixtures of experts ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/kernels/cuda/LibraryCases.h"

#include <array>

namespace hocket::kernels::test {
namespace {

using Cases = std::vector<LibraryCase>;

void addRouters(Cases &cases) {
  Fill logits = of(f32, 3), row = of(f32);
  for (int64_t sigmoid : {0, 1}) {
    cases.push_back({"router",
                     {7, 12, 3, sigmoid, 1, 4, 2},
                     {2.5},
                     {},
                     {row, ids(0, 1), logits, of(f32, 0.1)}});
    cases.push_back({"router",
                     {6, 70, 2, sigmoid, 0, 1, 1},
                     {1},
                     {},
                     {row, ids(0, 1), logits}});
    cases.push_back({"router_by_sequence",
                     {12, 40, 3, sigmoid, 0, 1, 1, 3},
                     {1},
                     {},
                     {row, ids(0, 1), logits, of(f32, 0.5)}});
    for (int64_t renormalise : {0, 1})
      cases.push_back({"router_gradient",
                       {6, 40, 3, sigmoid, renormalise},
                       {2.5},
                       {},
                       {row, row, logits, ids(0, 40)}});
    for (auto [tokens, sequences] :
         {std::pair<int64_t, int64_t>{70, 1}, {135, 3}}) {
      cases.push_back({"router_probabilities",
                       {tokens, 37, sigmoid, sequences},
                       {},
                       {},
                       {row, workspace(of(f64)), logits}});
      cases.push_back({"router_probabilities_gradient",
                       {tokens, 37, sigmoid, sequences},
                       {},
                       {},
                       {row, row, logits}});
    }
  }
  for (auto [tokens, experts, sequences] :
       {std::array<int64_t, 3>{70, 37, 1}, {135, 8, 3}, {3, 65, 3}})
    cases.push_back({"sinkhorn",
                     {tokens, experts, sequences},
                     {},
                     {},
                     {row, workspace(of(f64)), logits}});
  // Equal scores go to the lower expert, and to the lower group.
  cases.push_back({"router",
                   {3, 12, 5, 1, 0, 4, 2},
                   {1},
                   {},
                   {row, ids(0, 1), of(f32, 0)}});
  // Scores that shared memory has no room for.
  cases.push_back(
      {"router", {9, 2000, 2, 0, 1, 1, 1}, {1}, {}, {row, ids(0, 1), logits}});
  cases.push_back(
      {"router_z_loss", {70, 37}, {}, {}, {row, workspace(of(f64)), logits}});
  cases.push_back(
      {"router_z_loss_gradient", {5, 37}, {}, {}, {row, row, logits}});
  for (int32_t skip : {0, 1}) {
    Fill flag = of(f32, skip);
    cases.push_back(
        {"balance_bias", {300}, {0.1}, {}, {row, row, of(f32, 9), flag}});
  }
}

void addOrders(Cases &cases) {
  for (int64_t sequences : {1, 4})
    cases.push_back(
        {"expert_counts", {3000, 6, sequences}, {}, {}, {of(f32), ids(0, 6)}});
  cases.push_back(
      {"expert_counts", {50, 9000, 2}, {}, {}, {of(f32), ids(0, 9000)}});
  for (int64_t runs : {1, 2})
    cases.push_back({"expert_order",
                     {2, 301, 2, 6, 0, runs},
                     {},
                     {},
                     {ids(0, 1), ids(0, 1), ids(0, 6)}});
  cases.push_back({"expert_order",
                   {2, 301, 2, 6, 70, 1},
                   {},
                   {},
                   {ids(0, 1), workspace(ids(0, 1)), ids(0, 6)}});
  cases.push_back({"expert_order",
                   {1, 40, 1, 1100, 0, 1},
                   {},
                   {},
                   {ids(0, 1), ids(0, 1), ids(0, 1100)}});
  // More segments than a block has threads.
  cases.push_back({"pack_segments", {1500}, {}, {}, {ids(0, 1), ids(0, 400)}});
}

void addRows(Cases &cases) {
  Fill weights = of(f32);
  for (int64_t dtype : {f32, bf16, f16}) {
    Fill x = of(dtype);
    // With a capacity, and as two runs without.
    for (auto n : {std::vector<int64_t>{dtype, 2, 6, 2, 5, 3, 1, 30, 21},
                   {dtype, 2, 6, 2, 1, 0, 2, 24, 16}}) {
      Fill slots = ids(-1, n[5] > 0 ? n[4] * n[5] : n[7] / n[6]);
      cases.push_back({"dispatch", n, {}, {}, {x, x, slots, weights}});
      cases.push_back({"dispatch", n, {}, {}, {x, x, slots}});
      cases.push_back({"combine", n, {}, {}, {x, x, slots, weights}});
      cases.push_back({"combine", n, {}, {}, {x, x, slots}});
      cases.push_back(
          {"combine_weight_gradient", n, {}, {}, {weights, x, x, slots}});
    }
  }
}

/// Two runs of 80 rows, three experts: one without rows, one with more than a
/// tile of plain GEMMs, one with few in both, and rows that belong to none.
const std::vector<int32_t> kRanges = {0,  70, 70, 0,  73, 5,
                                      10, 3,  13, 60, 75, 4};

/// The same rows of experts as segments of one run, and some behind the last.
const std::vector<int32_t> kSegments = {0,  70, 70, 0,  73,  5,
                                        80, 3,  83, 60, 145, 4};

/// As many that the fifth does not fit whole, and the last not at all.
const std::vector<int32_t> kBeyond = {0,  70, 70, 0,  73,  5,
                                      80, 3,  83, 99, 182, 4};

void addGemms(Cases &cases) {
  // Rows of 16 bytes and others.
  for (auto [dtype, out, in] :
       {std::array<int64_t, 3>{f32, 24, 41}, {bf16, 24, 40}, {f16, 13, 37}}) {
    // By run, as the rows of all experts, and in two segments of each.
    for (const auto &[rows, n] :
         {std::pair{kRanges,
                    std::vector<int64_t>{dtype, 160, out, in, 3, 2, 3, 160}},
          {kSegments, {dtype, 160, out, in, 3, 1, 6, 150}},
          {kBeyond, {dtype, 160, out, in, 3, 1, 6, 160}}}) {
      Fill x = of(dtype), ranges = list(rows);
      cases.push_back({"grouped_linear", n, {}, {}, {x, x, x, ranges}});
      cases.push_back(
          {"grouped_linear_input_gradient", n, {}, {}, {x, x, x, ranges}});
      for (int accumulate : {0, 1})
        cases.push_back({"grouped_linear_weight_gradient",
                         n,
                         {},
                         {},
                         {of(f32), x, x, ranges},
                         accumulate});
    }
  }
  // As many rows for each, and more of the result than one block has.
  Fill x = of(bf16);
  std::vector<int64_t> n = {bf16, 15, 136, 72, 3, 1, 3, 15};
  cases.push_back({"grouped_linear", n, {}, {}, {x, x, x}});
  cases.push_back({"grouped_linear_input_gradient", n, {}, {}, {x, x, x}});
  cases.push_back(
      {"grouped_linear_weight_gradient", n, {}, {}, {of(f32), x, x}});
  // More steps of each sum than there are stages for on Hopper.
  cases.push_back(
      {"grouped_linear", {bf16, 10, 8, 456, 2, 1, 2, 10}, {}, {}, {x, x, x}});
  cases.push_back({"grouped_linear_input_gradient",
                   {bf16, 10, 456, 8, 2, 1, 2, 10},
                   {},
                   {},
                   {x, x, x}});
  cases.push_back({"grouped_linear_weight_gradient",
                   {bf16, 920, 8, 16, 2, 1, 2, 920},
                   {},
                   {},
                   {of(f32), x, x}});
  // A block of Hopper's has several rectangles of the result, with more steps
  // than results are stored in, with fewer, and in more than one band.
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{bf16, 10, 264, 648, 2, 1, 2, 10},
        {f16, 264, 520, 136, 2, 1, 2, 264},
        {bf16, 17, 520, 8, 17, 1, 17, 17}}) {
    Fill y = of(shape[0]);
    cases.push_back({"grouped_linear", shape, {}, {}, {y, y, y}});
    cases.push_back(
        {"grouped_linear_input_gradient", shape, {}, {}, {y, y, y}});
    for (int accumulate : {0, 1})
      cases.push_back({"grouped_linear_weight_gradient",
                       shape,
                       {},
                       {},
                       {of(f32), y, y},
                       accumulate});
  }
}

} // namespace

Cases expertCases() {
  Cases cases;
  addRouters(cases);
  addOrders(cases);
  addRows(cases);
  addGemms(cases);
  return cases;
}

} // namespace hocket::kernels::test
