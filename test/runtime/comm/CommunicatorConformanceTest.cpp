//===- CommunicatorConformanceTest.cpp - What every communicator does -----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The contract of Communicator.h. The expectations are computed from rank and
/// size, so they hold for any group. Counts are chosen to be small, to divide
/// by nothing, and to be large enough for every way an implementation has.
///
//===----------------------------------------------------------------------===//

#include "test/runtime/comm/CommunicatorConformance.h"
#include "kernels/reference/Element.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::comm;

namespace {

class CommunicatorConformance
    : public testing::TestWithParam<test::CommunicatorImplementation> {
protected:
  void onEveryRank(const std::function<void(Communicator &)> &body) {
    GetParam().runGroup(body);
  }
};

constexpr uint64_t count = 37;
constexpr uint64_t counts[] = {1, count, 100003};
constexpr DType types[] = {DType::F32, DType::BF16, DType::F16, DType::I32};

/// Element i that `rank` contributes: a small integer, which every type holds.
int value(unsigned rank, uint64_t i) {
  return int((rank * 31 + i * 7) % 64) - 20;
}

/// Elements of any type, seen as numbers.
class Elements {
public:
  Elements(DType dtype, uint64_t size) : dtype(dtype), size(size) {
    bytes.assign(size * uint64_t(kernels::bytesOf(dtype)), 0xEE);
  }
  static Elements of(DType dtype, unsigned rank, uint64_t size) {
    Elements result(dtype, size);
    for (uint64_t i = 0; i < size; ++i)
      result.set(i, value(rank, i));
    return result;
  }
  void set(uint64_t i, double number) {
    kernels::store({bytes.data(), dtype}, int64_t(i), number);
  }
  double operator[](uint64_t i) const {
    return kernels::load({bytes.data(), dtype}, int64_t(i));
  }
  void *data() { return bytes.data(); }
  bool operator==(const Elements &) const = default;

private:
  DType dtype;
  uint64_t size;
  std::vector<uint8_t> bytes;
};

/// Reports the first element that is not as expected, not all of them.
template <typename Expected>
void expectElements(const Elements &elements, uint64_t begin, uint64_t size,
                    Expected &&expected) {
  for (uint64_t i = 0; i < size; ++i)
    ASSERT_EQ(elements[begin + i], double(expected(i))) << "element " << i;
}

template <typename Body> void forAll(Body &&body) {
  for (DType dtype : types)
    for (uint64_t n : counts)
      body(dtype, n);
}
} // namespace

TEST_P(CommunicatorConformance, AllReduce) {
  onEveryRank([](Communicator &group) {
    forAll([&](DType dtype, uint64_t n) {
      for (Reduction reduction : {Reduction::Sum, Reduction::Max}) {
        Elements from = Elements::of(dtype, group.rank(), n), to(dtype, n);
        Status status =
            group.allReduce(from.data(), to.data(), n, dtype, reduction);
        ASSERT_TRUE(status.ok()) << status.message();
        expectElements(to, 0, n, [&](uint64_t i) {
          int expected = value(0, i);
          for (unsigned r = 1; r < group.size(); ++r)
            expected = reduction == Reduction::Sum
                           ? expected + value(r, i)
                           : std::max(expected, value(r, i));
          return expected;
        });
        status = group.allReduce(from.data(), from.data(), n, dtype, reduction);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(from == to) << "in place";
      }
    });
  });
}

// Numbers that do not add up exactly: the order and the width of the sum show.
TEST_P(CommunicatorConformance, SumsInRankOrderInF32) {
  onEveryRank([](Communicator &group) {
    auto part = [](unsigned rank, uint64_t i) {
      return float(
          std::ldexp(1.0 + double(rank * 13 + i) / 97, int(rank * 5 + i) % 11));
    };
    for (DType dtype : {DType::F32, DType::BF16, DType::F16}) {
      Elements from(dtype, count), to(dtype, count), expected(dtype, count);
      for (uint64_t i = 0; i < count; ++i) {
        from.set(i, part(group.rank(), i));
        float sum = 0;
        for (unsigned r = 0; r < group.size(); ++r) {
          Elements rounded(dtype, 1);
          rounded.set(0, part(r, i));
          sum = r == 0 ? float(rounded[0]) : sum + float(rounded[0]);
        }
        expected.set(i, sum);
      }
      ASSERT_TRUE(
          group.allReduce(from.data(), to.data(), count, dtype, Reduction::Sum)
              .ok());
      EXPECT_TRUE(to == expected);
    }
  });
}

TEST_P(CommunicatorConformance, AllGather) {
  onEveryRank([](Communicator &group) {
    forAll([&](DType dtype, uint64_t n) {
      Elements from = Elements::of(dtype, group.rank(), n);
      Elements to(dtype, n * group.size());
      Status status = group.allGather(from.data(), to.data(), n, dtype);
      ASSERT_TRUE(status.ok()) << status.message();
      for (unsigned r = 0; r < group.size(); ++r)
        expectElements(to, r * n, n, [&](uint64_t i) { return value(r, i); });
    });
  });
}

