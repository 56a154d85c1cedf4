//===- FaultCases.cpp - Calls with data that is wrong ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/Faults.cuh"
#include "test/kernels/cuda/LibraryCases.h"

namespace hocket::kernels::test {

/// Of calls of few tokens and of many: rows, positions and pages that do not
/// exist, and a cache that is not written where it is read.
static void addCachePlaces(std::vector<FaultCase> &cases) {
  auto add = [&](cuda::Fault fault, int32_t row, int32_t position, int32_t page,
                 std::vector<size_t> inPlace = {6, 7}) {
    for (auto [dtype, rows] : {std::pair{bf16, 1}, {bf16, 2}, {f32, 1}}) {
      std::vector<int32_t> table = {2, page};
      table.resize(2 * size_t(rows), 0);
      Fill x = of(dtype);
      cases.push_back({{"cached_attention",
                        {dtype, 2, 2, 1, 16, 0, rows, 2, 3},
                        {1},
                        {},
                        {x, x, x, list({4, position}), list({0, row}),
                         list(table), x, x, x, x, x},
                        0,
                        inPlace},
                       static_cast<uint32_t>(fault)});
    }
  };
  for (int32_t row : {-2, 2, INT32_MAX, INT32_MIN})
    add(cuda::Fault::CachePlace, row, 5, 1);
  for (int32_t position : {-1, 128, INT32_MAX})
    add(cuda::Fault::CachePlace, 0, position, 1);
  for (int32_t page : {-1, 3, INT32_MAX})
    add(cuda::Fault::CachePlace, 0, 70, page);
  add(cuda::Fault::CacheCopy, 0, 5, 1, {});
}

/// Of state-space layers: rows that do not exist, tokens out of order, and a
/// cache that is not written where it is read.
static void addStatePlaces(std::vector<FaultCase> &cases) {
  auto add = [&](cuda::Fault fault, int32_t row, int32_t position,
                 std::vector<size_t> inPlace = {1}) {
    Fill x = of(bf16), number = of(f32), rows = list({0, row});
    Fill positions = list({4, position});
    cases.push_back({{"cached_conv",
                      {bf16, 2, 40, 4, 2},
                      {},
                      {},
                      {x, x, x, x, positions, rows, x},
                      0,
                      inPlace},
                     static_cast<uint32_t>(fault)});
    cases.push_back({{"cached_scan",
                      {bf16, 2, 2, 5, 1, 9, 2},
                      {0, 1},
                      {},
                      {x, number, x, x, x, x, number, number, number, positions,
                       rows, number},
                      0,
                      inPlace},
                     static_cast<uint32_t>(fault)});
  };
  for (int32_t row : {-2, 2, INT32_MAX, INT32_MIN})
    add(cuda::Fault::StatePlace, row, 5);
  for (int32_t position : {-1, 0, 4, 6, INT32_MAX, INT32_MIN})
    add(cuda::Fault::StatePlace, 0, position);
  add(cuda::Fault::StatePlace, 1, -1);
  add(cuda::Fault::CacheCopy, 0, 5, {});
}

std::vector<FaultCase> faultCases() {
  std::vector<FaultCase> cases;
  auto add = [&](cuda::Fault fault, LibraryCase call) {
    cases.push_back({std::move(call), static_cast<uint32_t>(fault)});
  };
  Fill x = of(bf16), row = of(f32);
  for (int32_t id : {-1, 7, INT32_MAX}) {
    Fill some = list({3, id, 0});
    add(cuda::Fault::TokenId,
        {"embedding", {bf16, bf16, 3, 7, 20}, {}, {}, {some, x, x}});
    add(cuda::Fault::TokenId,
        {"embedding_gradient", {bf16, 3, 7, 9}, {}, {}, {some, x, row}});
  }
  for (int32_t placed : {4, INT32_MAX}) {
    Fill some = list({3, placed, -1, 0});
    std::vector<int64_t> n = {bf16, 2, 2, 4, 20};
    add(cuda::Fault::PlacedRow,
        {"placed_rows_gradient", n, {}, {}, {x, some, x}});
    n.push_back(1);
    add(cuda::Fault::PlacedRow, {"place_rows", n, {}, {}, {x, some, x, x}});
  }
  for (int32_t label : {-2, 15, INT32_MIN}) {
    Fill some = list({3, label, -1});
    add(cuda::Fault::Label, {"cross_entropy_forward",
                             {bf16, 3, 17, 15},
                             {},
                             {},
                             {x, some, row, row}});
    add(cuda::Fault::Label, {"cross_entropy_backward",
                             {bf16, 3, 17, 15},
                             {},
                             {},
                             {x, some, row, row, x}});
    add(cuda::Fault::Label, {"cross_entropy_joint",
                             {bf16, 3, 17, 15},
                             {},
                             {},
                             {x, some, row, row, row, row, x}});
    add(cuda::Fault::Label, {"cross_entropy_rows",
                             {bf16, 3, 17, 15, 1},
                             {},
                             {2},
                             {x, some, row, row}});
  }
  for (int64_t first : {int64_t(-1), int64_t(1) << 40}) {
    add(cuda::Fault::Place,
        {"positions", {8, 32, 4}, {}, {first}, {ids(0, 1)}});
    add(cuda::Fault::Place,
        {"slice_shard", {bf16, 4, 3, 7}, {}, {first}, {x, x}});
    add(cuda::Fault::Place,
        {"rope_table_shard", {8, 4, 32, 4}, {1, 0.01}, {first}, {row}});
    add(cuda::Fault::Place, {"attention_forward_shard",
                             {f32, 1, 4, 1, 1, 4, 1, 0, 4, 1, 8, 2, 0, 9},
                             {1, 0},
                             {1, 2, 3, first, 0, 0, 0},
                             {row, row, row, row, row}});
  }
  addCachePlaces(cases);
  addStatePlaces(cases);
  for (int32_t expert : {-1, 6, INT32_MAX}) {
    Fill some = list({3, expert, 5, 0});
    add(cuda::Fault::Expert, {"expert_counts", {4, 6, 1}, {}, {}, {row, some}});
    add(cuda::Fault::Expert, {"expert_order",
                              {1, 2, 2, 6, 0, 1},
                              {},
                              {},
                              {ids(0, 1), ids(0, 1), some}});
    add(cuda::Fault::Expert,
        {"router_gradient", {2, 6, 2, 0, 1}, {1}, {}, {row, row, row, some}});
  }
  for (int32_t slot : {-2, 12, INT32_MAX}) {
    Fill some = list({3, slot, -1, 0});
    std::vector<int64_t> n = {bf16, 1, 2, 2, 3, 4, 1, 12, 9};
    add(cuda::Fault::Slot, {"dispatch", n, {}, {}, {x, x, some, row}});
    add(cuda::Fault::Slot, {"combine", n, {}, {}, {x, x, some, row}});
    add(cuda::Fault::Slot,
        {"combine_weight_gradient", n, {}, {}, {row, x, x, some}});
  }
  for (const std::vector<int32_t> &ranges :
       {std::vector<int32_t>{0, 3, 2, 4}, {0, 3, 3, -1}, {-1, 3, 3, 4}}) {
    Fill some = list(ranges);
    std::vector<int64_t> n = {bf16, 8, 8, 8, 2, 1, 2, 8};
    add(cuda::Fault::Ranges, {"grouped_linear", n, {}, {}, {x, x, x, some}});
    add(cuda::Fault::Ranges,
        {"grouped_linear_weight_gradient", n, {}, {}, {row, x, x, some}});
  }
  add(cuda::Fault::Ranges,
      {"pack_segments", {2}, {}, {}, {ids(0, 1), list({0, 3, 3, -1})}});
  return cases;
}

} // namespace hocket::kernels::test
