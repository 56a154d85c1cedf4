//===- LibraryCases.cpp - Calls of the ops of dense models ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/kernels/cuda/LibraryCases.h"

#include <array>

namespace hocket::kernels::test {
namespace {

using Cases = std::vector<LibraryCase>;

void addEmbeddings(Cases &cases) {
  for (int64_t from : {f32, bf16})
    for (int64_t to : {f32, f16})
      cases.push_back({"embedding",
                       {from, to, 9, 7, 20},
                       {},
                       {},
                       {ids(0, 7), of(from), of(to)}});
  cases.push_back({"embedding_shard",
                   {f16, f16, 9, 4, 24},
                   {},
                   {2},
                   {ids(0, 9), of(f16), of(f16)}});
  for (int accumulate : {0, 1}) {
    cases.push_back({"embedding_gradient",
                     {f32, 2500, 130, 9},
                     {},
                     {},
                     {ids(0, 130), of(f32), of(f32)},
                     accumulate});
    // Every token has one of few ids: the block empties its list on the way.
    cases.push_back({"embedding_gradient",
                     {bf16, 3000, 3, 260},
                     {},
                     {},
                     {ids(0, 3), of(bf16), of(f32)},
                     accumulate});
    cases.push_back({"embedding_gradient_shard",
                     {f16, 40, 66, 16},
                     {},
                     {30},
                     {ids(0, 200), of(f16), of(f32)},
                     accumulate});
  }
}

void addPlacedRows(Cases &cases) {
  for (int64_t dtype : {f32, bf16, f16})
    for (int64_t hidden : {20, 1100}) {
      Fill x = of(dtype);
      // Some rows twice, some not at all.
      std::vector<int64_t> n = {dtype, 3, 140, 90, hidden};
      for (int64_t sources : {0, 1}) {
        std::vector<int64_t> all = n;
        all.push_back(sources);
        std::vector<Fill> buffers = {x, ids(-60, 90), x};
        buffers.resize(size_t(3 + sources), x);
        cases.push_back({"place_rows", all, {}, {}, buffers});
      }
      cases.push_back(
          {"placed_rows_gradient", n, {}, {}, {x, ids(-60, 90), x}});
    }
}

void addPositions(Cases &cases) {
  cases.push_back(
      {"rope_table", {37, 10}, {1, 0.5, 0.1, 0.02, 1e-4}, {}, {of(f32)}});
  cases.push_back(
      {"rope_table_shard", {8, 4, 32, 4}, {1, 0.01}, {24}, {of(f32)}});
  cases.push_back(
      {"rope_table_shard", {16, 4, 32, 4, 2}, {1, 0.01}, {16}, {of(f32)}});
  cases.push_back({"rope_table_at",
                   {37, 6},
                   {1, 0.5, 0.02},
                   {},
                   {ids(0, 100000), of(f32)}});
  cases.push_back({"positions", {8, 32, 4}, {}, {24}, {ids(0, 1)}});
  cases.push_back({"positions", {12, 36, 2, 3}, {}, {12}, {ids(0, 1)}});
  cases.push_back({"positions", {8, 32, 0}, {}, {3}, {ids(0, 1)}});
  for (int64_t both : {0, 1})
    cases.push_back({"relative_buckets", {32, 128, both}, {}, {}, {ids(0, 1)}});
  for (int64_t dtype : {f32, bf16, f16})
    for (auto [d, rotated] :
         {std::pair{2, 2}, {16, 16}, {26, 26}, {32, 16}, {27, 10}})
      cases.push_back({"rope",
                       {dtype, 2, 5, 3, d, d == 16, rotated},
                       {},
                       {},
                       {of(dtype), of(f32), of(dtype)},
                       0,
                       std::vector<size_t>(d == 26 ? 1 : 0)});
}

/// AttentionTest.cpp has more shapes; these stand for the kernels themselves.
void addAttention(Cases &cases) {
  auto add = [&](const std::vector<int64_t> &n,
                 const std::vector<double> &floats,
                 const std::vector<int64_t> &scalars) {
    Fill x = of(n[0]), row = of(f32), sums = workspace(row);
    bool shard = n.size() > 9;
    cases.push_back({shard ? "attention_forward_shard" : "attention_forward",
                     n,
                     floats,
                     scalars,
                     {x, x, x, x, row}});
    cases.push_back({shard ? "attention_backward_shard" : "attention_backward",
                     n,
                     floats,
                     scalars,
                     {x, x, x, x, row, x, x, x, x, sums}});
  };
  add({bf16, 1, 33, 2, 1, 64, 1, 0, 9}, {0.25, 0}, {77, 3, 5});
  // Of four pairs of tiles of queries, one has its sums in the workspace.
  cases.push_back(cases.back());
  cases.back().op = "attention_backward_joint";
  cases.back().integers = {bf16, 1, 400, 1, 1, 64, 1, 0, 9};
  for (auto [dtype, d] : {std::pair{f16, int64_t(64)}, {f32, 20}})
    for (const std::vector<double> &floats :
         {std::vector{0.25, 0.0, 2.0}, {0.25, 0.0, 0.0, 1.0}})
      add({dtype, 1, 33, 2, 1, d, 1, 0, 9}, floats, {77, 3, 5});
  for (auto [dtype, d] : {std::pair{f16, int64_t(16)}, {f32, 20}})
    add({dtype, 1, 32, 2, 1, d, 1, 40, 64, 4, 128, 32, 64, 9}, {0.25, 0.1},
        {77, 3, 5, 32, 64, 1, 2});
  // Every position is a document of its own; AttentionTest.cpp has longer ones.
  Fill x = of(f32), sums = workspace(x);
  std::vector<int64_t> n = {f32, 1, 33, 2, 1, 20, 1, 0, 33, 2, 33, 0, 0, 9};
  std::vector<int64_t> scalars = {77, 3, 5, 0, 0, 0, 0};
  cases.push_back({"attention_forward_documents",
                   n,
                   {0.25, 0},
                   scalars,
                   {x, x, x, ids(0, 1), x, x}});
  cases.push_back({"attention_backward_documents",
                   n,
                   {0.25, 0},
                   scalars,
                   {x, x, x, x, x, x, ids(0, 1), x, x, x, sums}});
  for (bool padded : {false, true}) {
    LibraryCase forward = {
        "attention_forward_biased",
        {f32, 2, 33, 2, 1, 20, !padded, 0, 33, 2, 33, 0, 0, 1, 12, 9},
        {0.25, 0},
        scalars,
        {x, x, x, x, x, x}};
    LibraryCase backward = forward;
    backward.op = "attention_backward_biased";
    backward.fills = {x, x, x, x, sums, sums, x, x, x, x, x, x, x};
    for (LibraryCase *each : {&forward, &backward}) {
      if (padded)
        each->fills.push_back(ids(1, 34));
      cases.push_back(*each);
    }
  }
  for (int64_t d : {4, 150}) {
    cases.push_back(
        {"merge_attention",
         {2, 5, 3, d},
         {},
         {},
         {of(f32), of(f32, 9), of(f32), of(f32, 9), of(f32), of(f32)}});
    if (d == 150)
      cases.back().inPlace = {0, 1};
  }
}

/// Tokens of two rows of two pages, and padding; as many as there are rows, and
/// more.
void addCachedAttention(Cases &cases) {
  for (auto [dtype, d] : {std::pair{bf16, int64_t(64)}, {f16, 16}, {f32, 20}})
    for (int64_t rows : {2, 4}) {
      Fill x = of(dtype);
      std::vector<int32_t> table = {4, 1, 0, 3};
      table.resize(2 * size_t(rows), -1);
      cases.push_back({"cached_attention",
                       {dtype, 4, 6, 2, d, d == 16 ? 50 : 0, rows, 2, 5},
                       d == 16 ? std::vector{0.25} : std::vector{0.25, 2.0},
                       {},
                       {x, x, x, list({3, 100, 0, 101}), list({1, 0, -1, 0}),
                        list(table), x, x, x, x, x},
                       0,
                       {6, 7}});
      if (rows == 4)
        continue;
      LibraryCase shard = cases.back();
      shard.op = "cached_attention_shard", shard.integers.push_back(12);
      shard.floats = {0.25, 0, 1}, shard.scalars = {6};
      cases.push_back(std::move(shard));
      if (d == 16)
        continue; // Of a window.
      cases.push_back({"cached_attention_biased",
                       {dtype, 4, 6, 2, d, 0, rows, 2, 5, 6, 20},
                       {0.25},
                       {},
                       {x, x, x, list({3, 100, 0, 101}), list({1, 0, -1, 0}),
                        list(table), x, x, of(f32), x, x, x},
                       0,
                       {6, 7}});
    }
}

void addLosses(Cases &cases) {
  for (auto [dtype, tokens, vocab, valid] :
       {std::array<int64_t, 4>{f32, 5, 17, 17},
        {bf16, 4, 4100, 4093},
        {bf16, 1, 2064, 2064},
        {bf16, 600, 3, 2},
        {f16, 3, 300, 1}}) {
    Fill logits = of(dtype, 8), lse = of(f32, 8), one = of(f32);
    Fill labels = ids(-1, valid), more = ids(-1, vocab + 9);
    cases.push_back({"cross_entropy_forward",
                     {dtype, tokens, vocab, valid},
                     {},
                     {},
                     {logits, labels, one, one}});
    cases.push_back({"cross_entropy_backward",
                     {dtype, tokens, vocab, valid},
                     {},
                     {},
                     {logits, labels, lse, one, of(dtype)},
                     0,
                     std::vector<size_t>(dtype == bf16 ? 1 : 0)});
    cases.push_back({"cross_entropy_joint",
                     {dtype, tokens, vocab, valid},
                     {},
                     {},
                     {logits, labels, one, of(f32, 8), one, one, of(dtype)},
                     0,
                     std::vector<size_t>(dtype == bf16 ? 1 : 0)});
    for (int64_t first : {int64_t(0), vocab - 3}) {
      cases.push_back({"cross_entropy_rows",
                       {dtype, tokens, vocab, vocab + 9, 3},
                       {},
                       {first},
                       {logits, more, one, one}});
      cases.push_back({"cross_entropy_backward_shard",
                       {dtype, tokens, vocab, vocab + 9},
                       {},
                       {first},
                       {logits, more, lse, one, lse, of(dtype)}});
    }
  }
  // Longer than what is kept of a row.
  cases.push_back({"cross_entropy_joint",
                   {bf16, 2, 51002, 50990},
                   {},
                   {},
                   {of(bf16, 8), ids(-1, 50990), of(f32), of(f32, 8), of(f32),
                    of(f32), of(bf16)},
                   0,
                   {0}});
  for (int64_t width : {1, 3, 70})
    cases.push_back(
        {"log_sum_exp", {11, width}, {}, {}, {of(f32, 50), of(f32)}});
  cases.push_back({"count_labels", {1500}, {}, {}, {ids(-1, 2), of(f32)}});
  cases.push_back({"count_labels", {0}, {}, {}, {ids(-1, 2), of(f32)}});
  // More than all blocks have threads.
  cases.push_back({"count_labels", {33000}, {}, {}, {ids(-1, 2), of(f32)}});
  for (int64_t tokens : {1, 1100, 1537})
    cases.push_back({"mean_loss",
                     {tokens},
                     {},
                     {},
                     {of(f32), of(f32), ids(-1, 2), of(f32), of(f32)}});
}

void addShards(Cases &cases) {
  for (int64_t dtype : {f32, bf16, i32, f64, e4m3}) {
    Fill x = dtype == i32 ? ids(-9, 9) : of(dtype);
    for (int64_t width : {3, 16}) {
      int64_t whole = 3 * width - 2;
      std::vector<int64_t> n = {dtype, 3, 4, width, whole};
      cases.push_back({"gather_shards", n, {}, {}, {x, x}});
      cases.push_back({"scatter_shards", n, {}, {}, {x, x}});
      for (int64_t first : {int64_t(0), width, whole - 1, whole + 5})
        cases.push_back(
            {"slice_shard", {dtype, 4, width, whole}, {}, {first}, {x, x}});
      for (int64_t shared : {1, 3})
        for (int64_t before : {int64_t(0), width, whole})
          cases.push_back({"join_heads",
                           {dtype, 5, 3, shared, before, width},
                           {},
                           {},
                           {x, x, x}});
      for (int64_t first : {int64_t(0), int64_t(1), whole - width})
        cases.push_back(
            {"insert_rows", {dtype, width, whole, first}, {}, {}, {x, x, x}});
      for (int64_t first : {int64_t(0), width, whole - 1, -width, 1 - whole})
        cases.push_back(
            {"shift_rows", {dtype, 4, whole, first}, {}, {}, {x, x}});
    }
  }
  for (int64_t dtype : {f32, bf16})
    for (int64_t width : {0, 3, 8})
      cases.push_back({"sum_heads",
                       {dtype, 70, 5, 11, width},
                       {},
                       {},
                       {of(dtype), of(dtype)}});
  for (int64_t dtype : {f32, f16}) {
    Fill x = of(dtype);
    cases.push_back({"pad_rows", {dtype, 300, 2500}, {}, {}, {x, x}});
    for (int accumulate : {0, 1})
      cases.push_back(
          {"accumulate", {dtype, 2051}, {}, {}, {x, of(f32)}, accumulate});
  }
}

/// One tile and less, several with ragged ends, rows at addresses of every
/// alignment and all at those of 16 bytes.
void addTransposes(Cases &cases) {
  for (auto [m, n] : std::array<std::array<int64_t, 2>, 6>{
           {{1, 1}, {3, 200}, {128, 128}, {144, 272}, {257, 130}, {0, 5}}})
    for (int64_t dtype : {e4m3, e5m2})
      cases.push_back(
          {"transpose", {dtype, m, n}, {}, {}, {of(dtype), of(dtype)}});
}

/// Blocks of rows, of columns and of both, whole and with ragged ends, packs at
/// addresses of every alignment.
void addBlocks(Cases &cases) {
  for (auto [m, n, wide, narrow] :
       std::array<std::array<int64_t, 4>, 6>{{{1, 128, bf16, e4m3},
                                              {1, 32, f32, e5m2},
                                              {128, 1, bf16, e5m2},
                                              {32, 1, f16, e4m3},
                                              {128, 128, bf16, e4m3},
                                              {128, 128, f32, e5m2}}})
    for (auto [rows, columns] : std::array<std::array<int64_t, 2>, 4>{
             {{1, 1}, {33, 200}, {130, 256}, {0, 5}}}) {
      std::vector<int64_t> sizes = {wide, narrow, 2, rows, columns, m, n};
      cases.push_back(
          {"quantize_blocks", sizes, {}, {}, {of(wide), of(narrow), of(f32)}});
      std::swap(sizes[0], sizes[1]);
      cases.push_back({"dequantize_blocks",
                       sizes,
                       {},
                       {},
                       {of(narrow), of(f32), of(wide)}});
    }
}

void addNorms(Cases &cases) {
  LibraryCase norm{"global_norm", {}, {}, {}, {of(f32), of(f32)}};
  cases.push_back(norm);
  for (int64_t i = 0; i < 36; ++i) {
    int64_t dtype = 1 + i % 7 % 3, count = i == 5 ? 70000 : 31 * i;
    norm.integers.insert(norm.integers.end(), {dtype, count});
    norm.fills.push_back(of(dtype));
  }
  cases.push_back(norm);
  cases.push_back({"global_norm", {f32, 5}, {}, {}, {}});
  cases.back().fills = {of(f32), of(f32), of(f32, INFINITY)};
  // Their squares are beyond f32.
  cases.push_back({"global_norm", {bf16, 50}, {}, {}, {}});
  cases.back().fills = {of(f32), of(f32), of(bf16, 1e30)};
}

} // namespace

Cases denseCases() {
  Cases cases;
  addEmbeddings(cases);
  addPlacedRows(cases);
  addPositions(cases);
  addAttention(cases);
  addCachedAttention(cases);
  addLosses(cases);
  addShards(cases);
  addTransposes(cases);
  addBlocks(cases);
  addNorms(cases);
  return cases;
}

} // namespace hocket::kernels::test