TEST_P(CommunicatorConformance, ReduceScatter) {
  onEveryRank([](Communicator &group) {
    forAll([&](DType dtype, uint64_t n) {
      Elements from = Elements::of(dtype, group.rank(), n * group.size());
      Elements to(dtype, n);
      Status status =
          group.reduceScatter(from.data(), to.data(), n, dtype, Reduction::Sum);
      ASSERT_TRUE(status.ok()) << status.message();
      expectElements(to, 0, n, [&](uint64_t i) {
        int expected = 0;
        for (unsigned r = 0; r < group.size(); ++r)
          expected += value(r, group.rank() * n + i);
        return expected;
      });
    });
  });
}

TEST_P(CommunicatorConformance, AllToAll) {
  onEveryRank([](Communicator &group) {
    forAll([&](DType dtype, uint64_t n) {
      Elements from = Elements::of(dtype, group.rank(), n * group.size());
      Elements to(dtype, n * group.size());
      Status status = group.allToAll(from.data(), to.data(), n, dtype);
      ASSERT_TRUE(status.ok()) << status.message();
      for (unsigned r = 0; r < group.size(); ++r)
        expectElements(to, r * n, n, [&](uint64_t i) {
          return value(r, group.rank() * n + i);
        });
    });
  });
}

// Rank r sends (r + p) mod 3 * 5 elements to every peer p, some none, with gaps
// between the parts.
TEST_P(CommunicatorConformance, AllToAllV) {
  onEveryRank([](Communicator &group) {
    unsigned size = group.size(), me = group.rank();
    std::vector<uint64_t> sent(size), sentAt(size), got(size), gotAt(size);
    for (unsigned p = 0; p < size; ++p) {
      sent[p] = (me + p) % 3 * 5, sentAt[p] = p * 12;
      got[p] = (p + me) % 3 * 5, gotAt[p] = p * 11;
    }
    for (DType dtype : types) {
      Elements from = Elements::of(dtype, me, size * 12);
      Elements to = Elements::of(dtype, 99, size * 11);
      Status status = group.allToAllV(from.data(), {sent, sentAt}, to.data(),
                                      {got, gotAt}, dtype);
      ASSERT_TRUE(status.ok()) << status.message();
      for (unsigned p = 0; p < size; ++p) {
        expectElements(to, gotAt[p], got[p],
                       [&](uint64_t i) { return value(p, me * 12 + i); });
        EXPECT_EQ(to[gotAt[p] + got[p]], value(99, gotAt[p] + got[p]))
            << "wrote behind its part";
      }
    }
  });
}

TEST_P(CommunicatorConformance, Broadcast) {
  onEveryRank([](Communicator &group) {
    for (unsigned root = 0; root < group.size(); ++root)
      forAll([&](DType dtype, uint64_t n) {
        Elements data = Elements::of(dtype, group.rank(), n);
        ASSERT_TRUE(group.broadcast(data.data(), n, dtype, root).ok());
        expectElements(data, 0, n, [&](uint64_t i) { return value(root, i); });
      });
  });
}

// A ring: to the next rank, from the previous one, two messages with one tag,
// then of very different sizes.
TEST_P(CommunicatorConformance, Exchange) {
  onEveryRank([](Communicator &group) {
    unsigned size = group.size(), me = group.rank();
    unsigned next = (me + 1) % size, previous = (me + size - 1) % size;
    for (DType dtype : types)
      for (uint64_t large : {count, uint64_t(200001)}) {
        Elements first = Elements::of(dtype, me, count);
        Elements second = Elements::of(dtype, me + 7, large);
        Elements gotFirst(dtype, count), gotSecond(dtype, large);
        Transfer transfers[] = {
            {false, previous, gotFirst.data(), count, dtype, 5},
            {true, next, first.data(), count, dtype, 5},
            {true, next, second.data(), large, dtype, 5},
            {false, previous, gotSecond.data(), large, dtype, 5}};
        Status status = group.exchange(transfers);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(gotFirst == Elements::of(dtype, previous, count));
        EXPECT_TRUE(gotSecond == Elements::of(dtype, previous + 7, large));
      }
    ASSERT_TRUE(group.barrier().ok());
  });
}

