//===- LibraryTest.cpp - Ops by name --------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Library.h"
#include "kernels/cpu/Gemm.h"
#include "test/kernels/TestWorkers.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace hocket::kernels::test {
namespace {

/// A valid call of an op, and what its buffers need.
struct Example {
  std::string_view op;
  std::vector<int64_t> integers;
  std::vector<double> floats;
  std::vector<int64_t> scalars;
  std::vector<int64_t> bytes;
};

const Example kExamples[] = {
    {"embedding", {1, 2, 5, 7, 3}, {}, {}, {20, 84, 30}},
    {"embedding_gradient", {2, 5, 7, 3}, {}, {}, {20, 30, 84}},
    {"embedding_shard", {1, 2, 5, 7, 3}, {}, {3}, {20, 84, 30}},
    {"embedding_gradient_shard", {2, 5, 7, 3}, {}, {3}, {20, 30, 84}},
    {"place_rows", {2, 3, 5, 4, 7, 1}, {}, {}, {210, 60, 210, 168}},
    {"place_rows", {1, 3, 5, 4, 7, 0}, {}, {}, {420, 60, 420}},
    {"placed_rows_gradient", {2, 3, 5, 4, 7}, {}, {}, {168, 60, 210}},
    {"pad_rows", {2, 5, 7}, {}, {}, {10, 14}},
    {"accumulate", {2, 5}, {}, {}, {10, 20}},
    {"rope_table", {5, 4}, {1, 0.1}, {}, {80}},
    {"rope_table_shard", {5, 4, 20, 5}, {1, 0.1}, {10}, {80}},
    {"rope_table_shard", {5, 4, 20, 5, 2}, {1, 0.1}, {10}, {80}},
    {"rope_table_at", {5, 4}, {1, 0.1}, {}, {20, 80}},
    {"positions", {5, 20, 5}, {}, {15}, {20}},
    {"relative_buckets", {8, 10, 1}, {}, {}, {84}},
    {"rope", {2, 2, 5, 3, 4, 1, 4}, {}, {}, {240, 80, 240}},
    {"rope", {2, 2, 5, 3, 7, 1, 4}, {}, {}, {420, 80, 420}},
    {"attention_forward",
     {1, 2, 5, 4, 2, 8, 1, 0, 3},
     {0.5, 0.1},
     {1, 2, 0},
     {1280, 640, 640, 1280, 160}},
    {"attention_forward",
     {1, 2, 5, 4, 2, 8, 1, 0, 3},
     {0.5, 0.1, 50},
     {1, 2, 0},
     {1280, 640, 640, 1280, 160}},
    {"attention_forward",
     {1, 2, 5, 4, 2, 8, 1, 0, 3},
     {0.5, 0.1, 0, 1},
     {1, 2, 0},
     {1280, 640, 640, 1280, 160}},
    {"attention_backward",
     {2, 2, 5, 4, 2, 8, 1, 0, 3},
     {0.5, 0},
     {1, 2, 0},
     {640, 320, 320, 640, 160, 640, 640, 320, 320, 160}},
    {"attention_backward_joint",
     {2, 2, 5, 4, 4, 64, 1, 0, 3},
     {0.5, 0},
     {1, 2, 0},
     {5120, 5120, 5120, 5120, 160, 5120, 5120, 5120, 5120, 160}},
    {"attention_forward_shard",
     {1, 2, 5, 4, 2, 8, 1, 0, 10, 8, 20, 5, 10, 3},
     {0.5, 0.1},
     {1, 2, 0, 5, 10, 2, 4},
     {1280, 1280, 1280, 1280, 160}},
    {"attention_backward_shard",
     {2, 2, 5, 4, 2, 8, 1, 0, 10, 8, 20, 5, 10, 3},
     {0.5, 0},
     {1, 2, 0, 5, 10, 2, 4},
     {640, 640, 640, 640, 160, 640, 640, 640, 640, 160}},
    {"attention_forward_documents",
     {1, 2, 5, 4, 2, 8, 1, 0, 10, 8, 20, 5, 10, 3},
     {0.5, 0.1},
     {1, 2, 0, 5, 10, 2, 4},
     {1280, 1280, 1280, 40, 1280, 160}},
    {"attention_forward_documents",
     {1, 2, 5, 4, 2, 8, 1, 0, 10, 8, 20, 5, 10, 2, 3},
     {0.5, 0.1},
     {1, 2, 0, 5, 10, 2, 4},
     {1280, 1280, 1280, 40, 1280, 160}},
    {"attention_backward_documents",
     {2, 2, 5, 4, 2, 8, 1, 0, 10, 8, 20, 5, 10, 3},
     {0.5, 0},
     {1, 2, 0, 5, 10, 2, 4},
     {640, 640, 640, 640, 160, 640, 40, 640, 640, 640, 160}},
    {"attention_forward_biased",
     {1, 2, 5, 4, 2, 8, 1, 0, 10, 8, 20, 5, 10, 1, 3, 3},
     {0.5, 0.1},
     {1, 2, 0, 5, 10, 2, 4},
     {1280, 160, 1280, 1280, 1280, 112, 40}},
    {"attention_backward_biased",
     {2, 2, 5, 4, 2, 8, 1, 0, 10, 8, 20, 5, 10, 1, 3, 3},
     {0.5, 0},
     {1, 2, 0, 5, 10, 2, 4},
     {640, 640, 640, 112, 160, 224, 640, 640, 640, 640, 160, 640, 112, 40}},
    {"cached_attention",
     {1, 5, 4, 2, 8, 0, 3, 2, 7},
     {0.5},
     {},
     {640, 320, 320, 20, 20, 24, 28672, 28672, 640, 28672, 28672}},
    {"cached_attention",
     {1, 5, 4, 2, 8, 0, 3, 2, 7},
     {0.5, 50},
     {},
     {640, 320, 320, 20, 20, 24, 28672, 28672, 640, 28672, 28672}},
    {"cached_attention_shard",
     {1, 5, 4, 2, 8, 0, 3, 2, 7, 12},
     {0.5, 0, 1},
     {8},
     {640, 320, 320, 20, 20, 24, 28672, 28672, 640, 28672, 28672}},
    {"cached_attention_biased",
     {1, 5, 4, 2, 8, 0, 3, 2, 7, 4, 3},
     {0.5},
     {},
     {640, 320, 320, 20, 20, 24, 28672, 28672, 112, 640, 28672, 28672}},
    {"merge_attention", {2, 5, 3, 4}, {}, {}, {480, 120, 480, 120, 480, 120}},
    {"cross_entropy_forward", {2, 5, 7, 6}, {}, {}, {70, 20, 4, 20}},
    {"cross_entropy_backward", {1, 5, 7, 7}, {}, {}, {140, 20, 20, 4, 140}},
    {"cross_entropy_rows", {2, 5, 7, 9, 1}, {}, {3}, {70, 20, 20, 20}},
    {"cross_entropy_backward_shard",
     {1, 5, 7, 9},
     {},
     {3},
     {140, 20, 20, 4, 4, 140}},
    {"cross_entropy_joint", {2, 5, 7, 6}, {}, {}, {70, 20, 4, 4, 20, 20, 70}},
    {"log_sum_exp", {5, 3}, {}, {}, {60, 20}},
    {"count_labels", {5}, {}, {}, {20, 4}},
    {"mean_loss", {5}, {}, {}, {20, 20, 20, 4, 4}},
    {"gather_shards", {2, 3, 2, 4, 11}, {}, {}, {48, 44}},
    {"scatter_shards", {2, 3, 2, 4, 11}, {}, {}, {44, 48}},
    {"slice_shard", {4, 2, 4, 11}, {}, {8}, {88, 32}},
    {"insert_rows", {4, 3, 11, 8}, {}, {}, {12, 44, 44}},
    {"shift_rows", {4, 2, 11, -8}, {}, {}, {88, 88}},
    {"join_heads", {4, 2, 3, 1, 2, 5}, {}, {}, {16, 120, 168}},
    {"sum_heads", {2, 2, 3, 5, 4}, {}, {}, {60, 16}},
    {"transpose", {7, 5, 6}, {}, {}, {30, 30}},
    {"quantize_blocks", {2, 7, 2, 5, 6, 1, 4}, {}, {}, {120, 60, 80}},
    {"dequantize_blocks", {8, 1, 2, 5, 6, 4, 4}, {}, {}, {60, 32, 240}},
    {"global_norm", {1, 10, 2, 3}, {}, {}, {4, 4, 40, 6}},
    {"gemm_pack", {2, 33, 3, 0}, {}, {}, {198, 512}},
    {"router", {5, 6, 2, 1, 1, 3, 2}, {1}, {}, {40, 40, 120, 24}},
    {"router_by_sequence",
     {6, 6, 2, 1, 1, 3, 2, 3},
     {1},
     {},
     {48, 48, 144, 72}},
    {"sinkhorn", {6, 5, 3}, {}, {}, {60, 432, 120}},
    {"router_gradient", {5, 6, 2, 0, 1}, {1}, {}, {120, 40, 120, 40}},
    {"router_probabilities", {5, 6, 0, 1}, {}, {}, {24, 1536, 120}},
    {"router_probabilities", {6, 6, 0, 3}, {}, {}, {72, 4608, 144}},
    {"router_probabilities_gradient", {5, 6, 1, 1}, {}, {}, {120, 24, 120}},
    {"router_probabilities_gradient", {6, 6, 1, 2}, {}, {}, {144, 48, 144}},
    {"router_z_loss", {5, 6}, {}, {}, {4, 256, 120}},
    {"router_z_loss_gradient", {5, 6}, {}, {}, {120, 4, 120}},
    {"balance_bias", {6}, {0.1}, {}, {24, 24, 24, 4}},
    {"expert_counts", {5, 6, 1}, {}, {}, {24, 20}},
    {"expert_counts", {6, 5, 3}, {}, {}, {60, 24}},
    {"expert_order", {2, 3, 2, 6, 0, 2}, {}, {}, {48, 96, 48}},
    {"dispatch", {2, 2, 3, 2, 6, 4, 1, 48, 5}, {}, {}, {480, 60, 48, 48}},
    {"combine", {2, 2, 3, 2, 1, 0, 2, 12, 5}, {}, {}, {60, 120, 48, 48}},
    {"combine_weight_gradient",
     {1, 2, 3, 2, 6, 4, 1, 48, 5},
     {},
     {},
     {48, 120, 960, 48}},
    {"pack_segments", {6}, {}, {}, {48, 48}},
    {"grouped_linear", {2, 12, 5, 7, 3, 2, 3, 12}, {}, {}, {120, 168, 210, 48}},
    {"grouped_linear_input_gradient",
     {1, 12, 5, 7, 3, 1, 6, 9},
     {},
     {},
     {336, 240, 420, 48}},
    {"grouped_linear_weight_gradient",
     {2, 12, 5, 7, 3, 4, 3, 12},
     {},
     {},
     {420, 120, 168, 96}},
    {"causal_conv", {2, 2, 5, 7, 4}, {}, {}, {140, 140, 56, 14}},
    {"causal_conv_gradient",
     {1, 2, 5, 7, 4},
     {},
     {},
     {280, 112, 28, 280, 280, 112}},
    {"state_scan",
     {2, 2, 5, 4, 3, 2, 6},
     {0, 1},
     {},
     {240, 240, 80, 240, 240, 16, 16, 16}},
    {"state_scan_gradient",
     {1, 2, 5, 4, 3, 2, 6},
     {0, 1},
     {},
     {480, 160, 480, 480, 16, 16, 16, 2496, 480, 480, 160, 480, 480, 16, 16,
      16}},
    {"cached_conv", {2, 1, 7, 4, 3}, {}, {}, {14, 126, 14, 56, 4, 4, 14, 126}},
    {"cached_scan",
     {2, 1, 4, 3, 2, 6, 3},
     {0, 1},
     {},
     {24, 864, 24, 8, 24, 24, 16, 16, 16, 4, 4, 864}},
};

KernelError sizesOf(const Example &e, std::vector<int64_t> &bytes) {
  bytes.resize(e.bytes.size());
  return requiredBytes(*findLibraryOp(e.op), e.integers, e.floats,
                       e.scalars.size(), bytes);
}

TEST(Library, EveryOpHasAnExampleHere) {
  std::set<std::string_view> names;
  for (const Example &e : kExamples)
    names.insert(e.op);
  for (const LibraryOp &op : libraryOps())
    EXPECT_TRUE(names.count(op.name)) << op.name;
  EXPECT_EQ(names.size(), libraryOps().size());
  EXPECT_EQ(findLibraryOp("no_such_op"), nullptr);
}

TEST(Library, StatesTheBytesOfEachBuffer) {
  for (const Example &e : kExamples) {
    std::vector<int64_t> bytes;
    EXPECT_EQ(sizesOf(e, bytes), nullptr) << e.op;
    EXPECT_EQ(bytes, e.bytes) << e.op;
  }
}

TEST(Library, SoftcapsArePositiveAndFinite) {
  std::vector<int64_t> bytes;
  for (const Example &e : kExamples) {
    size_t at = e.op.starts_with("cached_attention") ? 1 : 2;
    if (e.op.find("attention") == e.op.npos || e.floats.size() != at + 1)
      continue;
    for (double bad : {0.0, -1.0, 1e-50, 1e50, std::nan("")}) {
      Example wrong = e;
      wrong.floats[at] = bad;
      EXPECT_STREQ(sizesOf(wrong, bytes),
                   "a softcap must be positive and finite")
          << e.op << " " << bad;
    }
  }
}

TEST(Library, RefusesWrongCountsAndHostileNumbers) {
  std::vector<int64_t> bytes;
  for (const Example &e : kExamples) {
    Example wrong = e;
    wrong.integers.push_back(1);
    EXPECT_NE(sizesOf(wrong, bytes), nullptr) << e.op;
    wrong = e;
    wrong.floats.push_back(0);
    EXPECT_NE(sizesOf(wrong, bytes), nullptr) << e.op;
    wrong = e;
    wrong.scalars.push_back(0);
    EXPECT_NE(sizesOf(wrong, bytes), nullptr) << e.op;
    wrong = e;
    wrong.bytes.push_back(0);
    EXPECT_NE(sizesOf(wrong, bytes), nullptr) << e.op;
    for (size_t i = 0; i < e.integers.size(); ++i)
      for (int64_t bad : {int64_t(-1), INT64_MAX, INT64_MIN}) {
        bool window = e.op.starts_with("attention") && i == 7;
        if (window && bad == INT64_MAX)
          continue; // a window may be as wide as it likes
        if (e.op == "shift_rows" && i == 3 && bad == -1)
          continue; // rows may move towards their ends
        wrong = e;
        wrong.integers[i] = bad;
        EXPECT_NE(sizesOf(wrong, bytes), nullptr) << e.op << " integer " << i;
      }
  }
}

/// Runs every example on buffers of exactly the stated size: AddressSanitizer
/// sees any access beyond them.
TEST(Library, RunsWithinTheStatedBytes) {
  TestWorkers workers(2);
  for (const Example &e : kExamples) {
    std::vector<std::unique_ptr<std::byte[]>> memory;
    std::vector<void *> buffers;
    for (int64_t size : e.bytes) {
      memory.emplace_back(new std::byte[size]());
      buffers.push_back(memory.back().get());
    }
    LibraryCall call{buffers, e.integers, e.floats, e.scalars};
    EXPECT_EQ(runLibraryOp(*findLibraryOp(e.op), call, workers), nullptr)
        << e.op;
  }
}

TEST(Library, AccumulateSetsThenAdds) {
  TestWorkers workers(3);
  constexpr int64_t count = 40000; // more than two chunks
  std::vector<float> from(count), to(count, 7);
  for (int64_t i = 0; i < count; ++i)
    from[i] = float(i % 129) - 64;
  std::vector<void *> buffers = {from.data(), to.data()};
  std::vector<int64_t> integers = {1, count};
  LibraryCall call{buffers, integers, {}, {}, 0};
  const LibraryOp *op = findLibraryOp("accumulate");
  ASSERT_EQ(runLibraryOp(*op, call, workers), nullptr);
  EXPECT_EQ(to, from);
  call.accumulate = 1;
  ASSERT_EQ(runLibraryOp(*op, call, workers), nullptr);
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(to[i], 2 * from[i]);
}

TEST(Library, TransposeTurnsRowsIntoColumns) {
  TestWorkers workers(3);
  for (auto [m, n] :
       {std::pair<int64_t, int64_t>{1, 7}, {130, 67}, {64, 192}}) {
    std::vector<uint8_t> from(size_t(m * n)), to(from.size());
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = uint8_t(i * 37 % 251);
    std::vector<void *> buffers = {from.data(), to.data()};
    std::vector<int64_t> integers = {8, m, n};
    ASSERT_EQ(runLibraryOp(*findLibraryOp("transpose"),
                           {buffers, integers, {}, {}}, workers),
              nullptr);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        ASSERT_EQ(to[size_t(j * m + i)], from[size_t(i * n + j)]);
  }
}

TEST(Library, PackedBytesAreThoseOfTheHeader) {
  EXPECT_EQ(packedBytes(DType::F32, 33, 3), 64 * 4 * 4);
  EXPECT_EQ(packedBytes(DType::BF16, 32, 4), 32 * 4 * 2);
}

} // namespace
} // namespace hocket::kernels::test