// Everybody with everybody, tags in another order at the two ends.
TEST_P(CommunicatorConformance, ExchangeMatchesByTag) {
  onEveryRank([](Communicator &group) {
    unsigned size = group.size(), me = group.rank();
    std::vector<std::vector<int32_t>> sent, got(2 * size);
    std::vector<Transfer> transfers;
    for (unsigned tag : {0u, 1u})
      for (unsigned peer = 0; peer < size; ++peer)
        sent.push_back(std::vector<int32_t>(
            tag + 3, int32_t(1000 * tag + 10 * me + peer)));
    for (unsigned i = 0; i < 2 * size; ++i) {
      unsigned tag = i / size, peer = i % size;
      transfers.push_back(
          {true, peer, sent[i].data(), tag + 3, DType::I32, tag});
    }
    for (unsigned i = 0; i < 2 * size; ++i) {
      unsigned tag = 1 - i / size, peer = i % size;
      got[i].resize(tag + 3);
      transfers.push_back(
          {false, peer, got[i].data(), tag + 3, DType::I32, tag});
    }
    ASSERT_TRUE(group.exchange(transfers).ok());
    for (unsigned i = 0; i < 2 * size; ++i) {
      unsigned tag = 1 - i / size, peer = i % size;
      EXPECT_EQ(got[i], std::vector<int32_t>(
                            tag + 3, int32_t(1000 * tag + 10 * peer + me)));
    }
  });
}

// Calls follow each other without a pause; nobody may see the next one's data.
TEST_P(CommunicatorConformance, ManyCallsInARow) {
  onEveryRank([](Communicator &group) {
    int32_t size = int32_t(group.size()), me = int32_t(group.rank());
    for (int32_t round = 0; round < 500; ++round) {
      int32_t mine = round * size + me, sum = 0;
      Status summed =
          group.allReduce(&mine, &sum, 1, DType::I32, Reduction::Sum);
      ASSERT_TRUE(summed.ok()) << summed.message();
      ASSERT_EQ(sum, round * size * size + size * (size - 1) / 2);
      int32_t got = -1;
      Transfer ring[] = {
          {true, unsigned((me + 1) % size), &mine, 1, DType::I32, 0},
          {false, unsigned((me + size - 1) % size), &got, 1, DType::I32, 0}};
      ASSERT_TRUE(group.exchange(ring).ok());
      ASSERT_EQ(got, round * size + (me + size - 1) % size);
    }
  });
}

TEST_P(CommunicatorConformance, CarriesEightBitsAndReducesNone) {
  onEveryRank([](Communicator &group) {
    constexpr uint64_t count = 3;
    std::vector<uint8_t> mine(count, uint8_t(0x70 + group.rank())),
        all(count * group.size()), back(count * group.size());
    ASSERT_TRUE(
        group.allGather(mine.data(), all.data(), count, DType::F8E4M3).ok());
    ASSERT_TRUE(
        group.allToAll(all.data(), back.data(), count, DType::F8E5M2).ok());
    for (unsigned rank = 0; rank < group.size(); ++rank)
      for (uint64_t i = 0; i < count; ++i) {
        EXPECT_EQ(all[rank * count + i], 0x70 + rank);
        EXPECT_EQ(back[rank * count + i], 0x70 + group.rank());
      }
    EXPECT_EQ(group
                  .allReduce(mine.data(), mine.data(), count, DType::F8E4M3,
                             Reduction::Max)
                  .message(),
              "all_reduce: elements must be f32, bf16, f16 or i32");
  });
}

TEST_P(CommunicatorConformance, RefusesBadArguments) {
  onEveryRank([](Communicator &group) {
    float data[4] = {};
    EXPECT_EQ(
        group.allReduce(data, data, 4, DType::F64, Reduction::Sum).message(),
        "all_reduce: elements must be f32, bf16, f16 or i32");
    EXPECT_EQ(group.allGather(nullptr, data, 4, DType::F32).message(),
              "all_gather: a null pointer");
    EXPECT_EQ(group.broadcast(data, 4, DType::F32, group.size()).code(),
              StatusCode::InvalidArgument);
    EXPECT_EQ(
        group.allToAll(data, data, ~uint64_t(0) / 2, DType::F32).message(),
        "all_to_all: too many elements");
    Transfer nobody[] = {{true, group.size(), data, 4, DType::F32, 0}};
    EXPECT_EQ(group.exchange(nobody).code(), StatusCode::InvalidArgument);
    std::vector<uint64_t> none;
    EXPECT_EQ(
        group.allToAllV(data, {none, none}, data, {none, none}, DType::F32)
            .code(),
        StatusCode::InvalidArgument);
  });
}

TEST_P(CommunicatorConformance, NothingIsFine) {
  onEveryRank([](Communicator &group) {
    EXPECT_TRUE(
        group.allReduce(nullptr, nullptr, 0, DType::BF16, Reduction::Sum).ok());
    EXPECT_TRUE(group.exchange({}).ok());
  });
}

INSTANTIATE_TEST_SUITE_P(Implementations, CommunicatorConformance,
                         testing::ValuesIn(test::communicatorImplementations()),
                         [](const auto &info) { return info.param.name; });
